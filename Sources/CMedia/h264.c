// Pictures of H.264 through openh264: one decoder without plug-ins, which starts no thread and makes no code while it runs.
#include "CMedia.h"
#include "thumbnail.h"
#include <stdlib.h>
#include <string.h>
#include <wels/codec_api.h>

// A picture as it is stored: the brightness of each pixel, and two colours of each square of four.
struct planes {
    const uint8_t *luma, *blue, *red;
    int width, height, luma_stride, colour_stride;
};

// Numbers of 65,536 for one step of what is stored.
struct conversion {
    int black, luma, red, green_by_red, green_by_blue, blue;
};

static struct conversion conversion(const struct cmedia_colours *colours, int height) {
    // What does not say is BT.709 if it is high, else BT.601.
    int matrix = colours->matrix != 0 ? colours->matrix : height >= 720 ? 1 : 6;
    double red = 0.2126, blue = 0.0722;
    if (matrix == 4 || matrix == 5 || matrix == 6) red = 0.299, blue = 0.114;
    else if (matrix == 9 || matrix == 10) red = 0.2627, blue = 0.0593;
    double green = 1 - red - blue;
    double step = colours->is_full_range ? 65536 : 65536 * 255.0 / 219, colour_step = colours->is_full_range ? 65536 : 65536 * 255.0 / 224;
    return (struct conversion){
        .black = colours->is_full_range ? 0 : 16,
        .luma = (int)(step + 0.5),
        .red = (int)(2 * (1 - red) * colour_step + 0.5),
        .green_by_red = (int)(2 * (1 - red) * red / green * colour_step + 0.5),
        .green_by_blue = (int)(2 * (1 - blue) * blue / green * colour_step + 0.5),
        .blue = (int)(2 * (1 - blue) * colour_step + 0.5),
    };
}

static uint8_t clamped(int value) { return value < 0 ? 0 : value >= 255 << 16 ? 255 : (uint8_t)((value + 32768) >> 16); }

static void convert(const struct planes *planes, const struct conversion *by, uint8_t *pixels) {
    for (int y = 0; y < planes->height; y++) {
        const uint8_t *luma = planes->luma + (size_t)y * planes->luma_stride;
        const uint8_t *blue = planes->blue + (size_t)(y / 2) * planes->colour_stride;
        const uint8_t *red = planes->red + (size_t)(y / 2) * planes->colour_stride;
        for (int x = 0; x < planes->width; x++) {
            int bright = (luma[x] - by->black) * by->luma, cb = blue[x / 2] - 128, cr = red[x / 2] - 128;
            *pixels++ = clamped(bright + by->red * cr);
            *pixels++ = clamped(bright - by->green_by_red * cr - by->green_by_blue * cb);
            *pixels++ = clamped(bright + by->blue * cb);
        }
    }
}

// The picture is the decoder's, and is gone with it.
static const char *decode(ISVCDecoder *decoder, const void *bytes, size_t count, struct planes *planes) {
    int quiet = WELS_LOG_QUIET;
    (*decoder)->SetOption(decoder, DECODER_OPTION_TRACE_LEVEL, &quiet);
    // What is missing is not made up: half a picture is none.
    SDecodingParam how = {.uiTargetDqLayer = 255, .eEcActiveIdc = ERROR_CON_DISABLE};
    how.sVideoProperty.size = sizeof how.sVideoProperty;
    how.sVideoProperty.eVideoBsType = VIDEO_BITSTREAM_AVC;
    if ((*decoder)->Initialize(decoder, &how) != 0) return "openh264 cannot be started";
    unsigned char *parts[3] = {NULL, NULL, NULL};
    SBufferInfo found;
    memset(&found, 0, sizeof found);
    if ((*decoder)->DecodeFrameNoDelay(decoder, bytes, (int)count, parts, &found) != dsErrorFree) return "no picture that can be decoded";
    if (found.iBufferStatus != 1) {
        // It keeps a picture that others could come before.
        int is_end = 1;
        (*decoder)->SetOption(decoder, DECODER_OPTION_END_OF_STREAM, &is_end);
        if ((*decoder)->FlushFrame(decoder, parts, &found) != dsErrorFree) return "no picture that can be decoded";
    }
    const SSysMEMBuffer *buffer = &found.UsrData.sSystemBuffer;
    if (found.iBufferStatus != 1 || parts[0] == NULL || parts[1] == NULL || parts[2] == NULL) return "no picture";
    if (buffer->iWidth <= 0 || buffer->iHeight <= 0 || (int64_t)buffer->iWidth * buffer->iHeight > frame_pixel_limit) return "too many pixels";
    if (buffer->iStride[0] < buffer->iWidth || buffer->iStride[1] < (buffer->iWidth + 1) / 2) return "no picture that can be decoded";
    *planes = (struct planes){parts[0], parts[1], parts[2], buffer->iWidth, buffer->iHeight, buffer->iStride[0], buffer->iStride[1]};
    return NULL;
}

const char *cmedia_h264_thumbnail(
    const void *bytes, size_t count, const struct cmedia_colours *colours, struct cmedia_pixel pixel, const struct cmedia_form *form,
    int orientation, uint8_t **jpeg, size_t *jpeg_count) {
    *jpeg = NULL;
    *jpeg_count = 0;
    if (count > INT32_MAX) return "too many bytes";
    ISVCDecoder *decoder = NULL;
    if (WelsCreateDecoder(&decoder) != 0 || decoder == NULL) return "openh264 cannot be started";
    struct planes planes;
    uint8_t *pixels = NULL;
    const char *problem = decode(decoder, bytes, count, &planes);
    if (problem == NULL) {
        pixels = malloc((size_t)planes.width * (size_t)planes.height * 3);
        if (pixels == NULL) problem = "no memory for the picture";
    }
    if (problem == NULL) {
        struct conversion by = conversion(colours, planes.height);
        convert(&planes, &by, pixels);
    }
    (*decoder)->Uninitialize(decoder);
    WelsDestroyDecoder(decoder);
    if (problem == NULL) problem = cmedia_shrink_pixels(pixels, planes.width, planes.height, pixel, form, orientation, jpeg, jpeg_count);
    free(pixels);
    return problem;
}

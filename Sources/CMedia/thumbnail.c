// Thumbnails through libvips, and previews that RAW files have.
#include "CMedia.h"
#include "metadata.h"
#include "thumbnail.h"
#include <iconv.h>
#include <vips/vips.h>
// After it, since it needs its macros.
#include <vips/vector.h>

const char *cmedia_load_libraries(void) {
    // Images that take more than this would go to a temporary file, which there cannot be; the limit of memory counts instead.
    g_setenv("VIPS_DISC_THRESHOLD", "64g", TRUE);
    if (vips_init("backupfs-media") != 0) return "libvips cannot be started";
    // A processor's worth of threads for each photo: the program reads several at a time if it wants to.
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    // Its vector code is made while it runs, in memory that can be executed.
    vips_vector_set_enabled(FALSE);
    vips_block_untrusted_set(TRUE);
    vips_operation_block_set("VipsForeignLoad", TRUE);
    static const char *const loaders[] = {
        "VipsForeignLoadJpeg", "VipsForeignLoadPng", "VipsForeignLoadWebp", "VipsForeignLoadTiff", "VipsForeignLoadHeif"};
    for (size_t index = 0; index < sizeof loaders / sizeof *loaders; index++) vips_operation_block_set(loaders[index], FALSE);
    // What libheif loads with its first picture. This one has no content.
    static const unsigned char none[24] = "\0\0\0\x18" "ftypheic\0\0\0\0mif1heic";
    VipsImage *image = NULL;
    if (vips_heifload_buffer((void *)none, sizeof none, &image, NULL) == 0) g_object_unref(image);
    vips_error_clear();
    if (!gexiv2_initialize()) return "exiv2 cannot be started";
    gexiv2_log_set_level(GEXIV2_LOG_LEVEL_MUTE);
    // The conversions of comments are modules of glibc. They stay loaded while one of each is open.
    if (iconv_open("UTF-8", "ISO-8859-1") == (iconv_t)-1) return "the character sets of glibc are missing";
    return NULL;
}

// How the small picture is written.
typedef const char *(*saver)(VipsImage *image, const struct cmedia_form *form, uint8_t **bytes, size_t *count);

// The quality falls until the file is small enough.
static const char *save_jpeg(VipsImage *image, const struct cmedia_form *form, uint8_t **jpeg, size_t *jpeg_count) {
    for (int quality = form->quality; quality > 0; quality -= 10) {
        void *bytes = NULL;
        size_t count = 0;
        if (vips_jpegsave_buffer(image, &bytes, &count, "Q", quality, "strip", TRUE, "optimize_coding", TRUE, NULL) != 0)
            return "the thumbnail cannot be written";
        if (count < form->limit_bytes) {
            *jpeg = bytes;
            *jpeg_count = count;
            return NULL;
        }
        g_free(bytes);
    }
    return "the thumbnail is too large at every quality";
}

static const char *save_png(VipsImage *image, const struct cmedia_form *form, uint8_t **png, size_t *png_count) {
    void *bytes = NULL;
    size_t count = 0;
    if (vips_pngsave_buffer(
            image, &bytes, &count, "compression", 6, "filter", VIPS_FOREIGN_PNG_FILTER_PAETH, "strip", TRUE, NULL) != 0)
        return "the picture cannot be written";
    if (count >= form->limit_bytes) {
        g_free(bytes);
        return "the picture is too large";
    }
    *png = bytes;
    *png_count = count;
    return NULL;
}

// More pixels are no photo: the largest panoramas have some hundred million, and decoding so many takes longer than the program waits.
enum { pixel_limit = 1 << 30 };

// Looks at the header of an image alone.
static const char *look_at(const void *bytes, size_t count, gboolean *has_colours) {
    VipsImage *image = vips_image_new_from_buffer(bytes, count, "", NULL);
    if (image == NULL) return "no image that can be decoded";
    const char *problem = NULL;
    if ((gint64)vips_image_get_width(image) * vips_image_get_height(image) > pixel_limit) problem = "too many pixels";
    // Of 16 bits as well: without a profile they are sRGB, while libvips would take Display P3.
    VipsInterpretation interpretation = vips_image_get_interpretation(image);
    *has_colours = vips_image_get_typeof(image, VIPS_META_ICC_NAME) != 0
        || (interpretation != VIPS_INTERPRETATION_sRGB && interpretation != VIPS_INTERPRETATION_B_W
            && interpretation != VIPS_INTERPRETATION_RGB16 && interpretation != VIPS_INTERPRETATION_GREY16);
    g_object_unref(image);
    return problem;
}

// Turns a small image, and writes it. `orientation`: for an image that has none of its own.
static const char *finish(
    VipsImage *image, const struct cmedia_form *form, int orientation, saver save, uint8_t **made, size_t *made_count) {
    VipsImage *upright = NULL, *flat = NULL;
    const char *problem = NULL;
    // Decoded here as a whole: it has few pixels now, is turned, and may be written more than once.
    VipsImage *whole = vips_image_copy_memory(image);
    if (whole == NULL) problem = "no image that can be decoded";
    if (problem == NULL) {
        if (vips_image_get_orientation(whole) <= 1 && orientation > 1) vips_image_set_int(whole, VIPS_META_ORIENTATION, orientation);
        if (vips_autorot(whole, &upright, NULL) != 0) problem = "no image that can be turned";
    }
    VipsImage *last = upright;
    if (problem == NULL && vips_image_hasalpha(last)) {
        // Transparent parts become white.
        VipsArrayDouble *white = vips_array_double_newv(1, 255.0);
        if (vips_flatten(last, &flat, "background", white, NULL) == 0) last = flat;
        else problem = "no image that can be flattened";
        vips_area_unref(VIPS_AREA(white));
    }
    if (problem == NULL) problem = save(last, form, made, made_count);
    if (flat != NULL) g_object_unref(flat);
    if (upright != NULL) g_object_unref(upright);
    if (whole != NULL) g_object_unref(whole);
    vips_error_clear();
    return problem;
}

// `orientation`: as for finish.
static const char *shrink(
    const void *bytes, size_t count, const struct cmedia_form *form, int orientation, saver save, uint8_t **made, size_t *made_count) {
    VipsImage *image = NULL;
    gboolean has_colours = TRUE;
    const char *problem = look_at(bytes, count, &has_colours);
    // The profile is applied: afterwards there is none. It takes a third of the time, also where there is none. Unless it is stretched, an image is only made smaller.
    if (problem == NULL
        && vips_thumbnail_buffer(
               (void *)bytes, count, &image, form->side, "height", form->side, "size",
               form->stretches ? VIPS_SIZE_FORCE : VIPS_SIZE_DOWN, "no_rotate", TRUE, has_colours ? "export_profile" : NULL, "srgb", NULL) != 0)
        problem = "no image that can be decoded";
    if (problem != NULL) {
        vips_error_clear();
        return problem;
    }
    problem = finish(image, form, orientation, save, made, made_count);
    g_object_unref(image);
    return problem;
}

const char *cmedia_frame_thumbnail(
    const void *bytes, size_t count, const struct cmedia_form *form, int orientation, uint8_t **jpeg, size_t *jpeg_count) {
    *jpeg = NULL;
    *jpeg_count = 0;
    int width = 0, height = 0;
    if (cmedia_displayed_size(bytes, count, &width, &height) != 0) return "no image that can be decoded";
    if ((int64_t)width * height > frame_pixel_limit) return "too many pixels";
    return shrink(bytes, count, form, orientation, save_jpeg, jpeg, jpeg_count);
}

const char *cmedia_shrink_pixels(
    const uint8_t *pixels, int width, int height, struct cmedia_pixel pixel, const struct cmedia_form *form, int orientation,
    uint8_t **jpeg, size_t *jpeg_count) {
    VipsImage *image = vips_image_new_from_memory(pixels, (size_t)width * (size_t)height * 3, width, height, 3, VIPS_FORMAT_UCHAR);
    if (image == NULL) return "no memory for the picture";
    image->Type = VIPS_INTERPRETATION_sRGB;
    // As it is shown; it is only made smaller.
    double shown_width = (double)width * pixel.width / pixel.height, longer = shown_width > height ? shown_width : height;
    double scale = longer > form->side ? form->side / longer : 1;
    int small_width = form->stretches ? form->side : (int)(shown_width * scale + 0.5);
    int small_height = form->stretches ? form->side : (int)(height * scale + 0.5);
    VipsImage *small = NULL;
    const char *problem = NULL;
    if (vips_thumbnail_image(
            image, &small, small_width > 1 ? small_width : 1, "height", small_height > 1 ? small_height : 1, "size", VIPS_SIZE_FORCE,
            "no_rotate", TRUE, NULL) != 0)
        problem = "the picture cannot be made smaller";
    if (problem == NULL) problem = finish(small, form, orientation, save_jpeg, jpeg, jpeg_count);
    if (small != NULL) g_object_unref(small);
    g_object_unref(image);
    vips_error_clear();
    return problem;
}

static const char *shrink_preview(
    const void *bytes, size_t count, const struct cmedia_form *form, int orientation, uint8_t **jpeg, size_t *jpeg_count) {
    const char *problem = "no embedded preview";
    gboolean is_whole = FALSE;
    GExiv2Metadata *metadata = cmedia_open_metadata(bytes, count, &is_whole);
    if (metadata != NULL && is_whole) {
        GExiv2PreviewProperties **previews = gexiv2_metadata_get_preview_properties(metadata);
        // In the order of their sizes: the smallest one that is large enough, else the largest one.
        GExiv2PreviewProperties *chosen = NULL;
        for (GExiv2PreviewProperties **next = previews; next != NULL && *next != NULL; next++) {
            chosen = *next;
            if ((int)gexiv2_preview_properties_get_width(*next) >= form->side
                || (int)gexiv2_preview_properties_get_height(*next) >= form->side)
                break;
        }
        GExiv2PreviewImage *preview = chosen != NULL ? gexiv2_metadata_try_get_preview_image(metadata, chosen, NULL) : NULL;
        if (preview != NULL) {
            guint32 preview_count = 0;
            const guint8 *preview_bytes = gexiv2_preview_image_get_data(preview, &preview_count);
            problem = shrink(preview_bytes, preview_count, form, orientation, save_jpeg, jpeg, jpeg_count);
            g_object_unref(preview);
        }
    }
    if (metadata != NULL && is_whole) g_object_unref(metadata);
    return problem;
}

const char *cmedia_thumbnail(
    const void *bytes, size_t count, const struct cmedia_form *form, int prefers_preview, int orientation, uint8_t **jpeg,
    size_t *jpeg_count) {
    *jpeg = NULL;
    *jpeg_count = 0;
    if (prefers_preview && shrink_preview(bytes, count, form, orientation, jpeg, jpeg_count) == NULL) return NULL;
    const char *problem = shrink(bytes, count, form, 0, save_jpeg, jpeg, jpeg_count);
    if (problem == NULL || prefers_preview) return problem;
    return shrink_preview(bytes, count, form, orientation, jpeg, jpeg_count) == NULL ? NULL : problem;
}

const char *cmedia_picture(
    const void *bytes, size_t count, int side, size_t limit_bytes, uint8_t **png, size_t *png_count) {
    *png = NULL;
    *png_count = 0;
    struct cmedia_form form = {side, limit_bytes, 0, 0};
    return shrink(bytes, count, &form, 0, save_png, png, png_count);
}

void cmedia_free(void *memory) { g_free(memory); }

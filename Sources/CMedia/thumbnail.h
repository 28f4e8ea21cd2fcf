// What files of this target share about small pictures.
#ifndef BACKUPFS_MEDIA_THUMBNAIL_H
#define BACKUPFS_MEDIA_THUMBNAIL_H
#include "CMedia.h"

// Of a picture of a clip.
enum { frame_pixel_limit = 100000000 };

// Makes a JPEG of pixels of three bytes: red, green and blue.
const char *cmedia_shrink_pixels(
    const uint8_t *pixels, int width, int height, struct cmedia_pixel pixel, const struct cmedia_form *form, int orientation,
    uint8_t **jpeg, size_t *jpeg_count);
#endif

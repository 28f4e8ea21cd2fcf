// Tags through gexiv2, which is exiv2 for C.
#include "CMedia.h"
#include "metadata.h"
#include <string.h>
#include <vips/vips.h>

// Larger values are handed over as bytes, of which the caller keeps only what it knows.
enum { value_limit_bytes = 8192, text_limit_bytes = 1 << 20 };
// Of each kind of tags. Finding a tag takes longer the more there are, and no photo has as many.
enum { tag_limit = 4000 };

static void read_one(GExiv2Metadata *metadata, const char *key, cmedia_tag_reader reader, void *context) {
    struct cmedia_tag tag = {.key = key};
    GBytes *raw = gexiv2_metadata_try_get_tag_raw(metadata, key, NULL);
    gsize raw_count = 0;
    const void *raw_bytes = raw != NULL ? g_bytes_get_data(raw, &raw_count) : NULL;
    const char *type = gexiv2_metadata_try_get_tag_type(key, NULL);
    // Of the tags' declared types; a maker note, an ICC profile or XMP as text would be several times as long.
    gboolean is_binary = strncmp(key, "Exif.", 5) == 0 && raw_count > 64 && type != NULL
        && (strcmp(type, "Undefined") == 0 || strcmp(type, "Byte") == 0) && strcmp(key, "Exif.Photo.UserComment") != 0;
    gchar *value = NULL;
    // Windows' titles and comments are text in UTF-16 that is declared as bytes.
    gboolean is_wide = strncmp(key, "Exif.Image.XP", 13) == 0;
    // A long description is still a description.
    gboolean is_text = strncmp(key, "Exif.", 5) != 0 || (type != NULL && strcmp(type, "Ascii") == 0);
    if (is_binary || is_wide || raw_count > (is_text ? text_limit_bytes : value_limit_bytes)) {
        tag.raw = raw_bytes;
        tag.raw_count = raw_count;
        reader(context, &tag);
    } else if (strncmp(key, "Exif.", 5) == 0) {
        value = gexiv2_metadata_try_get_tag_string(metadata, key, NULL);
        tag.value = value;
        if (value != NULL) reader(context, &tag);
    } else {
        value = gexiv2_metadata_try_get_tag_string(metadata, key, NULL);
        if (value != NULL && strncmp(value, "lang=\"", 6) == 0) {
            // Alternatives in languages as a whole: gexiv2 takes commas in them for their ends.
            tag.value = value;
            reader(context, &tag);
        } else {
            // Lists have one call for each element.
            gchar **values = gexiv2_metadata_try_get_tag_multiple(metadata, key, NULL);
            for (gchar **next = values; next != NULL && *next != NULL; next++) {
                tag.value = *next;
                reader(context, &tag);
            }
            g_strfreev(values);
        }
    }
    g_free(value);
    if (raw != NULL) g_bytes_unref(raw);
}

static void read_all(GExiv2Metadata *metadata, gchar **keys, cmedia_tag_reader reader, void *context) {
    gchar **end = keys;
    for (size_t count = 0; end != NULL && *end != NULL && count < tag_limit; end++) count++;
    for (gchar **key = keys; key != end; key++) {
        // gexiv2 names each element of a list, and has all of them for each name.
        if (key != keys && strcmp(key[0], key[-1]) == 0) continue;
        read_one(metadata, *key, reader, context);
    }
    g_strfreev(keys);
}

GExiv2Metadata *cmedia_open_metadata(const void *bytes, size_t count, gboolean *is_whole) {
    GExiv2Metadata *metadata = gexiv2_metadata_new();
    if (metadata == NULL) return NULL;
    // Without this variable, gexiv2 0.14 says that it has succeeded when looking for previews has failed.
    GError *error = NULL;
    *is_whole = gexiv2_metadata_open_buf(metadata, bytes, (glong)count, &error) && error == NULL;
    if (error != NULL) g_error_free(error);
    // With a type, all was read but the previews.
    if (*is_whole || gexiv2_metadata_get_mime_type(metadata) != NULL) return metadata;
    g_object_unref(metadata);
    return NULL;
}

const char *cmedia_read_metadata(
    const void *bytes, size_t count, struct cmedia_facts *facts, cmedia_tag_reader reader, void *context) {
    memset(facts, 0, sizeof *facts);
    gboolean is_whole = FALSE;
    GExiv2Metadata *metadata = cmedia_open_metadata(bytes, count, &is_whole);
    if (metadata == NULL) return "no image that can be read";
    const char *type = is_whole ? gexiv2_metadata_get_mime_type(metadata) : NULL;
    if (type != NULL) g_strlcpy(facts->content_type, type, sizeof facts->content_type);
    facts->width = gexiv2_metadata_get_pixel_width(metadata);
    facts->height = gexiv2_metadata_get_pixel_height(metadata);
    read_all(metadata, gexiv2_metadata_get_exif_tags(metadata), reader, context);
    read_all(metadata, gexiv2_metadata_get_iptc_tags(metadata), reader, context);
    read_all(metadata, gexiv2_metadata_get_xmp_tags(metadata), reader, context);
    if (is_whole) g_object_unref(metadata);
    return NULL;
}

int cmedia_displayed_size(const void *bytes, size_t count, int *width, int *height) {
    VipsImage *image = vips_image_new_from_buffer(bytes, count, "", NULL);
    if (image == NULL) {
        vips_error_clear();
        return -1;
    }
    *width = vips_image_get_width(image);
    *height = vips_image_get_height(image);
    g_object_unref(image);
    return 0;
}

// What backupfs-media does with gexiv2, libvips, openh264, libseccomp, cairo, pango and fontconfig. Their interfaces are GObject's and partly variadic, which Swift cannot call;
// this is all that the helper needs of them. The photo's bytes are in memory that may disappear (a file that is truncated meanwhile): the
// process then dies of SIGBUS, and the program starts another.
#ifndef BACKUPFS_CMEDIA_H
#define BACKUPFS_CMEDIA_H
#include <stddef.h>
#include <stdint.h>

// Each text of an error is one of a fixed set or in memory of the caller; null means success.

// MARK: The process

// Ends this process with its parent, forbids new rights, drops all capabilities, and is “nobody” from now on instead of root. Before any thread
// is started: most of it is of the thread.
const char *cmedia_give_up_rights(void);
// Loads and sets up the libraries: formats other than JPEG, PNG, TIFF, WebP and HEIF/AVIF are blocked.
const char *cmedia_load_libraries(void);
// No file, socket, process or right can be had from now on. On an error the caller must not read a photo.
const char *cmedia_enter_sandbox(void);

// The same for drawing pages, instead of the two above: texts come in through descriptor 0, and the pages go out through descriptor 1.
// Finds the fonts, and allows no other path where the kernel has Landlock. Before any thread is started.
const char *cmedia_load_fonts(void);
// Nothing can be had from now on but fonts for reading; without Landlock, only those that were opened already.
const char *cmedia_enter_page_sandbox(void);

// MARK: The socket, descriptor 0

// As recvmsg(2) of up to `count` bytes; a descriptor that comes with them is put into `descriptor` (the caller closes it), else -1.
long cmedia_receive(void *bytes, size_t count, int *descriptor);

// MARK: Files

// The number of bytes; -1 for what is no regular file.
long long cmedia_file_size(int descriptor);
// Maps the file for reading; null on failure.
const void *cmedia_map(int descriptor, size_t count);
void cmedia_unmap(const void *bytes, size_t count);

// MARK: Metadata

struct cmedia_tag {
    const char *key;    // Exif.Photo.DateTimeOriginal, Iptc.…, Xmp.…
    const char *value;  // As exiv2 writes it: rationals as 1/125, numbers apart by blanks. Null for a large or binary value.
    const uint8_t *raw; // The stored bytes of a binary value, and of a large one; else null.
    size_t raw_count;
};
typedef void (*cmedia_tag_reader)(void *context, const struct cmedia_tag *tag);
struct cmedia_facts {
    char content_type[64];
    int width, height; // As stored; 0 when unknown.
};
// Reads all tags of an image in memory. Each tag is valid only during the call of `reader`.
const char *cmedia_read_metadata(
    const void *bytes, size_t count, struct cmedia_facts *facts, cmedia_tag_reader reader, void *context);
// The size of an image after the rotation and clipping that its container describes, as libvips sees it: 0, or -1 when it cannot say.
int cmedia_displayed_size(const void *bytes, size_t count, int *width, int *height);

// MARK: Thumbnails

struct cmedia_form {
    int side;           // Pixels of the longer side at most; of both sides if it stretches.
    size_t limit_bytes; // The JPEG is smaller.
    int quality;        // To begin with.
    int stretches;
};
// Makes a JPEG, turned upright. The caller frees it with cmedia_free.
// `prefers_preview`: for RAW files, from the largest preview that is embedded. `orientation` (Exif) applies to a preview without one.
const char *cmedia_thumbnail(
    const void *bytes, size_t count, const struct cmedia_form *form, int prefers_preview, int orientation, uint8_t **jpeg,
    size_t *jpeg_count);
// Makes a JPEG of a picture of a clip that is an image of its own, turned as `orientation` (Exif) says. The caller frees it with cmedia_free.
const char *cmedia_frame_thumbnail(
    const void *bytes, size_t count, const struct cmedia_form *form, int orientation, uint8_t **jpeg, size_t *jpeg_count);
struct cmedia_colours {
    int matrix; // ISO 23091-2; 0 when the clip does not say.
    int is_full_range;
};
struct cmedia_pixel {
    int width, height; // Of one pixel of the picture, from 1 on.
};
// The same of a picture of H.264: parameter sets and slices with start codes, of which nothing but whole pictures is taken.
const char *cmedia_h264_thumbnail(
    const void *bytes, size_t count, const struct cmedia_colours *colours, struct cmedia_pixel pixel, const struct cmedia_form *form,
    int orientation, uint8_t **jpeg, size_t *jpeg_count);
// Makes a PNG of fewer than `limit_bytes` of a thumbnail, without any text. The caller frees it with cmedia_free.
const char *cmedia_picture(
    const void *bytes, size_t count, int side, size_t limit_bytes, uint8_t **png, size_t *png_count);
void cmedia_free(void *memory);

// MARK: Pages

// One document in A4 as a PDF, whose bytes go to descriptor 1. Texts are UTF-8. After an error, nothing but the exit is left.
struct cmedia_picture;
struct cmedia_document {
    const char *title;
    const char *created; // ISO 8601.
    int has_accents; // A rule below each heading of level 1.
    int page_total; // Shown with the number of each page; 0 when it is not known.
    const struct cmedia_picture *logo; // Null for none.
};
const char *cmedia_pages_begin(const struct cmedia_document *document);
// `level`: 1 to 3. Each is also in the outline.
const char *cmedia_pages_heading(int level, const char *text);
const char *cmedia_pages_paragraph(const char *text);
struct cmedia_picture {
    const char *const *lines; // Below the picture.
    int line_count;
    const void *jpeg; // Null for one that is not there.
    size_t jpeg_count;
    int width, height; // As the header of the JPEG says.
    const char *placeholder; // Instead of the picture.
};
const char *cmedia_pages_picture(const struct cmedia_picture *picture);
// Of texts and what is behind them. In a row of facts, the first cell is the name of the fact.
enum cmedia_tone { CMEDIA_TONE_PLAIN, CMEDIA_TONE_GOOD, CMEDIA_TONE_BAD, CMEDIA_TONE_QUIET, CMEDIA_TONE_FACT, CMEDIA_TONE_COUNT };
// A text that stands out.
const char *cmedia_pages_notice(const char *text, enum cmedia_tone tone);
struct cmedia_column {
    const char *heading; // If all are empty, the table has no head.
    int weight; // Of its width.
    int is_number; // Its texts end at the right.
};
// A table of 1 to 8 columns, whose head is repeated on each page. It ends with the next part that is no row.
const char *cmedia_pages_table(const struct cmedia_column *columns, int count);
const char *cmedia_pages_row(const char *const *texts, int count, enum cmedia_tone tone);
const char *cmedia_pages_end(int *page_count, uint64_t *byte_count);
// Why the document could not be written: an errno, or 0.
int cmedia_pages_write_error(void);
#endif

// Sizes and constants are macros that Swift does not see.
#ifndef BACKUPFS_CISAL_SHIM_H
#define BACKUPFS_CISAL_SHIM_H
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
static const unsigned backupfs_igzip_level_1_buffer_bytes = ISAL_DEF_LVL1_DEFAULT;
// Raw DEFLATE, level 1, of one segment that ends with a full flush and without a final block.
static inline void backupfs_igzip_begin_segment(struct isal_zstream *stream, unsigned char *level_buffer) {
    isal_deflate_init(stream);
    stream->level = 1;
    stream->level_buf = level_buffer;
    stream->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    stream->flush = FULL_FLUSH;
    stream->end_of_stream = 0;
    stream->gzip_flag = IGZIP_DEFLATE;
}
#endif

// deflateInit2 and inflateInit2 are macros, which Swift does not see.
#ifndef BACKUPFS_CZLIB_SHIM_H
#define BACKUPFS_CZLIB_SHIM_H
#include <zlib.h>
// Raw DEFLATE (window bits -15): no zlib header, so that segments can be put one after the other.
static inline int backupfs_deflate_init_raw(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
}
static inline int backupfs_inflate_init_raw(z_stream *stream) { return inflateInit2(stream, -15); }
#endif

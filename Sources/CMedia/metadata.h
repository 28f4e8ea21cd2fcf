// What the files of this target share.
#ifndef BACKUPFS_METADATA_H
#define BACKUPFS_METADATA_H
#include <gexiv2/gexiv2.h>
#include <stddef.h>

// The metadata of an image in memory; null when exiv2 cannot read it. The caller releases what is whole with g_object_unref. What is not has
// tags alone, and stays in memory: gexiv2 has freed its type and previews already, and would free them once more.
GExiv2Metadata *cmedia_open_metadata(const void *bytes, size_t count, gboolean *is_whole);
#endif

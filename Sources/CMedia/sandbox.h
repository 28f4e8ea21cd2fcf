// Between the files of CMedia.
#ifndef BACKUPFS_CMEDIA_SANDBOX_H
#define BACKUPFS_CMEDIA_SANDBOX_H
#include <stddef.h>

// Forbids all paths but reading below these, where the kernel has Landlock (5.13): for this thread, and for those that it starts.
void cmedia_allow_paths(const char *const *paths, size_t count);
// Draws a little of each script into nowhere.
void cmedia_pages_rehearse(void);
#endif

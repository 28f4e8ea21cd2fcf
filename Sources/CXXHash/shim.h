#ifndef BACKUPFS_CXXHASH_SHIM_H
#define BACKUPFS_CXXHASH_SHIM_H
#include <xxhash.h>
#endif

// FUSE_USE_VERSION picks the 3.14 interface;
// _FILE_OFFSET_BITS must not be defined: it clashes with Glibc's module, and off_t has 64 bits anyway.
#ifndef BACKUPFS_CFUSE_SHIM_H
#define BACKUPFS_CFUSE_SHIM_H
#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#endif

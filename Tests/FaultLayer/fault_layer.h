// What the interposed calls ask before they do anything.
#ifndef BACKUPFS_FAULT_LAYER_INTERNAL_H
#define BACKUPFS_FAULT_LAYER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

// Each class that changes something can have the faults of those before it.
enum call_class {
    READS,       // of bytes; can fail with EIO if it is asked for
    LOOKS,       // changes nothing; can fail with EIO if it is asked for
    CHANGES,     // can fail with EIO only
    NEEDS_SPACE,  // can fail with ENOSPC as well: all that makes names or bytes, and fsync, which may be the first to look for space
    WRITES,      // can be done by half as well
};

enum verdict {
    PROCEED,
    FAIL,  // errno is set
    TEAR,  // write the first half, and call `die`
    FLIP,  // write the bytes with one bit changed
};

// Counts a call, if it is for a path below the folder. `folder` is a descriptor or AT_FDCWD, as for openat(2).
enum verdict consider_path(const char *call, enum call_class class, int folder, const char *path);

// The same for an open file.
enum verdict consider_descriptor(const char *call, enum call_class class, int descriptor);

// Whether reads count at all: it takes time to find out of what they are.
bool counts_reads(void);

// Whether renameat2(2) is to fail with EINVAL.
bool refuses_rename_flags(unsigned flags);

// Whether a file is to look as if it were on a network share.
bool is_shared(const char *path);
bool is_shared_descriptor(int descriptor);

// Whether fsync(2) of this folder is to fail with EINVAL.
bool refuses_folder_sync(int descriptor);

// Whether unlink(2) of this path is to fail with EPERM.
bool keeps_name(const char *path);

// Ends the process without a word to anybody; does not return.
_Noreturn void die(void);

// The function that would have been called without this library.
#define NEXT(name) ((__typeof__(&name))next_function(#name))
void *next_function(const char *name);

#endif

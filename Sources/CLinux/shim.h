// Calls of Linux that Glibc's Swift module hides, since it is built without _GNU_SOURCE.
#ifndef BACKUPFS_CLINUX_SHIM_H
#define BACKUPFS_CLINUX_SHIM_H
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
// renameat2(2) with RENAME_EXCHANGE: both paths change places in one step.
static inline int backupfs_exchange(const char *first, const char *second) {
    return (int)syscall(SYS_renameat2, AT_FDCWD, first, AT_FDCWD, second, 2u);
}
#endif

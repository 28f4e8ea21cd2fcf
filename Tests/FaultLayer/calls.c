// The calls of libc that change files. What the program and its libraries use is here; CrashMatrixTests compares with strace that nothing else
// changes anything.
#define _GNU_SOURCE
#include "fault_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>


// MARK: Opening

// An open that neither makes nor empties anything changes nothing. Making needs space.
static enum verdict consider_open(const char *call, int folder, const char *path, int flags) {
    if ((flags & (O_CREAT | O_TRUNC)) == 0 && (flags & O_TMPFILE) != O_TMPFILE) return PROCEED;
    int saved = errno;
    bool makes = (flags & O_CREAT) == 0 || faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    errno = saved;
    return consider_path(call, makes ? NEEDS_SPACE : CHANGES, folder, path);
}

#define MODE_ARGUMENT(flags)                                                  \
    mode_t mode = 0;                                                          \
    if (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE) {     \
        va_list arguments;                                                    \
        va_start(arguments, flags);                                           \
        mode = va_arg(arguments, mode_t);                                     \
        va_end(arguments);                                                    \
    }

#define OPEN(name)                                                            \
    int name(const char *path, int flags, ...) {                              \
        MODE_ARGUMENT(flags)                                                  \
        if (consider_open("open", AT_FDCWD, path, flags) == FAIL) return -1;  \
        return NEXT(name)(path, flags, mode);                                 \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                          \
    int name(int folder, const char *path, int flags, ...) {                  \
        MODE_ARGUMENT(flags)                                                  \
        if (consider_open("open", folder, path, flags) == FAIL) return -1;    \
        return NEXT(name)(folder, path, flags, mode);                         \
    }
OPENAT(openat)
OPENAT(openat64)

#define CREAT(name)                                                           \
    int name(const char *path, mode_t mode) {                                 \
        if (consider_open("open", AT_FDCWD, path, O_CREAT | O_TRUNC) == FAIL) return -1; \
        return NEXT(name)(path, mode);                                        \
    }
CREAT(creat)
CREAT(creat64)

// MARK: Bytes

// The bytes with a bit of the middle one changed; to be freed.
static void *flipped(const void *bytes, size_t count) {
    unsigned char *copy = malloc(count + 1);
    if (copy == NULL) abort();
    memcpy(copy, bytes, count);
    if (count > 0) copy[count / 2] ^= 1;
    return copy;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    switch (consider_descriptor("write", WRITES, descriptor)) {
        case FAIL: return -1;
        case TEAR: NEXT(write)(descriptor, bytes, count / 2); die();
        case FLIP: {
            void *other = flipped(bytes, count);
            ssize_t written = NEXT(write)(descriptor, other, count);
            free(other);
            return written;
        }
        case PROCEED: break;
    }
    return NEXT(write)(descriptor, bytes, count);
}

#define PWRITE(name)                                                          \
    ssize_t name(int descriptor, const void *bytes, size_t count, off_t offset) { \
        switch (consider_descriptor("pwrite", WRITES, descriptor)) {          \
            case FAIL: return -1;                                             \
            case TEAR: NEXT(name)(descriptor, bytes, count / 2, offset); die(); \
            case FLIP: {                                                      \
                void *other = flipped(bytes, count);                          \
                ssize_t written = NEXT(name)(descriptor, other, count, offset); \
                free(other);                                                  \
                return written;                                               \
            }                                                                 \
            case PROCEED: break;                                              \
        }                                                                     \
        return NEXT(name)(descriptor, bytes, count, offset);                  \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PREAD(name)                                                           \
    ssize_t name(int descriptor, void *bytes, size_t count, off_t offset) {   \
        if (counts_reads() && consider_descriptor("pread", READS, descriptor) == FAIL) return -1; \
        return NEXT(name)(descriptor, bytes, count, offset);                  \
    }
PREAD(pread)
PREAD(pread64)

// Where reads count, there are no others: as on a file system that has neither.
ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags) {
    if (counts_reads()) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return NEXT(preadv2)(descriptor, parts, count, offset, flags);
}

static bool refuses_direct_reads(int command, void *argument) {
    return command == F_SETFL && ((long)argument & O_DIRECT) && counts_reads();
}

#define FTRUNCATE(name)                                                       \
    int name(int descriptor, off_t size) {                                    \
        if (consider_descriptor("ftruncate", CHANGES, descriptor) == FAIL) return -1; \
        return NEXT(name)(descriptor, size);                                  \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

// They return the error and leave errno alone.
#define POSIX_FALLOCATE(name)                                                 \
    int name(int descriptor, off_t offset, off_t length) {                    \
        if (consider_descriptor("fallocate", NEEDS_SPACE, descriptor) == FAIL) return errno; \
        return NEXT(name)(descriptor, offset, length);                        \
    }
POSIX_FALLOCATE(posix_fallocate)
POSIX_FALLOCATE(posix_fallocate64)

#define FALLOCATE(name)                                                       \
    int name(int descriptor, int mode, off_t offset, off_t length) {          \
        if (consider_descriptor("fallocate", NEEDS_SPACE, descriptor) == FAIL) return -1; \
        return NEXT(name)(descriptor, mode, offset, length);                  \
    }
FALLOCATE(fallocate)
FALLOCATE(fallocate64)

// MARK: Durability

#define ON_DESCRIPTOR(name)                                                   \
    int name(int descriptor) {                                                \
        if (consider_descriptor(#name, NEEDS_SPACE, descriptor) == FAIL) return -1; \
        return NEXT(name)(descriptor);                                        \
    }
ON_DESCRIPTOR(fdatasync)
ON_DESCRIPTOR(syncfs)

int fsync(int descriptor) {
    if (refuses_folder_sync(descriptor)) {
        errno = EINVAL;
        return -1;
    }
    if (consider_descriptor("fsync", NEEDS_SPACE, descriptor) == FAIL) return -1;
    return NEXT(fsync)(descriptor);
}

// MARK: Names

int rename(const char *old, const char *new) {
    if (consider_path("rename", NEEDS_SPACE, AT_FDCWD, new) == FAIL) return -1;
    return NEXT(rename)(old, new);
}

int renameat(int folder, const char *old, int target, const char *new) {
    if (consider_path("rename", NEEDS_SPACE, target, new) == FAIL) return -1;
    return NEXT(renameat)(folder, old, target, new);
}

int renameat2(int folder, const char *old, int target, const char *new, unsigned flags) {
    if (refuses_rename_flags(flags)) {
        errno = EINVAL;
        return -1;
    }
    if (consider_path("rename", NEEDS_SPACE, target, new) == FAIL) return -1;
    return NEXT(renameat2)(folder, old, target, new, flags);
}

// The program makes calls by their number that Swift's module of libc hides.
long syscall(long number, ...) {
    long values[6];
    va_list arguments;
    va_start(arguments, number);
    // A call has six arguments at most; what is read beyond those that were given is passed on to nobody.
    for (int index = 0; index < 6; index++) values[index] = va_arg(arguments, long);
    va_end(arguments);
    enum verdict verdict = PROCEED;
    if (number == SYS_renameat2 && refuses_rename_flags((unsigned)values[4])) {
        errno = EINVAL;
        return -1;
    }
    if (number == SYS_renameat2) {
        verdict = consider_path("rename", NEEDS_SPACE, (int)values[2], (const char *)values[3]);
    } else if (number == SYS_syncfs) {
        verdict = consider_descriptor("syncfs", NEEDS_SPACE, (int)values[0]);
    }
    if (verdict == FAIL) return -1;
    return NEXT(syscall)(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

int link(const char *old, const char *new) {
    if (consider_path("link", NEEDS_SPACE, AT_FDCWD, new) == FAIL) return -1;
    return NEXT(link)(old, new);
}

int linkat(int folder, const char *old, int target, const char *new, int flags) {
    if (consider_path("link", NEEDS_SPACE, target, new) == FAIL) return -1;
    return NEXT(linkat)(folder, old, target, new, flags);
}

int symlink(const char *text, const char *path) {
    if (consider_path("symlink", NEEDS_SPACE, AT_FDCWD, path) == FAIL) return -1;
    return NEXT(symlink)(text, path);
}

int symlinkat(const char *text, int folder, const char *path) {
    if (consider_path("symlink", NEEDS_SPACE, folder, path) == FAIL) return -1;
    return NEXT(symlinkat)(text, folder, path);
}

int mkdir(const char *path, mode_t mode) {
    if (consider_path("mkdir", NEEDS_SPACE, AT_FDCWD, path) == FAIL) return -1;
    return NEXT(mkdir)(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    if (consider_path("mkdir", NEEDS_SPACE, folder, path) == FAIL) return -1;
    return NEXT(mkdirat)(folder, path, mode);
}

int unlink(const char *path) {
    if (keeps_name(path)) {
        errno = EPERM;
        return -1;
    }
    if (consider_path("unlink", CHANGES, AT_FDCWD, path) == FAIL) return -1;
    return NEXT(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags) {
    if ((flags & AT_REMOVEDIR) == 0 && keeps_name(path)) {
        errno = EPERM;
        return -1;
    }
    if (consider_path(flags & AT_REMOVEDIR ? "rmdir" : "unlink", CHANGES, folder, path) == FAIL) return -1;
    return NEXT(unlinkat)(folder, path, flags);
}

int rmdir(const char *path) {
    if (consider_path("rmdir", CHANGES, AT_FDCWD, path) == FAIL) return -1;
    return NEXT(rmdir)(path);
}

// MARK: Attributes

int chmod(const char *path, mode_t mode) {
    if (consider_path("chmod", CHANGES, AT_FDCWD, path) == FAIL) return -1;
    return NEXT(chmod)(path, mode);
}

int fchmod(int descriptor, mode_t mode) {
    if (consider_descriptor("chmod", CHANGES, descriptor) == FAIL) return -1;
    return NEXT(fchmod)(descriptor, mode);
}

int fchmodat(int folder, const char *path, mode_t mode, int flags) {
    if (consider_path("chmod", CHANGES, folder, path) == FAIL) return -1;
    return NEXT(fchmodat)(folder, path, mode, flags);
}

int fchown(int descriptor, uid_t owner, gid_t group) {
    if (consider_descriptor("chown", CHANGES, descriptor) == FAIL) return -1;
    return NEXT(fchown)(descriptor, owner, group);
}

int fchownat(int folder, const char *path, uid_t owner, gid_t group, int flags) {
    if (consider_path("chown", CHANGES, folder, path) == FAIL) return -1;
    return NEXT(fchownat)(folder, path, owner, group, flags);
}

int futimens(int descriptor, const struct timespec times[2]) {
    if (consider_descriptor("utimens", CHANGES, descriptor) == FAIL) return -1;
    return NEXT(futimens)(descriptor, times);
}

int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
    if (consider_path("utimens", CHANGES, folder, path) == FAIL) return -1;
    return NEXT(utimensat)(folder, path, times, flags);
}

// MARK: Looks

#define STAT(name, buffer)                                                    \
    int name(const char *path, struct buffer *status) {                       \
        if (consider_path("stat", LOOKS, AT_FDCWD, path) == FAIL) return -1;  \
        return NEXT(name)(path, status);                                      \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define FSTATAT(name, buffer)                                                 \
    int name(int folder, const char *path, struct buffer *status, int flags) { \
        if (consider_path("stat", LOOKS, folder, path) == FAIL) return -1;    \
        return NEXT(name)(folder, path, status, flags);                       \
    }
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

int access(const char *path, int mode) {
    if (consider_path("access", LOOKS, AT_FDCWD, path) == FAIL) return -1;
    return NEXT(access)(path, mode);
}

// MARK: Shared folders

#define STATFS(name, buffer)                                                  \
    int name(const char *path, struct buffer *status) {                       \
        int result = NEXT(name)(path, status);                                \
        if (result == 0 && is_shared(path)) status->f_type = 0x6969; /* NFS_SUPER_MAGIC */ \
        return result;                                                        \
    }
STATFS(statfs, statfs)
STATFS(statfs64, statfs64)

// Locks of SQLite (F_SETLK) are left alone.
#define FCNTL(name)                                                           \
    int name(int descriptor, int command, ...) {                              \
        va_list arguments;                                                    \
        va_start(arguments, command);                                         \
        void *argument = va_arg(arguments, void *);                           \
        va_end(arguments);                                                    \
        if (refuses_direct_reads(command, argument)) {                        \
            errno = EINVAL;                                                   \
            return -1;                                                        \
        }                                                                     \
        bool is_lock = command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK; \
        if (!is_lock || !is_shared_descriptor(descriptor)) return NEXT(name)(descriptor, command, argument); \
        if (command == F_OFD_GETLK) ((struct flock *)argument)->l_type = F_UNLCK; \
        return 0;                                                             \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

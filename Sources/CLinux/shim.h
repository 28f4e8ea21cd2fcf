// Calls of Linux that Glibc's Swift module hides, since it is built without _GNU_SOURCE.
#ifndef BACKUPFS_CLINUX_SHIM_H
#define BACKUPFS_CLINUX_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/stat.h>
#include <malloc.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>
// The name of an errno, such as ENOENT (glibc 2.32); null for an unknown one.
extern const char *strerrorname_np(int number);
// renameat2(2) with RENAME_EXCHANGE: both paths change places in one step.
static inline int backupfs_exchange(const char *first, const char *second) {
    return (int)syscall(SYS_renameat2, AT_FDCWD, first, AT_FDCWD, second, 2u);
}
// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST when something has the new name.
static inline int backupfs_rename_without_replacing(int folder, const char *old, int target, const char *name) {
    return (int)syscall(SYS_renameat2, folder, old, target, name, 1u);
}
// openat2(2) of a folder below another one, for reading: no component may be a link or lead out. -1 and errno; ENOSYS before Linux 5.6, and in
// containers whose filter of system calls is older than the call also EPERM.
static inline int backupfs_open_directory_beneath(int folder, const char *path) {
    struct { unsigned long long flags, mode, resolve; } how = {
        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0, 0x0c /* RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH */};
    return (int)syscall(437 /* SYS_openat2 */, folder, path, &how, sizeof how);
}
// statx(2) of an entry of a folder, not following a link: 1 for the root of a mount, 2 for what an attribute keeps from being moved (immutable,
// append-only), as a sum; 0 also when the kernel cannot say (before 5.8); -1 and errno.
static inline int backupfs_entry_attributes(int folder, const char *name) {
    struct statx value = {0};
    if (syscall(SYS_statx, folder, name, 0x900 /* AT_SYMLINK_NOFOLLOW, AT_NO_AUTOMOUNT */, 0, &value) == -1) return -1;
    return ((value.stx_attributes & STATX_ATTR_MOUNT_ROOT) ? 1 : 0)
        + ((value.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) ? 2 : 0);
}
// statx(2): the number of the mount that a path lies on; 0 when the kernel cannot say (before 5.8) or on failure.
static inline unsigned long long backupfs_mount_number(const char *path) {
    struct statx value = {0};
    if (syscall(SYS_statx, AT_FDCWD, path, 0x800 /* AT_NO_AUTOMOUNT */, STATX_MNT_ID, &value) == -1) return 0;
    return (value.stx_mask & STATX_MNT_ID) ? value.stx_mnt_id : 0;
}
// pipe2(2) with O_CLOEXEC: neither end is inherited by a program that another thread starts meanwhile.
static inline int backupfs_pipe(int descriptors[2]) {
    return (int)syscall(SYS_pipe2, descriptors, O_CLOEXEC);
}
// socketpair(2) of a stream with SOCK_CLOEXEC: 0, or -1 and errno. In Swift the kinds of sockets have a type of their own.
static inline int backupfs_socket_pair(int descriptors[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, descriptors);
}
// sendmsg(2) of bytes with one descriptor (SCM_RIGHTS; none when it is negative), without waiting: how many bytes were sent, or -1 and errno
// (EAGAIN where the socket is full), never a signal. In Swift the control message would be laid out by hand.
static inline long backupfs_send_with_descriptor(int socket, const void *bytes, unsigned long count, int descriptor) {
    struct iovec part = {(void *)bytes, count};
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr aligned; } control = {{0}};
    struct msghdr message = {0};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        *(int *)(void *)CMSG_DATA(header) = descriptor;
    }
    return (long)sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
// memfd_create(2): a file in memory without a name, closed when another program is started and never executed; -1 and errno.
static inline int backupfs_memory_file(void) {
    int file = (int)syscall(SYS_memfd_create, "backupfs", 9u /* MFD_CLOEXEC, MFD_NOEXEC_SEAL */);
    // Before Linux 6.3.
    return file == -1 && errno == EINVAL ? (int)syscall(SYS_memfd_create, "backupfs", 1u) : file;
}
// POSIX_SPAWN_SETSID: the started program becomes the leader of a new session, without a terminal.
enum { backupfs_spawn_setsid = 0x80 };
// Closes every descriptor from `first` on in the started program.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
static inline int backupfs_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
// The started program begins in `folder`.
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *folder);
static inline int backupfs_spawn_change_folder(posix_spawn_file_actions_t *actions, const char *folder) {
    return posix_spawn_file_actions_addchdir_np(actions, folder);
}
// getxattr(2): the value's length, or -1 and errno.
static inline long backupfs_getxattr(const char *path, const char *name, void *value, unsigned long length) {
    return (long)getxattr(path, name, value, length);
}
// flistxattr(2), fgetxattr(2): the length, or -1 and errno. fsetxattr(2): 0, or -1 and errno.
static inline long backupfs_flistxattr(int descriptor, void *names, unsigned long length) {
    return (long)flistxattr(descriptor, (char *)names, length);
}
static inline long backupfs_fgetxattr(int descriptor, const char *name, void *value, unsigned long length) {
    return (long)fgetxattr(descriptor, name, value, length);
}
static inline int backupfs_fsetxattr(int descriptor, const char *name, const void *value, unsigned long length) {
    return fsetxattr(descriptor, name, value, length, 0);
}
// pidfd_open(2): a descriptor that can be read once the process has ended; -1 and errno.
static inline int backupfs_open_process(int process) { return (int)syscall(434 /* SYS_pidfd_open */, process, 0u); }
// fork(2): a child that becomes `user` and `group`, unless `user` is 0, reads attributes of `path`, writes them to `writer`, each after its length
// or its negative errno as a long, and ends. It calls nothing that a child of a program with threads may not call. Its number, or -1 and errno.
static inline int backupfs_read_attributes_in_child(
    const char *path, const char *first, const char *second, unsigned int user, unsigned int group, int writer) {
    pid_t child = fork();
    if (child != 0) return child;
    if (user != 0 && (syscall(SYS_setresgid, group, group, group) == -1 || syscall(SYS_setresuid, user, user, user) == -1)) _exit(1);
    const char *names[2] = {first, second};
    for (int index = 0; index < 2; index++) {
        char value[4096];
        long length = (long)getxattr(path, names[index], value, sizeof value);
        if (length == -1) length = -(long)errno;
        if (write(writer, &length, sizeof length) != sizeof length) _exit(1);
        if (length > 0 && write(writer, value, (unsigned long)length) != length) _exit(1);
    }
    _exit(0);
}
// syncfs(2): makes everything written to the file system of a descriptor durable.
static inline int backupfs_sync_filesystem(int descriptor) { return (int)syscall(SYS_syncfs, descriptor); }
// mallopt(3) with M_ARENA_MAX: how many heaps malloc(3) keeps; 1 when it was taken.
static inline int backupfs_limit_heaps(int count) { return mallopt(M_ARENA_MAX, count); }
// malloc_trim(3): gives all free pages back to the system.
static inline void backupfs_trim_heaps(void) { malloc_trim(0); }
// Open file description locks (fcntl(2)) on the whole file: fcntl is variadic, and the commands need _GNU_SOURCE.
static inline int backupfs_lock(int descriptor, int exclusive) {
    struct flock lock = {.l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(descriptor, 37 /* F_OFD_SETLK */, &lock);
}
static inline int backupfs_unlock(int descriptor) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    return fcntl(descriptor, 37 /* F_OFD_SETLK */, &lock);
}
// flock(2), which takes a folder's descriptor too: 0, or -1 and errno (EWOULDBLOCK for one that is held). In Swift a structure has its name.
static inline int backupfs_lock_folder(int descriptor, int exclusive) { return flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB); }
static inline int backupfs_unlock_folder(int descriptor) { return flock(descriptor, LOCK_UN); }
// 1 when another open file description, or another process, holds a lock on any of these bytes (a length of 0: to the end), 0 when none does,
// -1 and errno.
static inline int backupfs_is_range_locked(int descriptor, long long start, long long length) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    if (fcntl(descriptor, 36 /* F_OFD_GETLK */, &lock) == -1) return -1;
    return lock.l_type != F_UNLCK;
}
static inline int backupfs_is_locked(int descriptor) { return backupfs_is_range_locked(descriptor, 0, 0); }
// The kind of file system that holds a path (statfs(2)), or without one an open file (fstatfs(2)): 0, or -1 and errno.
static inline int backupfs_filesystem_type(int descriptor, const char *path, unsigned int *type) {
    struct statfs value;
    if ((path ? statfs(path, &value) : fstatfs(descriptor, &value)) == -1) return -1;
    *type = (unsigned int)value.f_type;
    return 0;
}
// fcntl(2): a lease for reading on an open file, which is granted only while no descriptor and no mapping can write to it; an open for writing
// then waits until the lease is given back. 0, or -1 and errno. In Swift, fcntl(2) takes no such argument on all versions.
static inline int backupfs_take_read_lease(int descriptor) { return fcntl(descriptor, 1024 /* F_SETLEASE */, F_RDLCK); }
static inline int backupfs_has_read_lease(int descriptor) { return fcntl(descriptor, 1025 /* F_GETLEASE */) == F_RDLCK; }
static inline int backupfs_give_lease_back(int descriptor) { return fcntl(descriptor, 1024 /* F_SETLEASE */, F_UNLCK); }
// sync_file_range(2) of the whole file: writes dirty pages to the disk and waits for that; nothing else of the file is made durable.
static inline int backupfs_write_back(int descriptor) { return (int)syscall(SYS_sync_file_range, descriptor, 0LL, 0LL, 7u); }
// sync_file_range(2) of the whole file: starts to write dirty pages to the disk.
static inline int backupfs_start_write_back(int descriptor) { return (int)syscall(SYS_sync_file_range, descriptor, 0LL, 0LL, 2u); }
// The flag of open(2) for reads that bypass the page cache (O_DIRECT, which needs _GNU_SOURCE).
static inline int backupfs_direct_flag(void) { return __O_DIRECT; }
// posix_fadvise(2): drops the clean pages of a file from the page cache. The error, or 0.
static inline int backupfs_drop_cached_pages(int descriptor) { return posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED); }
// io_setup(2): a queue for `count` reads at once. 0, or -1 and errno.
static inline int backupfs_make_read_queue(unsigned int count, unsigned long *queue) {
    *queue = 0;
    return (int)syscall(SYS_io_setup, count, queue);
}
// io_destroy(2).
static inline void backupfs_end_read_queue(unsigned long queue) { (void)syscall(SYS_io_destroy, queue); }
// io_submit(2): begins to read the first `length` bytes of a file into a buffer, which the kernel writes to until the read has ended. The
// number comes back with its end. How many of the reads were taken: the first of the others was refused, or -1 and errno if all were.
enum { backupfs_read_queue_limit = 64 };
struct backupfs_read { int file; void *buffer; unsigned long length; unsigned long long number; };
static inline long backupfs_begin_reads(unsigned long queue, const struct backupfs_read *reads, int count) {
    struct iocb requests[backupfs_read_queue_limit] = {{0}}, *places[backupfs_read_queue_limit];
    if (count > backupfs_read_queue_limit) count = backupfs_read_queue_limit;
    for (int index = 0; index < count; index++) {
        requests[index].aio_data = reads[index].number;
        requests[index].aio_lio_opcode = IOCB_CMD_PREAD;
        requests[index].aio_fildes = (unsigned int)reads[index].file;
        requests[index].aio_buf = (unsigned long long)(unsigned long)reads[index].buffer;
        requests[index].aio_nbytes = reads[index].length;
        places[index] = &requests[index];
    }
    return syscall(SYS_io_submit, queue, (long)count, places);
}
// io_getevents(2): waits for the end of at least one read. How many have ended, with their numbers, and their numbers of bytes or negative
// errno values; or -1 and errno.
static inline long backupfs_await_reads(unsigned long queue, unsigned long long *numbers, long *results) {
    struct io_event ends[backupfs_read_queue_limit];
    long ended = syscall(SYS_io_getevents, queue, 1L, (long)backupfs_read_queue_limit, ends, (struct timespec *)0);
    for (long index = 0; index < ended; index++) {
        numbers[index] = ends[index].data;
        results[index] = (long)ends[index].res;
    }
    return ended;
}
// fcntl(2): whether reads of a descriptor bypass the page cache (O_DIRECT). 0, or -1 and errno.
static inline int backupfs_set_direct(int descriptor, int isDirect) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags == -1) return -1;
    return fcntl(descriptor, F_SETFL, isDirect ? flags | __O_DIRECT : flags & ~__O_DIRECT);
}
extern ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags);
// preadv2(2) with RWF_NOWAIT: reads what the page cache has, from the beginning. -1 and errno, which is EAGAIN when that needs the storage.
static inline long backupfs_read_cached(int descriptor, void *buffer, unsigned long length) {
    struct iovec part = {buffer, length};
    return preadv2(descriptor, &part, 1, 0, 0x8 /* RWF_NOWAIT */);
}
// posix_fadvise(2): begins to read all of a file into the page cache.
static inline void backupfs_read_ahead(int descriptor) { (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_WILLNEED); }
// Whether syncfs(2) tells of errors, and reaches the disk: 0 before Linux 5.8, and on FUSE, where it may end in the daemon.
static inline int backupfs_syncfs_is_reliable(int descriptor) {
    struct statfs value;
    struct utsname name;
    if (fstatfs(descriptor, &value) == -1 || value.f_type == 0x65735546 /* FUSE_SUPER_MAGIC */ || uname(&name) == -1) return 0;
    int major = 0;
    const char *digit = name.release;
    while (*digit >= '0' && *digit <= '9') major = major * 10 + (*digit++ - '0');
    int minor = 0;
    if (*digit == '.') digit++;
    while (*digit >= '0' && *digit <= '9') minor = minor * 10 + (*digit++ - '0');
    return major > 5 || (major == 5 && minor >= 8);
}
// prctl(2) with PR_SET_DUMPABLE, which is variadic: 0 when it was taken.
static inline int backupfs_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
// No core file, and no way back (setrlimit(2)).
static inline int backupfs_forbid_core_files(void) {
    struct rlimit none = {0, 0};
    return setrlimit(RLIMIT_CORE, &none);
}
// As many descriptors as the system allows (setrlimit(2)): 0 when it was taken.
static inline int backupfs_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}
#endif

// The socket to the program, and the file that comes through it.
#define _GNU_SOURCE
#include "CMedia.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

long cmedia_receive(void *bytes, size_t count, int *descriptor) {
    *descriptor = -1;
    struct iovec part = {bytes, count};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    long received;
    do received = recvmsg(0, &message, MSG_CMSG_CLOEXEC);
    while (received == -1 && errno == EINTR);
    if (received < 0) return received;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    return received;
}

// The call itself: glibc takes newfstatat, which could ask for a path.
long long cmedia_file_size(int descriptor) {
    struct stat status;
    return syscall(SYS_fstat, descriptor, &status) == 0 && S_ISREG(status.st_mode) ? (long long)status.st_size : -1;
}

const void *cmedia_map(int descriptor, size_t count) {
    void *bytes = mmap(NULL, count, PROT_READ, MAP_PRIVATE, descriptor, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

void cmedia_unmap(const void *bytes, size_t count) { munmap((void *)bytes, count); }

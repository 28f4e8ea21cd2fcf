#define _GNU_SOURCE
#include "CSandboxTrial.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int close_and_succeed(int descriptor) {
    if (descriptor < 0) return errno;
    close(descriptor);
    return 0;
}

int sandbox_attempt(int number, int descriptor) {
    errno = 0;
    switch (number) {
    case 0: return close_and_succeed(open("/proc/self/status", O_RDONLY));
    case 1: return close_and_succeed(open("/dev/shm", O_TMPFILE | O_RDWR, 0600));
    case 2: return close_and_succeed(socket(AF_UNIX, SOCK_STREAM, 0));
    case 3: {
        pid_t child = fork();
        if (child == 0) _exit(0);
        if (child < 0) return errno;
        waitpid(child, NULL, 0);
        return 0;
    }
    case 4: {
        // A path that is no program: outside the sandbox the call is made, and fails for that reason alone.
        char *const none[] = {NULL};
        execve("/dev/null", none, none);
        return errno == EACCES ? 0 : errno;
    }
    case 5: return write(descriptor, "x", 1) == 1 ? 0 : errno;
    case 6: {
        void *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED) return errno;
        munmap(bytes, 4096);
        return 0;
    }
    case 7: return kill(getppid(), 0) == 0 ? 0 : errno;
    case 8: {
        // MAP_SHARED_VALIDATE: has the bit of a private mapping, and is a shared one.
        void *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, 3, descriptor, 0);
        if (bytes == MAP_FAILED) return errno;
        munmap(bytes, 4096);
        return 0;
    }
    case 9: {
        struct rlimit bounds;
        if (getrlimit(RLIMIT_CPU, &bounds) != 0) return errno;
        return setrlimit(RLIMIT_CPU, &bounds) == 0 ? 0 : errno;
    }
    default: return EINVAL;
    }
}

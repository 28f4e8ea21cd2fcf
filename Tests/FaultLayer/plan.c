// What to do with which call: the environment, the counting, the log.
#define _GNU_SOURCE
#include "fault_layer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fault { NONE, KILL, TEAR_WRITE, FLIP_BIT, FULL_ONCE, FULL, BROKEN_ONCE, BROKEN, UNSEEN, UNREADABLE, STALL, STOP };

static const struct {
    const char *name;
    enum fault fault;
    enum call_class least;  // the calls that can have it
} faults[] = {
    {"kill", KILL, CHANGES},       {"tear", TEAR_WRITE, WRITES},          {"full-once", FULL_ONCE, NEEDS_SPACE},
    {"full", FULL, NEEDS_SPACE},    {"broken-once", BROKEN_ONCE, CHANGES}, {"broken", BROKEN, CHANGES},
    {"unseen", UNSEEN, LOOKS},     {"stall", STALL, CHANGES},       {"stop", STOP, CHANGES},
    {"flip", FLIP_BIT, WRITES},    {"unreadable", UNREADABLE, READS},
};

// Written by the constructor only, before there are threads. Without a folder nothing is counted.
static char folder[PATH_MAX];
static size_t folder_length;
static int log_descriptor = -1;
static enum fault fault = NONE;
static enum call_class least_class = CHANGES;
static long fault_number;
static bool logs_looks;
// The only call and path that count, if there is a call.
static char fault_call[32];
static char fault_path[PATH_MAX];

static bool lacks_rename_flags = false;
static char shared_folder[PATH_MAX];
static bool lacks_folder_sync = false;
static const char *kept_name = NULL;

static atomic_long passed;
// Whether a fault that lasts has begun.
static atomic_bool has_begun;

bool counts_reads(void) { return fault == UNREADABLE; }

bool refuses_rename_flags(unsigned flags) { return lacks_rename_flags && flags != 0; }

bool refuses_folder_sync(int descriptor) {
    struct stat status;
    return lacks_folder_sync && fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

bool keeps_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return kept_name != NULL && strcmp(slash == NULL ? path : slash + 1, kept_name) == 0;
}

void *next_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) abort();
    return function;
}

__attribute__((constructor)) static void read_environment(void) {
    const char *wanted = getenv("FAULT_LAYER_FOLDER");
    const char *log = getenv("FAULT_LAYER_LOG");
    const char *plan = getenv("FAULT_LAYER_FAULT");
    logs_looks = getenv("FAULT_LAYER_LOOKS") != NULL;
    lacks_rename_flags = getenv("FAULT_LAYER_NO_RENAME_FLAGS") != NULL;
    const char *shared = getenv("FAULT_LAYER_SHARED");
    if (shared != NULL && strlen(shared) < sizeof shared_folder) strcpy(shared_folder, shared);
    lacks_folder_sync = getenv("FAULT_LAYER_NO_FOLDER_SYNC") != NULL;
    kept_name = getenv("FAULT_LAYER_KEPT_NAME");
    // Whatever this program starts is another program, and would count from the beginning.
    unsetenv("LD_PRELOAD");
    if (plan != NULL) {
        const char *number = strchr(plan, '@');
        if (number == NULL) abort();
        for (size_t index = 0; index < sizeof faults / sizeof faults[0]; index++) {
            size_t length = strlen(faults[index].name);
            if (length != (size_t)(number - plan) || strncmp(plan, faults[index].name, length) != 0) continue;
            fault = faults[index].fault;
            least_class = faults[index].least;
            if (sscanf(number + 1, "%ld %31s %4095s", &fault_number, fault_call, fault_path) < 1) abort();
        }
        if (fault == NONE || fault_number < 1) abort();
    }
    // The calls behind the wrappers: this must not count as the program's.
    if (log != NULL) {
        log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log_descriptor == -1) abort();
    }
    if (wanted == NULL || strlen(wanted) >= sizeof folder) return;
    strcpy(folder, wanted);
    folder_length = strlen(wanted);
}

_Noreturn void die(void) {
    kill(getpid(), SIGKILL);
    // The signal may be delivered to another thread first; this one must not go on meanwhile.
    while (true) pause();
}

static void log_call(enum call_class class, const char *call, const char *path) {
    if (log_descriptor == -1) return;
    static const char letters[] = {[READS] = 'd', [LOOKS] = 'l', [CHANGES] = 'c', [NEEDS_SPACE] = 'r', [WRITES] = 'w'};
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%c %s %s\n", letters[class], call, path);
    // One write of a file opened for appending: lines of several threads do not mix.
    if (length > 0) syscall(SYS_write, log_descriptor, line, (size_t)length < sizeof line ? (size_t)length : sizeof line);
}

static bool is_in(const char *path, const char *outer) {
    size_t length = strlen(outer);
    return length > 0 && strncmp(path, outer, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_below(const char *path) { return is_in(path, folder); }

bool is_shared(const char *path) { return is_in(path, shared_folder); }

// Copies a path, with an asterisk for each part that no other run has: 16 hexadecimal digits and more, the folder of a pack, what follows the mark
// of a draft.
static void normalize(const char *path, char *copy, size_t size) {
    static const char digits[] = "0123456789abcdef";
    static const char draft_mark[] = ".tmp-", packs[] = "/packs/";
    size_t used = 0;
    const char *place = path;
    while (*place != '\0' && used + sizeof draft_mark + 2 < size) {
        size_t length = strspn(place, digits);
        bool is_folder = length == 2 && place >= path + strlen(packs) && strncmp(place - strlen(packs), packs, strlen(packs)) == 0;
        if (length >= 16 || is_folder) {
            copy[used++] = '*';
            place += length;
        } else if (strncmp(place, draft_mark, strlen(draft_mark)) == 0) {
            used += (size_t)sprintf(copy + used, "%s*", draft_mark);
            place += strlen(draft_mark);
            place += strspn(place, "0123456789abcdef-");
        } else {
            // Digits in the middle of a word are part of it.
            do copy[used++] = *place++; while (--length > 0 && length < size - used - sizeof draft_mark - 2);
        }
    }
    copy[used] = '\0';
}

// Whether the fault hits this call.
static bool is_hit(const char *call, enum call_class class, const char *path) {
    bool lasts = fault == FULL || fault == BROKEN || fault == STALL;
    if (class < least_class || (fault == UNSEEN) != (class == LOOKS) || (fault == UNREADABLE) != (class == READS)) return false;
    if (lasts && atomic_load(&has_begun)) return true;
    if (fault_call[0] != '\0' && (strcmp(call, fault_call) != 0 || strcmp(path, fault_path) != 0)) return false;
    if (atomic_fetch_add(&passed, 1) + 1 != fault_number) return false;
    atomic_store(&has_begun, true);
    return true;
}

static enum verdict consider(const char *call, enum call_class class, const char *whole_path) {
    if (!is_below(whole_path)) return PROCEED;
    if (class == LOOKS && fault != UNSEEN && !logs_looks) return PROCEED;
    char path[PATH_MAX];
    const char *relative = whole_path + folder_length;
    normalize(*relative == '/' ? relative + 1 : ".", path, sizeof path);
    bool hit = fault != NONE && is_hit(call, class, path);
    if (hit || (fault == NONE && (class == LOOKS) == logs_looks)) log_call(class, call, path);
    if (!hit) return PROCEED;
    switch (fault) {
        case KILL: die();
        case TEAR_WRITE: return TEAR;
        case FLIP_BIT: return FLIP;
        case FULL_ONCE:
        case FULL: errno = ENOSPC; return FAIL;
        case STALL: while (true) pause();
        case STOP: raise(SIGSTOP); break;
        case UNSEEN:
        case UNREADABLE:
        case BROKEN_ONCE:
        case BROKEN: errno = EIO; return FAIL;
        case NONE: break;
    }
    return PROCEED;
}

// What an open file is called now. Of a file without a name, the folder it was made in is still there.
static bool name_of(int descriptor, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return false;
    path[length] = '\0';
    return true;
}

bool is_shared_descriptor(int descriptor) {
    char path[PATH_MAX];
    return shared_folder[0] != '\0' && name_of(descriptor, path, sizeof path) && is_shared(path);
}

enum verdict consider_descriptor(const char *call, enum call_class class, int descriptor) {
    char path[PATH_MAX];
    int saved = errno;
    bool has_name = name_of(descriptor, path, sizeof path);
    errno = saved;
    return has_name ? consider(call, class, path) : PROCEED;
}

enum verdict consider_path(const char *call, enum call_class class, int from, const char *path) {
    char whole[2 * PATH_MAX];
    int saved = errno;
    bool is_known = true;
    if (path[0] == '/') {
        snprintf(whole, sizeof whole, "%s", path);
    } else {
        char start[PATH_MAX];
        is_known = from == AT_FDCWD ? getcwd(start, sizeof start) != NULL : name_of(from, start, sizeof start);
        if (is_known) snprintf(whole, sizeof whole, "%s/%s", start, path);
    }
    errno = saved;
    return is_known ? consider(call, class, whole) : PROCEED;
}

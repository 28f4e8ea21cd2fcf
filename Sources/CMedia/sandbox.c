// The helper's sandbox. What decodes a hostile photo may be taken over by it; it then has the socket, the one file that was handed in, and
// processor time, and nothing else.
#define _GNU_SOURCE
#include "CMedia.h"
#include "sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The user “nobody”, and the group of that number.
enum { nobody = 65534 };
// Seconds of CPU time. After that, the program starts another helper.
enum { processor_limit = 600 };
// The same for a document, which one helper draws: 100,000 photos take some minutes.
enum { page_processor_limit = 3600 };

const char *cmedia_give_up_rights(void) {
    // Root without capabilities still owns files of root. In a container, root may be all there is (EINVAL), with groups that it cannot leave
    // (EPERM).
    if (geteuid() == 0) {
        if (setgroups(0, NULL) != 0 && errno != EPERM) return "the groups cannot be changed";
        if ((setresgid(nobody, nobody, nobody) != 0 || setresuid(nobody, nobody, nobody) != 0) && errno != EINVAL)
            return "the user cannot be changed";
    }
    // After the change of the user, which would undo it. The signal also comes when only the thread that started the helper ends: the program
    // starts another one then.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Neither a core file nor /proc/PID/mem with the bytes of a photo.
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "prctl failed";
    // For root: without capabilities a limit cannot be raised again, and modes count.
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    if (syscall(SYS_capset, &header, none) != 0) return "capset failed";
    // Each heap takes 64 MiB of the addresses that are limited below.
    mallopt(M_ARENA_MAX, 2);
    return NULL;
}

// Whether paths can be opened at all: only where Landlock says which.
static int has_allowed_paths;

// The filter refuses the same by the number of the call. Landlock's header is newer than some systems that this is built on.
void cmedia_allow_paths(const char *const *paths, size_t count) {
    long version = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1u /* LANDLOCK_CREATE_RULESET_VERSION */);
    if (version < 1) return;
    // All rights of the first version: every open, creation and removal.
    struct { uint64_t handled_access_fs; } rules = {(1ULL << 13) - 1};
    int descriptor = (int)syscall(444, &rules, sizeof rules, 0);
    if (descriptor < 0) return;
    for (size_t index = 0; index < count; index++) {
        struct { uint64_t allowed_access; int32_t parent; } __attribute__((packed)) rule = {0, open(paths[index], O_PATH | O_CLOEXEC)};
        struct stat status;
        if (rule.parent < 0) continue;
        // To read files, and to list folders.
        rule.allowed_access = fstat(rule.parent, &status) == 0 && S_ISDIR(status.st_mode) ? 1ULL << 2 | 1ULL << 3 : 1ULL << 2;
        syscall(445 /* landlock_add_rule */, descriptor, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0);
        close(rule.parent);
    }
    if (syscall(446 /* landlock_restrict_self */, descriptor, 0) == 0) has_allowed_paths = count > 0;
    close(descriptor);
}

// A stricter limit stays: it cannot be raised.
static int limit(int resource, rlim_t value) {
    struct rlimit both;
    if (getrlimit(resource, &both) != 0) return -1;
    if (value > both.rlim_max) value = both.rlim_max;
    both.rlim_cur = both.rlim_max = value;
    return setrlimit(resource, &both);
}

static int allow_calls(scmp_filter_ctx filter) {
    // What reads descriptors, manages memory and runs threads.
    static const int calls[] = {
        SCMP_SYS(pread64), SCMP_SYS(fstat), SCMP_SYS(close), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
        SCMP_SYS(brk), SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getpid),
        SCMP_SYS(gettid), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep),
        SCMP_SYS(clock_nanosleep), SCMP_SYS(getrandom), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
        SCMP_SYS(getrusage), SCMP_SYS(sysinfo),
    };
    int failed = 0;
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++)
        failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[index], 0);
    // The standard error.
    failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, 2));
    // Memory that nothing can be executed in, and files that nothing can be written to.
    failed |= seccomp_rule_add(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE | MAP_HUGETLB | MAP_LOCKED, MAP_PRIVATE));
    failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    // Threads, not processes. The arguments of clone3 are in memory, which a filter cannot read: glibc then takes clone.
    failed |= seccomp_rule_add(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
    failed |= seccomp_rule_add(
        filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    // Threads get names.
    failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
    // What its own limits are, without a change.
    failed |= seccomp_rule_add(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
    return failed;
}

// Not read or lseek of the photo: its position is shared with the program, which may be reading it. Then the socket to the program.
static int allow_photos(scmp_filter_ctx filter) {
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), 1, SCMP_A0(SCMP_CMP_EQ, 0))
        | seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, 0));
}

// The texts come in, the pages go out, and fonts are read. Landlock has the paths: a filter cannot see them.
static int allow_pages(scmp_filter_ctx filter) {
    static const int calls[] = {SCMP_SYS(read), SCMP_SYS(lseek)};
    // Others would have the kernel send signals, or change the program's descriptors.
    static const int commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC};
    int failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, 1));
    // cairo asks it of a font in each new size.
    failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(access), 1, SCMP_A1(SCMP_CMP_EQ, R_OK));
    failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(faccessat), 1, SCMP_A2(SCMP_CMP_EQ, R_OK));
    if (!has_allowed_paths) return failed | seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(read), 1, SCMP_A0(SCMP_CMP_EQ, 0));
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++)
        failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[index], 0);
    for (size_t index = 0; index < sizeof commands / sizeof *commands; index++)
        failed |= seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)commands[index]));
    // As glibc calls it for fstat. It could ask for another path all the same.
    failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
    const int changes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
    return failed
        | seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, (unsigned)changes, O_RDONLY));
}

// No library tries these by itself: who does is at work on a hole. Everything else that is not allowed fails with EPERM, since libraries may
// try it and go without (openat of a file with locales).
static int kill_on_calls(scmp_filter_ctx filter) {
    static const int calls[] = {
        SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect),
        SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
        SCMP_SYS(process_vm_writev), SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(pidfd_open),
        SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
        SCMP_SYS(setns), SCMP_SYS(unshare), SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(io_uring_setup),
        SCMP_SYS(io_uring_enter), SCMP_SYS(userfaultfd), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
        SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(kexec_load), SCMP_SYS(reboot), SCMP_SYS(open_by_handle_at),
        SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(capset), SCMP_SYS(personality),
    };
    int failed = 0;
    for (size_t index = 0; index < sizeof calls / sizeof *calls; index++)
        failed |= seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, calls[index], 0);
    return failed;
}

static const char *load_filter(int (*allow_more)(scmp_filter_ctx)) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (filter == NULL) return "seccomp_init failed";
    const char *problem = NULL;
    // For threads too that the libraries have started. A call of another architecture has other numbers.
    if (seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) != 0
        || seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0)
        problem = "the kernel lacks a part of seccomp";
    else if (allow_calls(filter) != 0 || allow_more(filter) != 0 || kill_on_calls(filter) != 0)
        problem = "a rule of seccomp was refused";
    else if (seccomp_load(filter) != 0) problem = "the kernel does not take a filter of system calls (seccomp)";
    seccomp_release(filter);
    return problem;
}

// Decoders take far less; a hostile photo that claims more fails to get it.
enum { memory_limit = 2 };

static const char *limit_resources(rlim_t descriptors, rlim_t processor_seconds) {
    if (limit(RLIMIT_AS, (rlim_t)memory_limit << 30) != 0) return "the memory cannot be limited";
    if (limit(RLIMIT_CORE, 0) != 0 || limit(RLIMIT_NOFILE, descriptors) != 0 || limit(RLIMIT_CPU, processor_seconds) != 0)
        return "setrlimit failed";
    // What libraries and the lookup of users have kept open. It can be read, so it must not be there.
    syscall(436 /* close_range */, 3, ~0U, 0);
    return NULL;
}

const char *cmedia_enter_sandbox(void) {
    if (limit(RLIMIT_FSIZE, 0) != 0) return "setrlimit failed";
    const char *problem = limit_resources(32, processor_limit);
    if (problem != NULL) return problem;
    cmedia_allow_paths(NULL, 0);
    return load_filter(allow_photos);
}

const char *cmedia_enter_page_sandbox(void) {
    // The descriptor 1 is all that can be written to. A pipe may be closed, and a file may reach its limit: both are errors of the call.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    const char *problem = limit_resources(64, page_processor_limit);
    return problem != NULL ? problem : load_filter(allow_pages);
}

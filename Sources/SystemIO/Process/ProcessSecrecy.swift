import CLinux
import Glibc

/// Keeps a process's memory from other processes of the same user, and from the disk.
public enum ProcessSecrecy {
    /// Call it before a password or a key enters memory. From then on the kernel writes no core file of this process, with any collection mechanism.
    /// Only root may read its memory, trace it, or read its `/proc/PID/environ` and `/proc/PID/fd`.
    ///
    /// `madvise(MADV_DONTDUMP)` on the keys alone would not be enough: the ciphers derive their own tables from them, in OpenSSL's memory. A child program
    /// can be inspected again until it calls this itself.
    ///
    /// A crash report shows no memory either: where a Swift toolchain is installed, the runtime would otherwise write the memory that registers point at to
    /// standard error, which is a mount's log.
    public static func begin() {
        // Neither can fail for the calling process.
        _ = backupfs_forbid_dumps()
        _ = backupfs_forbid_core_files()
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
    }
}

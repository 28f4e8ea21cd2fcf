import CLinux
import Glibc

/// Keeps what a process has in its memory from other processes of the same user, and from the disk.
public enum ProcessSecrecy {
    /// Called before a password or a key comes into memory. From then on the kernel writes no core file of this process, in whatever way the system
    /// collects them, and nobody but root may look into its memory, trace it, or read its `/proc/PID/environ` and `/proc/PID/fd`.
    ///
    /// Not done with `madvise(MADV_DONTDUMP)` for the keys alone: the ciphers' own tables are made of them, in memory that is OpenSSL's. A program
    /// that is started by this one can be looked into again, until it calls this itself.
    ///
    /// Nor is anything of it told when the program crashes: where a Swift toolchain is installed, the runtime would write what registers point at to
    /// standard error, which is the log of a mount.
    public static func begin() {
        // Neither can fail for one's own process.
        _ = backupfs_forbid_dumps()
        _ = backupfs_forbid_core_files()
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
    }
}

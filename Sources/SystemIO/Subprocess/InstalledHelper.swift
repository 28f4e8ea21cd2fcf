import BackupCore
import Glibc

/// Programs that are installed with this one and that it starts: beside it, or in `../libexec/backupfs`. Neither `PATH` nor a
/// variable can lead to another program.
public enum InstalledHelper {
    /// - Returns: `nil` when the program is not installed, or another user can have put it there: it starts with this user's
    ///   rights, and this program may lie in `/tmp`.
    public static func path(of name: String) -> String? {
        guard let own = FileSystem.linkTarget("/proc/self/exe") else { return nil }
        let folder = FileSystem.parentPath(own)
        return ["\(folder)/\(name)", "\(FileSystem.parentPath(folder))/libexec/backupfs/\(name)"].first {
            access($0, X_OK) == 0 && isTrusted($0) && isTrusted(FileSystem.parentPath($0))
        }
    }

    private static func isTrusted(_ path: String) -> Bool {
        guard let status = FileSystem.statusIfPresent(path) else { return false }
        return (status.owner == 0 || status.owner == geteuid()) && status.mode & 0o002 == 0
    }

    /// Becomes such a program, execve(2). All other threads of this one end.
    /// - Parameter variables: `NAME=value`, besides those of the environment that other programs get.
    /// - Throws: when it does not start.
    public static func become(_ path: String, _ arguments: [String], adding variables: [String]) throws(BackupError) -> Never {
        // Signals that this program has taken over or holds back are those of the other one again.
        var none = sigset_t()
        sigemptyset(&none)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGXFSZ] { signal(number, SIG_DFL) }
        pthread_sigmask(SIG_SETMASK, &none, nil)
        let environment = Subprocess.environmentForOthers() + variables
        // The pointers live as long as the process: either it is another program then, or it ends.
        var argumentPointers = arguments.map { strdup($0) } + [nil]
        var variablePointers = environment.map { strdup($0) } + [nil]
        execve(path, &argumentPointers, &variablePointers)
        throw SystemCall.error(errno, action: "start the program", path: path)
    }
}

import CLinux
import Glibc

/// What posix_spawn(3) can do on Linux beyond POSIX.
public enum SpawnExtensions {
    /// A flag of posix_spawnattr_setflags(3): the started program leads a new session, without a terminal.
    public static let newSession = Int32(backupfs_spawn_setsid)

    /// The started program blocks and ignores no signal, whatever the thread that starts it does.
    public static func resetSignals(in attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
    }

    /// Flags of posix_spawnattr_setflags(3) that `resetSignals` needs.
    public static let resettingSignals = Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)

    /// Where the started program begins.
    public static func changeFolder(to path: String, in actions: inout posix_spawn_file_actions_t) {
        _ = backupfs_spawn_change_folder(&actions, path)
    }

    /// The started program leads a process group of its own, by which all that it starts can be ended, and blocks and ignores no signal.
    public static func leadGroup(in attributes: inout posix_spawnattr_t) {
        resetSignals(in: &attributes)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(resettingSignals | Int32(POSIX_SPAWN_SETPGROUP)))
    }

    /// The started program gets no descriptor from `first` on.
    public static func closeDescriptors(from first: Int32, in actions: inout posix_spawn_file_actions_t) {
        backupfs_spawn_close_from(&actions, first)
    }
}

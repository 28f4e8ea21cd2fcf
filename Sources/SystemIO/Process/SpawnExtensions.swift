import CLinux
import Glibc

/// Linux extensions of posix_spawn(3).
public enum SpawnExtensions {
    /// A flag of posix_spawnattr_setflags(3): the started program leads a new session, without a terminal.
    public static let newSession = Int32(backupfs_spawn_setsid)

    /// The child blocks and ignores no signal, regardless of the starting thread.
    public static func resetSignals(in attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
    }

    /// Flags of posix_spawnattr_setflags(3) that `resetSignals` needs.
    public static let resettingSignals = Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)

    /// The working directory of the child.
    public static func changeFolder(to path: String, in actions: inout posix_spawn_file_actions_t) {
        _ = backupfs_spawn_change_folder(&actions, path)
    }

    /// The child leads its own process group, through which all its descendants can be ended, and blocks and ignores no signal.
    public static func leadGroup(in attributes: inout posix_spawnattr_t) {
        resetSignals(in: &attributes)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(resettingSignals | Int32(POSIX_SPAWN_SETPGROUP)))
    }

    /// The child gets no descriptor from `first` on.
    public static func closeDescriptors(from first: Int32, in actions: inout posix_spawn_file_actions_t) {
        backupfs_spawn_close_from(&actions, first)
    }
}

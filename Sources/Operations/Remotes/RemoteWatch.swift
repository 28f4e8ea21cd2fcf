import BackupCore
import Synchronization
import SystemIO

/// Notices while a sync runs that its remote was taken out of the settings, or has another place there now.
final class RemoteWatch: Sendable {
    private struct State {
        /// Of the settings when they were last read.
        var version: FileStatus?
        var isGone = false
        /// While a thread reads the settings.
        var isLooking = false
    }

    private let path: String
    private let remote: RemoteSettings
    private let state = Mutex(State())

    init(_ remote: RemoteSettings, in paths: StorePaths) {
        path = paths.settings
        self.remote = remote
    }

    /// As of the last look.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// Reads the settings if they have changed. Of several threads, one does: the disk may not answer.
    /// - Returns: whether the remote is gone. Settings that cannot be read, or are cut off, are no reason to end an upload.
    func look() -> Bool {
        let (isFree, known) = state.withLock { state in
            defer { state.isLooking = true }
            return (!state.isLooking && !state.isGone, state.version)
        }
        guard isFree else { return isGone }
        var (version, isThere) = (known, true)
        if let now = FileSystem.statusIfPresent(path), now != known, let read = try? StoreSettings.read(path), read.hasEnd {
            version = now
            isThere = read.remotes.contains { $0.name == remote.name && $0.url == remote.url }
        }
        return state.withLock { state in
            state.isLooking = false
            state.version = version
            if !isThere { state.isGone = true }
            return state.isGone
        }
    }

    /// What a sync says that was ended for this.
    func explaining(_ error: BackupError) -> BackupError {
        guard error.code == .interrupted, isGone else { return error }
        return error.with(
            nil, "the remote “\(remote.name)” was removed from the settings during the upload", path: path,
            remedy: "What was uploaded stays there. An upload goes on when the remote is added again.")
    }
}

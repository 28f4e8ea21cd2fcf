import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// What a store keeps of a remote: the folder `remotes/NAME` in it. All of it may be lost: it is then found out again.
struct RemoteFiles: Sendable {
    private static let mirrorLimitBytes = 64 << 20

    let folder: String

    /// - Parameter name: of the remote.
    init(_ paths: StorePaths, remote name: String) { folder = paths.remote(name) }

    /// `RemoteState`
    var state: String { "\(folder)/state.json" }
    /// `MirrorState`
    var mirror: String { "\(folder)/mirror" }
    /// What was read of the remote's batches of indexes.
    var indexes: String { "\(folder)/indexes" }
    /// Held by the process that uploads to the remote.
    var lockPath: String { "\(folder)/lock" }

    /// - Throws: `busy` while another process, or another thread of this one, uploads to this remote.
    func lock(_ name: String) throws(BackupError) -> AdvisoryLock {
        try FileSystem.makeDirectories(folder)
        let lock: AdvisoryLock
        do throws(BackupError) {
            lock = try AdvisoryLock(path: lockPath)
        } catch {
            guard error.code == .busy else { throw error }
            throw error.with(nil, "another sync of the remote “\(name)” is running")
        }
        // Of a holder that was killed.
        let drafts = try? FileSystem.drafts(of: [state, mirror].map(FileSystem.lastComponent), in: folder)
        for draft in drafts ?? [] { _ = try? FileSystem.removeFile(draft) }
        return lock
    }

    /// Waits until no process uploads to this remote.
    /// - Returns: `nil` if one still does after the time, and if nothing is kept of the remote.
    func lock(forSeconds limit: UInt64) throws(BackupError) -> AdvisoryLock? {
        guard try FileSystem.exists(lockPath) else { return nil }
        let end = SystemClock.monotonicNanoseconds() + limit * 1_000_000_000
        while true {
            do throws(BackupError) {
                return try AdvisoryLock(path: lockPath)
            } catch {
                guard error.code == .busy else { throw error }
                guard SystemClock.monotonicNanoseconds() < end else { return nil }
            }
            usleep(20_000)
            try Cancellation.check()
        }
    }

    /// Whether any process uploads to this remote now.
    var isUploading: Bool { (try? AdvisoryLock.isHeld(path: lockPath)) == true }

    /// For the holder of the lock.
    func readMirrorState() -> MirrorState {
        // Without it, an update needs a few requests more.
        (try? FileSystem.readFile(mirror, limitBytes: Self.mirrorLimitBytes)).map { MirrorState(decoding: $0) } ?? MirrorState()
    }

    /// For the holder of the lock.
    /// - Parameter isDurable: whether to wait for the disk. A lost state costs requests; where backups are removed from the
    ///   remote, labels that are unknown after a power cut count as those of another program, which must not be replaced.
    func write(_ state: MirrorState, isDurable: Bool) {
        if isDurable { try? FileSystem.writeFileAtomically(mirror, state.encoded) }
        if !isDurable { try? FileSystem.writeForReaders(mirror, state.encoded) }
    }
}

extension Store {
    /// Keeps syncs of this store away from the remote whose copy is changed; `nil` for the store's own repository.
    /// - Throws: `busy`.
    func lockRemote() throws(BackupError) -> AdvisoryLock? {
        guard let remoteName else { return nil }
        return try LockTimeout.waiting { () throws(BackupError) in
            try RemoteFiles(paths, remote: remoteName).lock(remoteName)
        }
    }
}

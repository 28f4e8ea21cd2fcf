import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// Looks what is in a remote while the backup is made that will be uploaded to it, so that the upload does not wait for that. It
/// changes nothing there.
public final class RemoteLookAhead: Sendable {
    private struct Found: Sendable {
        let storage: any ObjectStorage
        let look: Result<MirrorLook, BackupError>
        let endNanoseconds: UInt64
    }

    /// For how long a failure counts: another attempt would only take its time limit once more.
    private static let failureNanoseconds: UInt64 = 10_000_000_000

    private let remote: RemoteSettings
    /// The status of the file with the state of the remote: each sync of this machine writes it, when it begins and when it ends.
    private let stateFile: FileStatus?
    private let cancellation: Cancellation
    private let deadlineNanoseconds = SystemClock.bootNanoseconds() + MirrorLook.freshNanoseconds
    private let step: BackgroundStep<Found>

    /// Begins to look.
    /// - Returns: `nil` for a folder, where it would save no time, and for a server of which it is not known yet what it can do.
    public init?(_ remote: RemoteSettings, in paths: StorePaths) {
        guard remote.isOnServer, remote.knownCapabilities(in: paths) != nil else { return nil }
        self.remote = remote
        stateFile = FileSystem.statusIfPresent(RemoteFiles(paths, remote: remote.name).state)
        let cancellation = Cancellation()
        self.cancellation = cancellation
        step = BackgroundStep(of: cancellation) { () throws(BackupError) in
            let storage = try remote.open(in: paths)
            let look: Result<MirrorLook, BackupError>
            do throws(BackupError) {
                look = .success(try RepositoryMirror.look(at: storage))
            } catch {
                look = .failure(error)
            }
            return Found(storage: storage, look: look, endNanoseconds: SystemClock.bootNanoseconds())
        }
    }

    deinit { cancellation.request() }

    /// Waits for the end of the look.
    /// - Parameter stateFile: the status of the file with the state of the remote, before the sync writes it.
    /// - Returns: what was found, and the connected storage; `nil` when that is of no use: after another sync of this machine,
    ///   what it has uploaded would be uploaded again.
    /// - Throws: `offline` when the server did not answer just before; `interrupted`.
    func found(
        for remote: RemoteSettings, _ stateFile: FileStatus?
    ) throws(BackupError) -> (storage: any ObjectStorage, look: MirrorLook)? {
        guard remote == self.remote, stateFile == self.stateFile, SystemClock.bootNanoseconds() < deadlineNanoseconds,
            case .success(let found)? = try step.resultUnlessCancelled(until: deadlineNanoseconds)
        else {
            // It is too old, or will be: what it has begun is of no use any more. Nor is its connection, whose credentials may
            // have changed meanwhile.
            cancellation.request()
            return nil
        }
        switch found.look {
        case .success(let look): return (found.storage, look)
        case .failure(let error):
            let isRecent = SystemClock.bootNanoseconds() - found.endNanoseconds < Self.failureNanoseconds
            if error.code == .offline, isRecent { throw error }
            return nil
        }
    }
}

extension AutomaticSync {
    /// Begins to look at all remotes to which a backup will be uploaded.
    public func lookAhead() -> [RemoteLookAhead] { remotes.compactMap { RemoteLookAhead($0, in: store.paths) } }
}

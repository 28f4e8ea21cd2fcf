import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// Gets the copy of a repository from a remote into a folder.
public struct RemoteFetch {
    private let storage: any ObjectStorage

    /// Sends nothing yet.
    /// - Parameter path: of the store that has the remote; `nil` for a place that no store has. Relative paths start at the
    ///   current folder then.
    /// - Throws: `usage` and `invalidArgument` for impossible settings; `offline` for a folder that is missing.
    public init(from remote: RemoteSettings, storeAt path: String?) throws(BackupError) {
        try remote.check()
        if let path {
            storage = try remote.open(in: StorePaths(root: path), isReadOnly: true)
        } else {
            storage = try remote.openWithoutStore()
        }
    }

    /// The place, without credentials.
    public var location: String { storage.location }

    /// Fetches what is missing; see `MirrorFetch`.
    /// - Parameter folder: a missing or empty one, or one that an interrupted fetch from the same place left.
    public func run(to folder: String, progress: ProgressHandler? = nil) throws(BackupError) -> MirrorFetch.Summary {
        try MirrorFetch(from: storage, to: folder).run(progress: progress)
    }
}

import BackupCore
import BackupRepository
import Formats
import SystemIO

/// A remote in a status: from the store's own files, without a request.
public struct RemoteStatus: JSONConvertible, Sendable {
    /// The raw value is its name in JSON.
    public enum State: String, Sendable, CaseIterable {
        /// No sync has ended well yet, and none has failed.
        case never
        /// Backups were made since the last sync.
        case pending
        case upToDate
        /// A process uploads to it now.
        case uploading
        /// A sync has failed, or did not come to its end.
        case pendingRetry
    }

    /// As in the settings.
    public let name: String
    /// What users call it.
    public let label: String
    /// Without credentials.
    public let url: String
    public let state: State
    /// When the last complete sync ended.
    public let lastSync: Timestamp?
    /// The store's backups that are not known to be there.
    public let pendingSnapshotCount: Int
    /// Backups that were there after the last sync.
    public let snapshotCount: Int?
    /// How many syncs have failed in a row.
    public let failureCount: Int
    /// When an automatic sync is tried again.
    public let retryAt: Timestamp?
    /// `nil` after a sync that ended well.
    public let failure: RemoteState.Failure?
    /// How many backups a sync has removed there, the last time that one has removed any.
    public let removedCount: Int?
    /// When that was.
    public let removedAt: Timestamp?
    /// Why the last sync has removed nothing although rules say so, or has freed no space.
    public let notice: RemoteState.Failure?

    /// - Parameter own: the store's own backups.
    init(_ remote: RemoteSettings, _ paths: StorePaths, own: [Snapshot], source: SourceID) {
        let files = RemoteFiles(paths, remote: remote.name)
        let known = RemoteState.read(files.state, url: remote.url)
        name = remote.name
        label = remote.shownLabel
        url = remote.url
        lastSync = known.syncedAt
        pendingSnapshotCount = known.pending(own, source: source).count
        snapshotCount = known.snapshotCount
        failureCount = known.failureCount
        retryAt = known.isPendingRetry && remote.isAutomatic ? known.retryAt : nil
        failure = known.failure
        removedCount = known.removedCount
        removedAt = known.removedAt
        notice = known.notice
        if files.isUploading {
            state = .uploading
        } else if known.isPendingRetry {
            state = .pendingRetry
        } else if known.syncedAt == nil {
            state = .never
        } else {
            state = pendingSnapshotCount > 0 ? .pending : .upToDate
        }
    }

    public var json: OrderedJSON {
        [
            "name": name, "label": label, "url": url, "state": state.rawValue, "lastSync": lastSync,
            "pendingSnapshots": pendingSnapshotCount, "snapshotCount": snapshotCount, "failureCount": failureCount,
            "retryAt": retryAt, "lastError": failure.map(Self.json), "removedSnapshots": removedCount, "lastRemoval": removedAt,
            "notice": notice.map(Self.json),
        ]
    }

    private static func json(_ failure: RemoteState.Failure) -> OrderedJSON {
        ["at": failure.at, "code": failure.code.rawValue, "message": failure.message]
    }
}

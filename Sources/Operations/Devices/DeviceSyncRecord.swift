import BackupCore
import DeviceSync
import Formats
import SystemIO

/// What a store keeps for the exchange with other devices: the folder `device-sync` in it.
struct DeviceSyncFiles: Sendable {
    let folder: String

    init(_ paths: StorePaths) { folder = paths.deviceSync }

    /// `DeviceState`
    var state: String { "\(folder)/state.sqlite" }
    /// `ConflictFiles`
    var conflicts: String { "\(folder)/conflicts" }
    /// `DeviceSyncRecord`
    var record: String { "\(folder)/status.json" }
    /// Held by the process that exchanges changes now.
    var lockPath: String { "\(folder)/lock" }

    /// - Throws: `busy` while another process, or another thread of this one, exchanges changes.
    func lock() throws(BackupError) -> AdvisoryLock {
        try FileSystem.makeDirectories(folder)
        do throws(BackupError) {
            let lock = try AdvisoryLock(path: lockPath)
            // Of a holder that was killed.
            for draft in (try? FileSystem.drafts(of: [FileSystem.lastComponent(record)], in: folder)) ?? [] {
                _ = try? FileSystem.removeFile(draft)
            }
            return lock
        } catch {
            guard error.code == .busy else { throw error }
            throw error.with(nil, "changes are being exchanged with other devices now")
        }
    }
}

/// The result of the last exchange with other devices, for statuses: one flat JSON object. A lost or damaged one is as none.
struct DeviceSyncRecord: Sendable, Equatable {
    private static let version = 1
    private static let limitBytes = 1 << 16

    /// Changes that are not uploaded.
    var queuedCount = 0
    /// Changes that were uploaded so far.
    var uploadedCount = 0
    /// Deletions that wait for the user.
    var waitingDeletionCount = 0
    /// When the logs of the other devices were last read.
    var lastFetch: Timestamp?
    /// Why the last exchange failed, or what of it did; `nil` when it ended well.
    var failure: RemoteState.Failure?

    init() {}

    static func read(_ path: String) -> DeviceSyncRecord {
        (try? FileSystem.readFile(path, limitBytes: limitBytes)).flatMap { DeviceSyncRecord(decoding: $0) } ?? DeviceSyncRecord()
    }

    private init?(decoding bytes: [UInt8]) {
        let members = JSONMembers(bytes)
        guard members.isFlat, members.number("version") == Self.version else { return nil }
        queuedCount = max(0, members.number("queued") ?? 0)
        uploadedCount = max(0, members.number("uploaded") ?? 0)
        waitingDeletionCount = max(0, members.number("waitingDeletions") ?? 0)
        lastFetch = members.time("lastFetch")
        if let code: BackupError.Code = members.word("errorCode"), let at = members.time("errorAt") {
            failure = RemoteState.Failure(code: code, message: members.text("errorMessage") ?? "", at: at)
        }
    }

    mutating func note(_ summary: DeviceState.Summary) {
        queuedCount = summary.queuedCount
        uploadedCount = summary.uploadedCount
        waitingDeletionCount = summary.waitingDeletionCount
        lastFetch = summary.lastFetch
    }

    mutating func note(_ error: BackupError?, at now: Timestamp) {
        failure = error.map { RemoteState.Failure(code: $0.code, message: $0.summary.english, at: now.wholeSeconds) }
    }

    func write(to path: String) throws(BackupError) {
        let json: OrderedJSON = [
            "version": Self.version, "queued": queuedCount, "uploaded": uploadedCount, "waitingDeletions": waitingDeletionCount,
            "lastFetch": lastFetch, "errorCode": failure?.code.rawValue, "errorMessage": failure?.message, "errorAt": failure?.at,
        ]
        try FileSystem.writeFileAtomically(path, json.prettyText)
    }
}

/// The exchange with other devices in a status: from the store's own files, without a request.
public struct DeviceSyncStatus: JSONConvertible, Sendable {
    /// As in the settings.
    public let remote: String
    /// Changes that are not uploaded.
    public let queuedCount: Int
    /// Changes that were uploaded so far.
    public let uploadedCount: Int
    /// When the logs of the other devices were last read.
    public let lastFetch: Timestamp?
    /// Files with values that lost.
    public let conflictCount: Int
    /// Where they are.
    public let conflictFolder: String
    /// Deletions that wait for the user.
    public let waitingDeletionCount: Int
    /// Why the last exchange failed; `nil` when it ended well.
    public let failure: RemoteState.Failure?

    /// - Returns: `nil` for a store whose settings name no remote for it.
    init?(_ store: Store) {
        guard let remote = store.settings.deviceSyncRemote else { return nil }
        let files = DeviceSyncFiles(store.paths)
        let record = DeviceSyncRecord.read(files.record)
        self.remote = remote
        queuedCount = record.queuedCount
        uploadedCount = record.uploadedCount
        lastFetch = record.lastFetch
        conflictFolder = files.conflicts
        conflictCount = ConflictFiles.count(in: files.conflicts)
        waitingDeletionCount = record.waitingDeletionCount
        failure = record.failure
    }

    public var json: OrderedJSON {
        [
            "remote": remote, "queued": queuedCount, "uploaded": uploadedCount, "lastFetch": lastFetch,
            "conflicts": conflictCount, "waitingDeletions": waitingDeletionCount,
            "error": failure.map { failure -> OrderedJSON in
                ["at": failure.at, "code": failure.code.rawValue, "message": failure.message]
            },
        ]
    }
}

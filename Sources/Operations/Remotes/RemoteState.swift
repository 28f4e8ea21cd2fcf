import BackupCore
import BackupRepository
import Formats
import SystemIO

/// What a store knows of a remote since the last sync: `remotes/NAME/state.json`, one flat JSON object. A lost or damaged file,
/// one of a later version, and one about another place than the settings name now, is a remote of which nothing is known.
public struct RemoteState: Sendable, Equatable {
    /// Why the last sync failed.
    public struct Failure: Sendable, Equatable {
        public let code: BackupError.Code
        /// In English, with what to do next.
        public let message: String
        /// When that sync ended.
        public let at: Timestamp
    }

    private static let version = 1
    private static let limitBytes = 1 << 16
    static let firstRetrySeconds: Int64 = 60
    static let longestRetrySeconds: Int64 = 3_600

    /// The place that it is about: a remote may have moved since.
    let url: String
    /// When the last complete sync ended.
    public private(set) var syncedAt: Timestamp?
    /// The position of the store's newest backup at the start of that sync.
    private(set) var position: SyncedPosition?
    /// Backups in the mirror after that sync.
    public private(set) var snapshotCount: Int?
    /// Of the last sync that ended well.
    public private(set) var uploadedBytes: UInt64?
    /// `nil` after a sync that ended well.
    public private(set) var failure: Failure?
    /// How many backups a sync has removed there, the last time that one has removed any.
    public private(set) var removedCount: Int?
    /// When that was.
    public private(set) var removedAt: Timestamp?
    /// Why the last sync has removed nothing although rules say so, or has freed no space. The upload was complete all the same.
    public private(set) var notice: Failure?
    /// Whether a sync has begun and not ended well since. It is set before the first request, so that a crash leaves it.
    public private(set) var isPendingRetry = false
    /// How many syncs have failed in a row.
    public private(set) var failureCount = 0
    /// When a sync that failed is retried; `nil` for at once.
    public private(set) var retryAt: Timestamp?

    public init(url: String) { self.url = url }
}

/// A place in a store's line of backups. Unlike a time, it does not depend on the clock.
struct SyncedPosition: Sendable, Equatable {
    let source: SourceID
    /// All backups of the line up to this one are in the mirror.
    let sequence: UInt64

    /// Where a store's line ends.
    init(endOf own: [Snapshot], source: SourceID) {
        self.source = source
        sequence = own.map(\.sequence).max() ?? 0
    }

    fileprivate init(source: SourceID, sequence: UInt64) {
        self.source = source
        self.sequence = sequence
    }
}

// MARK: - What happens

extension RemoteState {
    /// A sync begins.
    mutating func noteBeginning() { isPendingRetry = true }

    /// A sync has ended, and the mirror is complete.
    mutating func noteSuccess(_ summary: RepositoryMirror.Summary, position: SyncedPosition, at now: Timestamp) {
        let (removedCount, removedAt, notice) = (removedCount, removedAt, notice)
        self = RemoteState(url: url)
        (self.removedCount, self.removedAt, self.notice) = (removedCount, removedAt, notice)
        syncedAt = now.wholeSeconds
        self.position = position
        snapshotCount = summary.snapshotCount
        uploadedBytes = summary.uploadedBytes
    }

    /// What a sync has removed, or why not.
    mutating func note(_ removed: Int, _ notice: BackupError?, at now: Timestamp) {
        self.notice = notice.map { Self.failure($0, at: now) }
        guard removed > 0 else { return }
        (removedCount, removedAt) = (removed, now.wholeSeconds)
    }

    private static func failure(_ error: BackupError, at now: Timestamp) -> Failure {
        let text = [error.message, error.remedy].compactMap { $0?.english }.joined(separator: " ")
        return Failure(code: error.code, message: text, at: now.wholeSeconds)
    }

    /// A sync has ended without success; the next one goes on where it ended.
    mutating func note(_ error: BackupError, at now: Timestamp) {
        isPendingRetry = true
        guard error.code != .interrupted else {
            // It was not the remote's fault.
            retryAt = nil
            return
        }
        failureCount = min(failureCount.addingSaturating(1), Int(Int32.max))
        let delay = min(Self.firstRetrySeconds << Int64(min(failureCount - 1, 10)), Self.longestRetrySeconds)
        retryAt = now.adding(seconds: delay).wholeSeconds
        failure = Self.failure(error, at: now)
    }

    /// Whether an automatic sync should begin now.
    /// - Parameters:
    ///   - hasNewBackups: whether the store has backups that are not known to be in the mirror.
    ///   - isStart: whether a process has just started, which retries at once.
    func isDue(at now: Timestamp, hasNewBackups: Bool, isStart: Bool) -> Bool {
        guard isPendingRetry, failureCount > 0, !isStart, let retryAt else { return isPendingRetry || hasNewBackups }
        // No wait is longer: the clock was ahead when this one was written.
        return retryAt <= now || retryAt.secondsSince(now) > Self.longestRetrySeconds
    }

    /// Those of a store's own backups that are not known to be in the mirror.
    func pending(_ own: [Snapshot], source: SourceID) -> [Snapshot] {
        guard let position, position.source == source else { return own }
        return own.filter { $0.sequence > position.sequence }
    }
}

// MARK: - The file

extension RemoteState {
    /// - Returns: an empty state where nothing is known of this place.
    static func read(_ path: String, url: String) -> RemoteState {
        let known = (try? FileSystem.readFile(path, limitBytes: limitBytes)).flatMap { RemoteState(decoding: $0) }
        guard let known, known.url == url else { return RemoteState(url: url) }
        return known
    }

    init?(decoding bytes: [UInt8]) {
        let members = JSONMembers(bytes)
        guard members.isFlat, members.number("version") == Self.version, let url = members.text("url") else { return nil }
        self.url = url
        syncedAt = members.time("syncedAt")
        if let source = members.text("source").flatMap({ SourceID(hexadecimal: $0) }),
            let sequence: UInt64 = members.number("sequence")
        {
            position = SyncedPosition(source: source, sequence: sequence)
        }
        snapshotCount = members.number("snapshotCount").map { (count: Int) in max(0, count) }
        uploadedBytes = members.number("uploadedBytes")
        isPendingRetry = members.flag("pendingRetry")
        failureCount = max(0, members.number("failureCount") ?? 0)
        retryAt = members.time("retryAt")
        if let code: BackupError.Code = members.word("errorCode"), let at = members.time("errorAt") {
            failure = Failure(code: code, message: members.text("errorMessage") ?? "", at: at)
        }
        removedCount = members.number("removedCount").map { (count: Int) in max(0, count) }
        removedAt = members.time("removedAt")
        if let code: BackupError.Code = members.word("noticeCode"), let at = members.time("noticeAt") {
            notice = Failure(code: code, message: members.text("noticeMessage") ?? "", at: at)
        }
    }

    private var json: OrderedJSON {
        [
            "version": Self.version, "url": url, "syncedAt": syncedAt, "source": position?.source.hexadecimal,
            "sequence": position?.sequence, "snapshotCount": snapshotCount, "uploadedBytes": uploadedBytes,
            "pendingRetry": isPendingRetry, "failureCount": failureCount, "retryAt": retryAt,
            "errorCode": failure?.code.rawValue, "errorMessage": failure?.message, "errorAt": failure?.at,
            "removedCount": removedCount, "removedAt": removedAt, "noticeCode": notice?.code.rawValue,
            "noticeMessage": notice?.message, "noticeAt": notice?.at,
        ]
    }

    /// - Parameter isDurable: whether to wait for the disk; without it, a power cut may leave the earlier state, or none.
    func write(to path: String, isDurable: Bool = true) throws(BackupError) {
        if isDurable { return try FileSystem.writeFileAtomically(path, json.prettyText) }
        try FileSystem.writeForReaders(path, json.prettyText)
    }
}

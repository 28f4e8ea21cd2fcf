import BackupCore
import ObjectStorage
import Synchronization
import SystemIO

/// Refreshes one cache, one process at a time.
final class RemoteRefresher: Sendable {
    private let storage: any ObjectStorage
    private let layout: RepositoryLayout
    private let cache: PackCache
    private let folder: String
    private let verified = VerifiedFiles()
    /// The batches of indexes in the cache.
    let batches: IndexBatchFolder
    let versions: CachedVersions
    private let lastListing = Mutex<Listing?>(nil)
    private let search = Monitor(Search())
    private let useless = Mutex<Set<IndexBatchID>>([])
    private let lastAttempt = Mutex<UInt64?>(nil)

    /// Of a thread that lists packs for all that miss one.
    private struct Search {
        var isRunning = false
        /// How many have ended.
        var count = 0
        /// Of the last one, and until when it counts for all: each attempt may take its time limit.
        var failure: BackupError?
        var failureEnd: UInt64 = 0
    }

    /// A listing of all packs.
    private struct Listing {
        let end: UInt64
        /// Of the folder with the records.
        let snapshots: FolderVersion
    }

    /// For how long a failure counts.
    private static let failureNanoseconds: UInt64 = 5_000_000_000

    /// For how long a listing of all packs counts when something was not found.
    private static let listingNanoseconds: UInt64 = 10_000_000_000

    /// - Parameters:
    ///   - layout: of the cached repository's folder.
    ///   - folder: of the cache.
    init(_ storage: any ObjectStorage, _ layout: RepositoryLayout, _ cache: PackCache, folder: String) {
        self.storage = storage
        self.layout = layout
        self.cache = cache
        self.folder = folder
        batches = IndexBatchFolder(layout)
        versions = CachedVersions(folder: folder)
    }

    /// When the last refresh of this process ended or failed, by the monotonic clock; `nil` before the first one.
    var lastAttemptNanoseconds: UInt64? { lastAttempt.withLock { $0 } }

    /// The batches of indexes in the storage that are damaged, or whose contents are in others, as this process last listed them.
    var uselessBatches: Set<IndexBatchID> { useless.withLock { $0 } }

    private var lockPath: String { "\(folder)/lock" }

    /// How long a refresh waits for one of another process.
    enum Waiting {
        /// Another one does the work.
        case not
        /// For a program that only reads: it can show what is known.
        case briefly
        /// For a program that changes something, and has to know the newest state.
        case untilDone
    }

    /// - Parameters:
    ///   - other: the same storage with other time limits.
    ///   - waiting: for another process, which may transfer a lot.
    /// - Throws: as `RemoteRefresh.run`; `busy`.
    func run(
        _ scope: RefreshScope, through other: (any ObjectStorage)? = nil, waiting: Waiting = .briefly,
        progress: ProgressHandler? = nil
    ) throws(BackupError) {
        defer { lastAttempt.withLock { $0 = SystemClock.monotonicNanoseconds() } }
        // The cache can be removed at any time.
        try cache.makeFolders()
        let lock = try acquireLock(waiting)
        defer { withExtendedLifetime(lock) {} }
        let found = try RemoteRefresh(
            storage: other ?? storage, other: other == nil ? nil : storage, layout: layout, cache: cache, versions: versions,
            verified: verified, batches: batches,
            progress: progress
        ).run(scope)
        useless.withLock { $0 = found }
        guard scope != .records else { return }
        let snapshots = try FolderVersion(path: layout.snapshots)
        lastListing.withLock { $0 = Listing(end: SystemClock.monotonicNanoseconds(), snapshots: snapshots) }
    }

    /// Whether the storage has the configuration and the key that are in the cache: it is the same repository then, with the same
    /// password. What is new in it is not asked for.
    /// - Throws: errors of the storage and of the disk.
    func isSame() throws(BackupError) -> Bool {
        // A refresh that was interrupted may have left files of two states, or only some.
        guard let reading = try? ConfigurationFiles(layout: layout).read(), reading.damage == nil else { return false }
        var expected: [MirrorObject: [UInt8]] = [.configuration: reading.bytes]
        if reading.configuration.isEncrypted {
            let limit = MirrorObject.key.byteCountLimit
            guard let key = try FileSystem.readFileIfPresent(layout.key, limitBytes: limit) else { return false }
            expected[.key] = key
        }
        for (object, cached) in expected {
            let limit = object.byteCountLimit
            do throws(BackupError) {
                guard try storage.contents(of: object.name, limitBytes: limit)?.bytes == cached else { return false }
            } catch {
                guard error.code == .tooLarge else { throw error }
                return false
            }
        }
        cache.transfers.noteOnline()
        return true
    }

    /// Lists all packs, after something was not found in those that are known, unless that has just been done, and no record has
    /// come since: what is lost is asked for again and again. Of several threads, one does it for all.
    /// - Returns: whether it was done.
    /// - Throws: as `run`.
    func findPacks() throws(BackupError) -> Bool {
        let others = search.withLock { search -> Int? in
            if search.isRunning { return search.count }
            search.isRunning = true
            return nil
        }
        let recent = search.withLock { SystemClock.monotonicNanoseconds() < $0.failureEnd ? $0.failure : nil }
        if let others {
            let failure = search.wait(until: { !$0.isRunning || $0.count != others }) { $0.failure }
            if let failure { throw failure }
            return true
        }
        var failure: BackupError?
        defer {
            let result = failure
            let end = result == nil ? 0 : SystemClock.monotonicNanoseconds() + Self.failureNanoseconds
            search.changeWakingAll {
                $0 = Search(
                    isRunning: false, count: $0.count + 1, failure: result, failureEnd: recent == nil ? end : $0.failureEnd)
            }
        }
        if let recent {
            failure = recent
            throw recent
        }
        if isListed { return false }
        do throws(BackupError) {
            try run(.everything)
        } catch {
            failure = error
            throw error
        }
        return true
    }

    /// Whether all packs have just been listed, and no record has come since.
    private var isListed: Bool {
        guard let last = lastListing.withLock({ $0 }) else { return false }
        guard SystemClock.monotonicNanoseconds() < last.end + Self.listingNanoseconds else { return false }
        return last.snapshots == (try? FolderVersion(path: layout.snapshots))
    }

    private func acquireLock(_ waiting: Waiting) throws(BackupError) -> AdvisoryLock {
        if waiting == .not { return try AdvisoryLock(path: lockPath) }
        while true {
            do throws(BackupError) {
                return try WaitingLock.acquire(path: lockPath)
            } catch {
                guard error.code == .busy, waiting == .untilDone else { throw error }
            }
            try Cancellation.check()
        }
    }
}

/// Files whose bytes were compared with a checksum, by their status at that time. The disk may have lost or changed the bytes of
/// a file that was written without being synchronized.
final class VerifiedFiles: Sendable {
    private struct Known: Equatable {
        let status: FileStatus
        let sha256: SHA256Digest
    }

    private let known = Mutex<[String: Known]>([:])

    /// Whether the file has the checksum.
    /// - Parameter status: of the file, now.
    func has(_ path: String, _ status: FileStatus, _ sha256: SHA256Digest?) -> Bool {
        guard let sha256 else { return false }
        let wanted = Known(status: status, sha256: sha256)
        if known.withLock({ $0[path] }) == wanted { return true }
        guard let file = try? SharedFile(path: path), (try? file.sha256()) == sha256 else { return false }
        // One that has just changed may change again without a visible difference.
        if status.isSettled { known.withLock { $0[path] = wanted } }
        return true
    }
}

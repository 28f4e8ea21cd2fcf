import BackupCore
import Formats
import Glibc
import PhotoData
import SystemIO

/// Uploads the photos of a queue: one worker for each store, some photos at once.
///
/// A crash loses nothing: each step is in the item's file before the next one begins. What was uploaded by then is found by its
/// name, and not sent again.
public final class QueueWorker: Sendable {
    /// How a queue is worked.
    public struct Options: Sendable {
        /// Photos at once; the parts of a Live Photo count as one.
        public var parallelCount = 3
        /// Tries of one photo in one run.
        public var tryLimit = 3
        /// The wait after the first failure, which doubles with each further one.
        public var retryMilliseconds: UInt64 = 1_000
        /// How long the download of a photo that is not on this disk may take.
        public var downloadSeconds = 60.0
        /// Which photos that have failed before are tried again.
        public var retried = Retried.all
        /// The program that reads photos.
        public var helper: String? = MediaHelper.installedProgram
        /// For keys of photos without a date, and for the catalog.
        public var now: @Sendable () -> Timestamp = { SystemClock.now() }
        /// Receives each change of an item.
        public var note: (@Sendable (QueueItem) -> Void)?

        public init() {}
    }

    /// Photos that have failed before.
    public enum Retried: Sendable {
        case all
        /// Only those that the network has failed.
        case network
    }

    /// What a run has done.
    public struct Summary: Sendable {
        /// Sent to the bucket.
        public internal(set) var uploadedCount = 0
        /// In the bucket already.
        public internal(set) var presentCount = 0
        /// Of the originals that were sent.
        public internal(set) var uploadedBytes: UInt64 = 0
        /// Those that could not be uploaded, with the reasons.
        public internal(set) var failures: [(path: String, error: BackupError)] = []
        /// Why the run has ended early; the rest waits.
        public internal(set) var stop: BackupError?

        public init() {}
    }

    private struct State {
        var catalog = PhotoCatalog()
        var waiting: [[String]] = []
        /// Stars that this run has tried: those that are made meanwhile are others.
        var tried: Set<String> = []
        var hasLoaded = false
        var summary = Summary()
        var doneCount: UInt64 = 0
        var totalCount: UInt64 = 0
        var states: [String: QueueItem] = [:]
        var statusWrittenAt: UInt64 = 0
        /// The items that the catalog must get.
        var finished: [String] = []
    }

    private static let statusNanoseconds: UInt64 = 500_000_000

    private let queue: QueueFolder
    private let bucket: PhotoBucket
    private let folder: PhotoFolder
    private let options: Options
    private let progress: ProgressHandler?
    private let state = Monitor(State())

    public init(
        _ queue: QueueFolder, of folder: PhotoFolder, to bucket: PhotoBucket, options: Options = Options(),
        progress: ProgressHandler? = nil
    ) {
        self.queue = queue
        self.folder = folder
        self.bucket = bucket
        self.options = options
        self.progress = progress
    }

    /// Whether a run would do anything.
    public static func hasWork(_ queue: QueueFolder, retried: Retried) throws(BackupError) -> Bool {
        for id in try queue.queuedIDs() {
            if let item = try? queue.queuedItem(id), isDue(item, retried) { return true }
        }
        return false
    }

    private static func isDue(_ item: QueueItem, _ retried: Retried) -> Bool {
        guard case .failed(let failure) = item.stage else { return true }
        switch retried {
        case .all: return true
        case .network: return failure == .networkError
        }
    }

    /// Works until the queue is empty, but for what fails.
    /// - Throws: `busy` while another process works; `interrupted`; errors of the catalog. Photos that fail are in the summary.
    public func run() throws(BackupError) -> Summary {
        try queue.make()
        let lock: AdvisoryLock
        do throws(BackupError) {
            lock = try AdvisoryLock(path: queue.workerLock)
        } catch {
            guard error.code == .busy else { throw error }
            throw error.with(nil, "another process uploads the photos of this store")
        }
        defer { withExtendedLifetime(lock) {} }
        let hasWork = try load()
        guard hasWork || state.withLock({ !$0.finished.isEmpty || !$0.summary.failures.isEmpty }) else { return Summary() }
        do throws(BackupError) {
            let published = try bucket.catalog()
            state.withLock { $0.catalog.merge(published) }
        } catch {
            try? writeStatus(always: true)
            throw error
        }
        work()
        // What other processes have starred meanwhile: they do not wait for this one to end.
        while state.withLock({ $0.summary.stop == nil }), try load() { work() }
        defer { try? writeStatus(always: true) }
        // What was uploaded is found again by every machine, whatever has failed.
        try Cancellation.shielded { () throws(BackupError) in try publish() }
        try Cancellation.check()
        return state.withLock { $0.summary }
    }

    /// - Returns: whether there is anything to upload that was not tried yet.
    private func load() throws(BackupError) -> Bool {
        var items: [QueueItem] = []
        let (tried, isFirst) = state.withLock { state in
            defer { state.hasLoaded = true }
            return (state.tried, !state.hasLoaded)
        }
        for id in try queue.queuedIDs() {
            do throws(BackupError) {
                guard let item = try queue.queuedItem(id) else { continue }
                items.append(item)
            } catch {
                guard error.code == .damagedContent else { throw error }
                guard isFirst else { continue }
                state.withLock { $0.summary.failures.append((error.path ?? id, error)) }
            }
        }
        items.sort { ($0.queuedAt, $0.path) < ($1.queuedAt, $1.path) }
        var assets: [[String]] = []
        var taken: Set<String> = []
        let due = items.filter {
            $0.stage != .uploaded && Self.isDue($0, options.retried) && !tried.contains(Self.star($0))
        }
        let dueIDs = Set(due.map(\.id))
        for item in due where taken.insert(item.id).inserted {
            var asset = [item.id]
            if let pair = item.pairID, dueIDs.contains(pair), taken.insert(pair).inserted { asset.append(pair) }
            assets.append(asset)
        }
        state.withLock { state in
            state.waiting = assets.reversed()
            state.totalCount += UInt64(due.count)
            for item in due { state.tried.insert(Self.star(item)) }
            for item in items { state.states[item.id] = item }
        }
        if isFirst {
            let local = queue.localCatalog()
            state.withLock { state in
                state.catalog = local
                for item in items where item.stage == .uploaded { state.finished.append(item.id) }
            }
            for item in items where item.stage == .uploaded { note(item) }
        }
        return !assets.isEmpty
    }

    private static func star(_ item: QueueItem) -> String { "\(item.id) \(ISO8601.format(item.queuedAt))" }

    /// Adds a photo that is in the bucket to the catalog.
    private func note(_ item: QueueItem) {
        guard let entry = item.catalogEntry(uploadedAt: options.now().wholeSeconds) else { return }
        state.withLock { $0.catalog.note(entry) }
    }

    private func publish() throws(BackupError) {
        let (catalog, finished) = state.withLock { ($0.catalog, $0.finished) }
        guard !finished.isEmpty else { return }
        // This machine's own first: what is in the bucket is the mirror of it.
        try queue.write(catalog)
        let published = try bucket.publish(catalog)
        if published != catalog { try queue.write(published) }
        for id in finished { try queue.finish(id) }
        try FileSystem.synchronizeDirectory(queue.queue)
        try FileSystem.synchronizeDirectory(queue.uploaded)
    }

    // MARK: Threads

    private func work() {
        let cancellation = Cancellation.current
        let count = min(options.parallelCount, state.withLock { $0.waiting.count })
        let threads = (1..<max(1, count)).compactMap { _ in
            try? SystemThread { [self] in
                guard let cancellation else { return workInThread() }
                _ = try? cancellation.run { () throws(BackupError) in workInThread() }
            }
        }
        workInThread()
        for thread in threads { thread.join() }
    }

    private func workInThread() {
        let downloads = PhotoDownloads(folder, bucket, place: queue.downloads, seconds: options.downloadSeconds)
        let reader = PhotoReader(folder: folder, downloads: downloads, helper: options.helper, now: options.now)
        while let asset = state.withLock({ state in state.summary.stop == nil ? state.waiting.popLast() : nil }) {
            do throws(BackupError) {
                try work(asset, reader)
            } catch {
                state.withLock { $0.summary.stop = $0.summary.stop ?? error }
            }
        }
    }

    /// - Throws: what ends the whole run: a cancellation, no network, no helper, a full disk of the store.
    private func work(_ asset: [String], _ reader: PhotoReader) throws(BackupError) {
        for attempt in 1... {
            try Cancellation.check()
            guard let failed = try attempts(asset, reader) else { return }
            let (failure, error) = failed
            let isLast = attempt >= options.tryLimit || !Self.isWorthAnotherTry(error) || failure == .iCloudDownloadFailed
            for id in asset {
                guard var item = try queue.queuedItem(id), item.stage != .uploaded else { continue }
                item.attempts += 1
                item.error = error.description
                item.stage = isLast ? .failed(failure) : .queued
                try set(item)
                guard isLast else { continue }
                state.withLock { state in
                    state.summary.failures.append((item.path, error))
                    state.doneCount += 1
                }
            }
            if isLast {
                if failure == .networkError { throw error }
                return
            }
            try pause(options.retryMilliseconds << UInt64(min(attempt - 1, 10)))
        }
    }

    private func pause(_ milliseconds: UInt64) throws(BackupError) {
        let end = SystemClock.monotonicNanoseconds() + milliseconds * 1_000_000
        while SystemClock.monotonicNanoseconds() < end {
            try Cancellation.check()
            usleep(10_000)
        }
    }

    private static func isWorthAnotherTry(_ error: BackupError) -> Bool {
        switch error.code {
        case .offline, .inputOutput, .damagedContent, .stale, .noResources: true
        default: false
        }
    }

    private enum Step { case reading, downloading, storing }

    /// One try of a photo, or of both parts of a Live Photo.
    /// - Returns: why it has failed; `nil` when it is in the bucket, or was unstarred.
    private func attempts(
        _ asset: [String], _ reader: PhotoReader
    ) throws(BackupError) -> (QueueItem.Failure, BackupError)? {
        var step = Step.reading
        do throws(BackupError) {
            var items: [QueueItem] = []
            for id in asset {
                if let item = try queue.queuedItem(id), item.stage != .uploaded { items.append(item) }
            }
            // The still first: its month is that of the video.
            items.sort { !Self.isVideo($0) && Self.isVideo($1) }
            var still: PhotoKey?
            for index in items.indices {
                let known = items[index].content
                items[index].stage = .processing
                guard try set(items[index]) else { continue }
                let month = items.count > 1 ? still : try pairKey(items[index])
                let content = try reader.content(
                    of: items[index], isLive: items[index].pairID != nil && !Self.isVideo(items[index]),
                    catalog: { md5 in state.withLock { $0.catalog[md5] } }, month: Self.isVideo(items[index]) ? month : nil
                ) { () throws(BackupError) in
                    step = .downloading
                    items[index].stage = .downloading
                    try set(items[index])
                }
                step = .reading
                items[index].content = content
                if content.file == known?.file { items[index].content?.livePhotoPair = known?.livePhotoPair }
                if still == nil { still = content.key }
            }
            try link(&items)
            for item in items {
                step = .storing
                try upload(item, reader)
            }
            return nil
        } catch {
            guard error.code != .interrupted, error.code != .notSupported || error.path != nil else { throw error }
            return (Self.failure(error, step), error)
        }
    }

    private static func isVideo(_ item: QueueItem) -> Bool { PhotoKey.fileExtension(of: item.path) == "mov" }

    /// The key of the other part of a Live Photo that was uploaded before.
    private func pairKey(_ item: QueueItem) throws(BackupError) -> PhotoKey? {
        guard let pair = item.pairID else { return nil }
        return try queue.item(pair)?.content?.key
    }

    /// Both parts of a Live Photo name each other.
    private func link(_ items: inout [QueueItem]) throws(BackupError) {
        for index in items.indices {
            guard let pairID = items[index].pairID else { continue }
            var other = items.first { $0.id == pairID }?.content
            if other == nil { other = try queue.item(pairID)?.content }
            let own = items[index].content?.livePhotoIdentifier
            // Two that say that they belong to others.
            if let own, let said = other?.livePhotoIdentifier, own != said { continue }
            items[index].content?.livePhotoPair = other?.key.md5
        }
    }

    private func upload(_ item: QueueItem, _ reader: PhotoReader) throws(BackupError) {
        var item = item
        guard let content = item.content else { return }
        item.stage = .uploading
        // It was unstarred.
        guard try set(item) else { return }
        let key = content.key
        let isSent = try bucket.exclusively(key.md5) { () throws(BackupError) in
            let known = state.withLock { $0.catalog[key.md5] }
            if known != nil, try bucket.isStored(key, sizeBytes: content.metadata.fileSize, sha256: content.sha256) {
                return false
            }
            let package = try reader.package(item, content)
            let isSent = try bucket.store(package, now: options.now())
            try bucket.storeCompanions(package)
            item.content?.hasThumbnail = package.thumbnailData != nil
            return isSent
        }
        item.stage = .uploaded
        item.error = nil
        note(item)
        let isThere = try set(item)
        try? FileSystem.removeFile("\(queue.downloads)/\(item.id)")
        state.withLock { state in
            state.doneCount += 1
            if isThere { state.finished.append(item.id) }
            if isSent {
                state.summary.uploadedCount += 1
                state.summary.uploadedBytes += content.metadata.fileSize
            } else {
                state.summary.presentCount += 1
            }
        }
        show(item)
    }

    private static func failure(_ error: BackupError, _ step: Step) -> QueueItem.Failure {
        if step == .downloading, error.code != .noSpace { return .iCloudDownloadFailed }
        switch error.code {
        case .offline: return .networkError
        case .noSpace: return .insufficientStorage
        default: break
        }
        return step == .reading ? .photoNotFound : .s3UploadFailed
    }

    // MARK: The status

    /// - Returns: whether the star is still there.
    @discardableResult
    private func set(_ item: QueueItem) throws(BackupError) -> Bool {
        let isThere = try queue.write(item)
        options.note?(item)
        state.withLock { $0.states[item.id] = isThere ? item : nil }
        try? writeStatus(always: false)
        return isThere
    }

    private func show(_ item: QueueItem) {
        guard let progress else { return }
        let (done, total) = state.withLock { ($0.doneCount, $0.totalCount) }
        progress(
            OperationProgress(
                phase: "Uploading photos", message: "Uploading photos (\(done)/\(total))", processedItems: done,
                totalItems: total))
    }

    /// For programs; worthless after a crash, since the items say it all.
    private func writeStatus(always: Bool) throws(BackupError) {
        let now = SystemClock.monotonicNanoseconds()
        let document: OrderedJSON? = state.withLock { state in
            guard always || now >= state.statusWrittenAt + Self.statusNanoseconds else { return nil }
            state.statusWrittenAt = now
            let photos = state.states.values.sorted { $0.path < $1.path }.map { item -> OrderedJSON in
                [
                    "id": item.id, "path": item.path, "md5": item.content?.key.md5, "status": item.stage.text,
                    "error": item.error,
                ]
            }
            return [
                "version": 1, "progress": ["done": state.doneCount, "total": state.totalCount] as OrderedJSON,
                "photos": photos,
            ]
        }
        guard let document else { return }
        try FileSystem.writeForReaders(queue.status, document.prettyText)
    }
}

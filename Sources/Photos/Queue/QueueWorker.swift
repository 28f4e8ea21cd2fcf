import BackupCore
import Formats
import Glibc
import ObjectStorage
import PhotoData
import SystemIO

/// Uploads the photos of a queue: one worker for each store, some photos at once.
///
/// A crash loses nothing: each step is in the item's file before the next one begins. What was uploaded by then is found by its
/// name, and not sent again.
public final class QueueWorker: Sendable {
    private static let statusNanoseconds: UInt64 = 5_000_000_000

    let queue: QueueFolder
    let bucket: PhotoBucket
    private let folder: PhotoFolder
    let options: Options
    private let progress: ProgressHandler?
    let state = Monitor(State())

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
    /// - Parameter place: as in `Options`.
    public static func hasWork(
        _ queue: QueueFolder, retried: Retried, place: String? = nil
    ) throws(BackupError) -> Bool {
        if let place, try !queue.isOf(place), try !queue.uploadedIDs().isEmpty { return true }
        for id in try queue.queuedIDs() {
            if let item = try? queue.queuedItem(id), isDue(item, retried) { return true }
        }
        return false
    }

    private static func isDue(_ item: QueueItem, _ retried: Retried) -> Bool {
        guard case .failed = item.stage else { return true }
        switch retried {
        case .all: return true
        case .network: return item.mayPass
        case .none: return false
        }
    }

    /// Works until the queue is empty, but for what fails.
    /// - Throws: `busy` while another process works; `interrupted`; errors of the catalog. Photos that fail are in the summary.
    public func run() throws(BackupError) -> Summary {
        try queue.make()
        let lock = try queue.lockForWorker()
        defer { withExtendedLifetime(lock) {} }
        queue.discardDownloads()
        let place = options.place ?? bucket.storage.location
        let hasMoved = try !queue.isOf(place)
        var mustRun = try load(hasMoved: hasMoved)
        if !mustRun { mustRun = state.withLock { !$0.finished.isEmpty || !$0.summary.failures.isEmpty } }
        // A user who asks for an upload wants to know that all stars are in the bucket.
        if !mustRun, hasMoved || options.retried == .all { mustRun = try !queue.uploadedIDs().isEmpty }
        guard mustRun else { return Summary() }
        do throws(BackupError) {
            let published = try bucket.catalog()
            state.withLock { state in
                state.catalog = published.merging(state.catalog)
                state.publishedAt = SystemClock.monotonicNanoseconds()
            }
            let local = hasMoved ? PhotoCatalog() : queue.localCatalog(besides: published)
            if local.count > 0, published.count == 0 { try requireFolder() }
            // Another bucket, or an emptied one.
            if local.count == 0 || !published.hasAll(of: local) {
                try queue.requeueMissing(from: published)
                try queue.keep(published)
            }
            try queue.keep(place: place)
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

    /// A disk that is not mounted may leave an empty folder in its place. All photos would be copied to the disk of this machine
    /// then.
    private func requireFolder() throws(BackupError) {
        guard let folder = bucket.storage as? FolderStorage, try folder.list(prefix: "", after: nil, limit: 1).objects.isEmpty
        else { return }
        throw BackupError(
            .offline, "the photos that were in this folder are not there", path: folder.location,
            remedy: "Mount its disk. To begin again in this folder, run: backupfs star --rebuild-catalog")
    }

    /// - Parameter hasMoved: whether what was uploaded before is in another bucket.
    /// - Returns: whether there is anything to upload that was not tried yet.
    private func load(hasMoved: Bool = false) throws(BackupError) -> Bool {
        var items: [QueueItem] = []
        let (tried, isFirst) = state.withLock { state in
            defer { state.hasLoaded = true }
            return (state.tried, !state.hasLoaded)
        }
        for id in try queue.queuedIDs() {
            do throws(BackupError) {
                guard var item = try queue.queuedItem(id) else { continue }
                if hasMoved, item.stage == .uploaded {
                    item.stage = .queued
                    guard try queue.write(item) else { continue }
                }
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
            state.withLock { state in
                for item in items where item.stage == .uploaded { state.finished.append((item.id, item.queuedAt)) }
            }
            for item in items where item.stage == .uploaded { note(item) }
        }
        return !assets.isEmpty
    }

    static func star(_ item: QueueItem) -> String { "\(item.id) \(ISO8601.format(item.queuedAt))" }

    /// Adds a photo that is in the bucket to the catalog. What is uploaded before the other part of a Live Photo is read does not
    /// name it.
    func note(_ item: QueueItem) {
        guard let entry = item.catalogEntry(uploadedAt: options.now().wholeSeconds) else { return }
        state.withLock { state in
            state.catalog.note(entry)
            if let pair = entry.livePhotoPair { state.catalog.link(pair, to: entry.md5) }
            state.notedCount += 1
        }
    }

    /// Another machine, or a restore, need not wait for the end of a long run.
    private func publishIfDue() throws(BackupError) {
        let now = SystemClock.monotonicNanoseconds()
        let isDue = state.withLock { state in
            let waitingCount = state.notedCount - state.publishedCount
            guard !state.isPublishing, waitingCount > 0,
                waitingCount >= options.publishCount || now >= state.publishedAt + options.publishSeconds * 1_000_000_000
            else { return false }
            state.isPublishing = true
            return true
        }
        guard isDue else { return }
        defer { state.withLock { $0.isPublishing = false } }
        try publish()
    }

    private func publish() throws(BackupError) {
        let (catalog, finished, notedCount, isNeeded) = state.withLock { state in
            (state.catalog, state.finished, state.notedCount, state.notedCount > state.publishedCount)
        }
        guard isNeeded || !finished.isEmpty else { return }
        // This machine's own first: what is in the bucket is the mirror of it.
        try queue.keep(catalog)
        let published = try bucket.publish(catalog)
        if published == catalog {
            state.withLock { $0.catalog.setPublished(as: published, of: catalog) }
        } else {
            try queue.keep(published)
            // Another machine may have the same photos, under its own names.
            state.withLock { $0.catalog = published.merging($0.catalog) }
        }
        for (id, queuedAt) in finished { try queue.finish(id, queuedAt: queuedAt) }
        try FileSystem.synchronizeDirectory(queue.queue)
        try FileSystem.synchronizeDirectory(queue.uploaded)
        state.withLock { state in
            state.finished.removeFirst(finished.count)
            state.publishedCount = notedCount
            state.publishedAt = SystemClock.monotonicNanoseconds()
        }
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
        let downloads = PhotoDownloads(folder, bucket, queue, seconds: options.downloadSeconds)
        let reader = PhotoReader(folder: folder, downloads: downloads, options)
        while let asset = state.withLock({ state in state.summary.stop == nil ? state.waiting.popLast() : nil }) {
            do throws(BackupError) {
                try work(asset, reader)
                try publishIfDue()
            } catch {
                state.withLock { $0.summary.stop = $0.summary.stop ?? error }
            }
        }
    }

    /// - Throws: what ends the whole run: a cancellation, no network, no helper, a full disk of the store.
    private func work(_ asset: [String], _ reader: PhotoReader) throws(BackupError) {
        var rest = asset
        var attempt = 0
        while !rest.isEmpty {
            try Cancellation.check()
            attempt += 1
            reader.isLastTry = attempt >= options.tryLimit
            guard let failed = try attempts(rest, reader) else { return }
            var isLast =
                attempt >= options.tryLimit || !QueueItem.Failure.isWorthAnotherTry(failed.error)
                || failed.failure == .iCloudDownloadFailed
            // It was moved out of the media folder meanwhile.
            if isLast, let there = try queue.queuedItem(failed.item.id), there.copy != failed.item.copy { isLast = false }
            try note(failed, isLast: isLast)
            guard isLast else {
                try pause(options.retryMilliseconds << UInt64(min(attempt - 1, 10)))
                continue
            }
            if failed.failure == .networkError { throw failed.error }
            // The other part of a Live Photo is a photo, too.
            rest.removeAll { $0 == failed.item.id }
            attempt = 0
        }
    }

    private func note(_ failed: Failed, isLast: Bool) throws(BackupError) {
        // It may have been starred again meanwhile: that star has not failed.
        guard var item = try queue.queuedItem(failed.item.id), item.stage != .uploaded, item.queuedAt == failed.item.queuedAt
        else { return }
        item.attempts += 1
        item.error = failed.error.description
        item.mayPass = isLast && failed.failure.mayPass(failed.error)
        item.stage = isLast ? .failed(failed.failure) : .queued
        // Other bytes than were hashed.
        if failed.isOfContent { item.content = nil }
        try set(item)
        guard isLast else { return }
        state.withLock { state in
            state.summary.failures.append((item.path, failed.error))
            if item.mayPass { state.summary.mustTryAgain = true }
            state.doneCount += 1
        }
    }

    private func pause(_ milliseconds: UInt64) throws(BackupError) {
        let end = SystemClock.monotonicNanoseconds() + milliseconds * 1_000_000
        while SystemClock.monotonicNanoseconds() < end {
            try Cancellation.check()
            usleep(10_000)
        }
    }

    private struct Failed {
        let item: QueueItem
        let failure: QueueItem.Failure
        let error: BackupError
        /// Whether the bytes are others than those that were hashed.
        let isOfContent: Bool
    }

    /// One try of a photo, or of both parts of a Live Photo.
    /// - Returns: why it has failed; `nil` when it is in the bucket, or was unstarred.
    private func attempts(
        _ asset: [String], _ reader: PhotoReader
    ) throws(BackupError) -> Failed? {
        var step = QueueItem.Step.reading
        var current: QueueItem?
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
                current = items[index]
                items[index].stage = .processing
                guard try set(items[index]) else {
                    forget(items[index])
                    continue
                }
                let month = items.count > 1 ? still : try pairKey(items[index])
                let content = try whileStarred(items[index]) { () throws(BackupError) in
                    try reader.content(
                        of: items[index], isLive: items[index].pairID != nil && !Self.isVideo(items[index]),
                        catalog: { md5 in state.withLock { $0.catalog[md5] } }, month: Self.isVideo(items[index]) ? month : nil
                    ) { () throws(BackupError) in
                        step = .downloading
                        items[index].stage = .downloading
                        try set(items[index])
                    }
                }
                step = .reading
                guard let content else {
                    forget(items[index])
                    continue
                }
                items[index].content = content
                if content.file == known?.file { items[index].content?.livePhotoPair = known?.livePhotoPair }
                if still == nil { still = content.key }
            }
            try link(&items)
            for item in items {
                step = .storing
                current = item
                try upload(item, reader)
            }
            return nil
        } catch {
            guard error.code != .interrupted, error.code != .notSupported || error.path != nil, let current else { throw error }
            return Failed(
                item: current, failure: QueueItem.Failure(error, step), error: error,
                isOfContent: step == .storing && error.code == .damagedContent)
        }
    }

    // MARK: The status

    /// - Returns: whether the star is still there.
    @discardableResult
    func set(_ item: QueueItem) throws(BackupError) -> Bool {
        let isThere = try queue.write(item)
        options.note?(item)
        state.withLock { $0.states[item.id] = isThere ? item : nil }
        try? writeStatus(always: false)
        return isThere
    }

    func show(_ item: QueueItem) {
        guard let progress else { return }
        let (done, total) = state.withLock { ($0.doneCount, $0.totalCount) }
        progress(
            OperationProgress(
                phase: "Uploading photos", message: "Uploading photos (\(done)/\(total))", processedItems: done,
                totalItems: total))
    }

    /// For programs; worthless after a crash, since the items say it all.
    func writeStatus(always: Bool) throws(BackupError) {
        let now = SystemClock.monotonicNanoseconds()
        let known = state.withLock { state -> (items: [String: QueueItem], done: UInt64, total: UInt64)? in
            guard always || now >= state.statusWrittenAt + Self.statusNanoseconds else { return nil }
            state.statusWrittenAt = now
            return (state.states, state.doneCount, state.totalCount)
        }
        guard let known else { return }
        let photos = known.items.values.sorted { $0.path < $1.path }.map { item -> OrderedJSON in
            [
                "id": item.id, "path": item.path, "md5": item.content?.key.md5, "status": item.stage.text, "error": item.error,
            ]
        }
        let document: OrderedJSON = [
            "version": 1, "progress": ["done": known.done, "total": known.total] as OrderedJSON, "photos": photos,
        ]
        try FileSystem.writeForReaders(queue.status, document.prettyText)
    }
}

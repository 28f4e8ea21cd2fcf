import BackupCore
import Synchronization
import SystemIO

/// One photo that was read: it is sent to the bucket, as long as it has its star.
extension QueueWorker {
    /// How often the star of a photo is looked at while it is read or sent.
    private static let lookNanoseconds: UInt64 = 1_000_000_000

    // MARK: Live Photos

    static func isVideo(_ item: QueueItem) -> Bool { PhotoKey.fileExtension(of: item.path) == "mov" }

    /// The key of the other part of a Live Photo that was uploaded before.
    func pairKey(_ item: QueueItem) throws(BackupError) -> PhotoKey? {
        guard let pair = item.pairID else { return nil }
        return try readableItem(pair)?.content?.key
    }

    /// A star that is damaged must not keep the other part of its Live Photo out of the bucket. It is reported where the stars
    /// are listed.
    private func readableItem(_ id: String) throws(BackupError) -> QueueItem? {
        do throws(BackupError) {
            return try queue.item(id)
        } catch {
            guard error.code == .damagedContent else { throw error }
            return nil
        }
    }

    /// Both parts of a Live Photo name each other.
    func link(_ items: inout [QueueItem]) throws(BackupError) {
        for index in items.indices {
            guard let pairID = items[index].pairID else { continue }
            var other = items.first { $0.id == pairID }?.content
            if other == nil { other = try readableItem(pairID)?.content }
            let own = items[index].content?.livePhotoIdentifier
            // Two that say that they belong to others.
            if let own, let said = other?.livePhotoIdentifier, own != said { continue }
            items[index].content?.livePhotoPair = other?.key.md5
        }
    }

    // MARK: Uploading

    /// Sends a photo, unless the bucket has it. When its star is taken away meanwhile, it ends.
    func upload(_ item: QueueItem, _ reader: PhotoReader) throws(BackupError) {
        var item = item
        guard let content = item.content else { return }
        item.stage = .uploading
        // It was unstarred.
        guard try set(item) else { return forget(item) }
        let isSent = try bucket.exclusively(content.key.md5) { () throws(BackupError) in try send(&item, content, reader) }
        guard let isSent else { return forget(item) }
        item.stage = .uploaded
        item.error = nil
        item.mayPass = false
        let isThere = try set(item)
        queue.discardDownloads(of: item.id)
        state.withLock { state in
            state.doneCount += 1
            if isThere { state.finished.append((item.id, item.queuedAt)) }
            if isSent {
                state.summary.uploadedCount += 1
                state.summary.uploadedBytes += content.metadata.fileSize
            } else {
                state.summary.presentCount += 1
            }
        }
        show(item)
    }

    /// While no other thread sends the same content.
    /// - Returns: whether it was sent; `nil` when its star is gone.
    private func send(
        _ item: inout QueueItem, _ content: QueueItem.Content, _ reader: PhotoReader
    ) throws(BackupError) -> Bool? {
        var content = content
        // The same bytes may have got another key since this photo was read: by their name, or on another machine.
        let known = state.withLock { $0.catalog[content.key.md5] }
        if let known { content.key = known.key }
        item.content = content
        func isStored() throws(BackupError) -> Bool {
            try bucket.isStored(content.key, sizeBytes: content.metadata.fileSize, sha256: content.sha256)
        }
        if known != nil, try isStored() {
            note(item)
            return false
        }
        let package = try reader.package(item, content)
        var isSent = try whileStarred(item) { () throws(BackupError) in try bucket.store(package, now: options.now()) }
        // It may have been there as a whole already.
        if isSent == nil, try isStored() { isSent = true }
        guard let isSent else { return nil }
        try bucket.storeCompanions(package)
        item.content?.hasThumbnail = package.thumbnailData != nil
        note(item)
        return isSent
    }

    // MARK: Stars that are taken away

    /// Runs `body`, and ends it when the star is taken away, or given again: that one is uploaded later.
    /// - Returns: `nil` when it was ended.
    func whileStarred<Result>(
        _ item: QueueItem, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result? {
        let nextLook = Atomic<UInt64>(SystemClock.monotonicNanoseconds() + Self.lookNanoseconds)
        let isGone = Atomic<Bool>(false)
        let cancellation = Cancellation(within: .current) { [queue] in
            let now = SystemClock.monotonicNanoseconds()
            guard now >= nextLook.load(ordering: .relaxed) else { return false }
            nextLook.store(now + Self.lookNanoseconds, ordering: .relaxed)
            do throws(BackupError) {
                if try queue.queuedItem(item.id)?.queuedAt == item.queuedAt { return false }
            } catch {
                // It may be there.
                return false
            }
            isGone.store(true, ordering: .relaxed)
            return true
        }
        do throws(BackupError) {
            return try cancellation.run(body)
        } catch {
            guard error.code == .interrupted, isGone.load(ordering: .relaxed) else { throw error }
            // The whole run may be cancelled, too.
            try Cancellation.check()
            return nil
        }
    }

    /// For a star that was taken away, or given again.
    func forget(_ item: QueueItem) {
        let isFirst = state.withLock { state in
            guard state.forgotten.insert(Self.star(item)).inserted else { return false }
            // One that was starred again meanwhile was not counted.
            if state.totalCount > state.doneCount { state.totalCount -= 1 }
            if state.states[item.id]?.queuedAt == item.queuedAt { state.states[item.id] = nil }
            return true
        }
        guard isFirst else { return }
        queue.discardDownloads(of: item.id)
        try? writeStatus(always: true)
    }
}

import BackupCore
import ObjectStorage
import PhotoData
import Photos
import SystemIO

/// The starred photos of a store: which they are, and how far their uploads are. Starring needs no network.
public struct StarredPhotos: Sendable {
    /// What became of a file that was to be starred or unstarred.
    public enum Outcome: String, Sendable {
        /// It waits for its upload.
        case queued
        /// It is in the bucket, as it is.
        case alreadyUploaded = "already_uploaded"
        /// Its star is gone, and so is its place in the queue.
        case unstarred
        /// Its star is gone; what was uploaded stays in the bucket.
        case unstarredUploaded = "unstarred_uploaded"
        /// It had no star.
        case notStarred = "not_starred"
    }

    /// One file, with what became of it.
    public struct Change: Sendable {
        /// In the media folder.
        public let path: String
        public let outcome: Outcome
    }

    public let queue: QueueFolder
    public let folder: PhotoFolder
    let store: Store

    /// - Throws: `usage` for an app without a media folder.
    public init(_ store: Store) throws(BackupError) {
        guard let mediaPath = store.mediaPath else {
            throw BackupError(
                .usage, "this app has no media folder, so there are no photos to star", path: store.paths.settings,
                remedy: "Stars are for apps whose definition has a media folder.")
        }
        self.store = store
        queue = QueueFolder(root: store.paths.photos)
        folder = PhotoFolder(root: mediaPath)
    }

    /// Stars a photo. Durable when it returns. With one part of a Live Photo, the other one is starred, too; of an edited version
    /// in an Apple Photos library, the original is.
    /// - Parameter path: in the media folder (`PhotoFolder.relativePath`).
    /// - Returns: one change, or two for a Live Photo.
    /// - Throws: `notFound` for a file that is not there; `invalidArgument` for what is no file.
    public func star(_ path: String) throws(BackupError) -> [Change] {
        try queue.make()
        let path = try folder.original(of: path)
        let pair = try folder.pair(of: path)
        var changes = [Change(path: path, outcome: try star(path, pair: pair, copy: nil))]
        if let pair { changes.append(Change(path: pair, outcome: try star(pair, pair: path, copy: nil))) }
        return changes
    }

    /// - Parameter copy: the bytes that the star stands for, if a copy of them is kept.
    func star(_ path: String, pair: String?, copy: SHA256Digest?) throws(BackupError) -> Outcome {
        let state = try folder.state(of: path)
        let known: QueueItem?
        do throws(BackupError) {
            known = try queue.item(QueueItem.id(of: path))
        } catch {
            // A damaged item is made again.
            guard error.code == .damagedContent else { throw error }
            known = nil
        }
        let kept = try known.flatMap { (known) throws(BackupError) in try keptCopy(of: known, besides: copy) }
        if let known {
            if known.stage == .uploaded, kept == nil, copy == nil, known.content?.file == state { return .alreadyUploaded }
            // The same bytes as those that were starred: only where they are kept is new.
            if let copy = copy ?? kept, try note(copy, of: known) {
                return known.stage == .uploaded ? .alreadyUploaded : .queued
            }
        }
        var item = QueueItem(path: path, source: folder.source(of: path), queuedAt: SystemClock.now())
        item.pairID = pair.map { QueueItem.id(of: $0) }
        // Not hashed again unless the file has changed.
        item.content = known?.content
        item.copy = copy ?? kept
        try queue.add(item)
        return .queued
    }

    /// Takes a star away, from both parts of a Live Photo. Objects in the bucket stay.
    /// - Parameters:
    ///   - path: in the media folder; the file need not be there any more.
    ///   - acceptsBackups: whether a star may go whose photo is otherwise only in a backup. Not for Live Photos.
    /// - Throws: `notPermitted` when the copy that the store keeps is the only one. The other part of a Live Photo of which that
    ///   is so keeps its star.
    public func unstar(_ path: String, acceptsBackups: Bool) throws(BackupError) -> [Change] {
        try queue.make()
        let path = try folder.original(of: path)
        var changes: [Change] = []
        var next = [QueueItem.id(of: path)]
        while let id = next.popLast() {
            if let item = try queue.item(id), try hasOnlyCopy(of: item, acceptsBackups: acceptsBackups && item.pairID == nil) {
                guard !changes.isEmpty else { throw onlyCopy(item) }
                continue
            }
            guard let item = try queue.remove(id) else { continue }
            changes.append(Change(path: item.path, outcome: item.stage == .uploaded ? .unstarredUploaded : .unstarred))
            if let pair = item.pairID { next.append(pair) }
        }
        return changes.isEmpty ? [Change(path: path, outcome: .notStarred)] : changes.sorted { $0.path < $1.path }
    }

    /// All stars, in the order of their paths.
    /// - Parameter damaged: receives files of the queue that cannot be read.
    public func all(_ damaged: (BackupError) -> Void = { _ in }) throws(BackupError) -> [QueueItem] { try queue.items(damaged) }

    /// The star of a file.
    /// - Parameter path: in the media folder.
    /// - Returns: `nil` without one.
    public func star(of path: String) throws(BackupError) -> QueueItem? { try queue.item(QueueItem.id(of: path)) }
}

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
        var changes = [Change(path: path, outcome: try starUncopied(path, pair: pair))]
        if let pair { changes.append(Change(path: pair, outcome: try starUncopied(pair, pair: path))) }
        return changes
    }

    /// How often it is decided again what is to be done, since the star has changed meanwhile.
    static let tryLimit = 10

    func isBusy(_ path: String) -> BackupError {
        BackupError(.busy, "another operation is running", path: path, remedy: "Wait until it has finished and try again.")
    }

    private func starUncopied(_ path: String, pair: String?) throws(BackupError) -> Outcome {
        for _ in 0..<Self.tryLimit {
            let prospect = try prospect(path, pair: pair, copy: nil)
            let outcome = try queue.copies.withLock { () throws(BackupError) -> Outcome? in
                try isCurrent(prospect) ? try star(prospect) : nil
            }
            if let outcome { return outcome }
        }
        throw isBusy(path)
    }

    /// What is found out about a photo before it gets a star: that may read files, or wait for the storage of the media folder,
    /// while other programs need the lock of the copies.
    struct Prospect {
        let path: String
        let pair: String?
        /// The bytes that the star stands for, if a copy of them is kept.
        let copy: SHA256Digest?
        let state: QueueItem.FileState
        /// The copy of the star that is there, as it was then, and whether it stays.
        let known: (copy: SHA256Digest, status: FileStatus?)?
        let kept: SHA256Digest?
    }

    /// - Throws: `alreadyExists` when the star stands for other bytes that are kept.
    func prospect(_ path: String, pair: String?, copy: SHA256Digest?) throws(BackupError) -> Prospect {
        let state = try folder.state(of: path)
        guard let item = try known(path), let there = item.copy else {
            return Prospect(path: path, pair: pair, copy: copy, state: state, known: nil, kept: nil)
        }
        let status = try queue.copies.status(of: there)
        let kept = try keptCopy(of: item, besides: copy)
        return Prospect(path: path, pair: pair, copy: copy, state: state, known: (there, status), kept: kept)
    }

    /// Whether what was found out about the copy of a star still holds. Within the lock of the copies.
    func isCurrent(_ prospect: Prospect) throws(BackupError) -> Bool {
        guard try known(prospect.path)?.copy == prospect.known?.copy else { return false }
        guard let known = prospect.known else { return true }
        return try queue.copies.status(of: known.copy) == known.status
    }

    /// - Returns: `nil` without a star. A damaged one is made again.
    private func known(_ path: String) throws(BackupError) -> QueueItem? {
        do throws(BackupError) {
            return try queue.item(QueueItem.id(of: path))
        } catch {
            guard error.code == .damagedContent else { throw error }
            return nil
        }
    }

    /// Within the lock of the copies.
    func star(_ prospect: Prospect) throws(BackupError) -> Outcome {
        let (path, copy, kept) = (prospect.path, prospect.copy, prospect.kept)
        let known = try known(path)
        // The other part of a Live Photo may have come since. What is uploaded is not sent again: only the catalog changes.
        if let known, prospect.pair.map({ known.pairID == QueueItem.id(of: $0) }) ?? true {
            if known.stage == .uploaded, kept == nil, copy == nil, known.content?.file == prospect.state {
                return .alreadyUploaded
            }
            // The same bytes as those that were starred: only where they are kept is new.
            if let copy = copy ?? kept, try note(copy, of: known) {
                return known.stage == .uploaded ? .alreadyUploaded : .queued
            }
        }
        var item = QueueItem(path: path, source: folder.source(of: path), queuedAt: SystemClock.now())
        item.pairID = prospect.pair.map { QueueItem.id(of: $0) }
        // Not hashed again unless the file has changed.
        item.content = known?.content
        item.copy = copy ?? kept
        try queue.add(item)
        return .queued
    }

    /// Takes a star away; of a Live Photo also that of the other part, if that is in the media folder. Objects in the bucket
    /// stay.
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
            let item: QueueItem?
            do throws(BackupError) {
                item = try remove(id, acceptsBackups: acceptsBackups)
            } catch {
                guard error.code == .notPermitted, !changes.isEmpty else { throw error }
                continue
            }
            guard let item else { continue }
            changes.append(Change(path: item.path, outcome: item.stage == .uploaded ? .unstarredUploaded : .unstarred))
            // A part that was moved away before stays: `mv` removes a star that it writes over.
            if let pair = try item.pairID.flatMap({ (id) throws(BackupError) in try queue.item(id) }),
                (try? folder.state(of: pair.path)) != nil
            {
                next.append(pair.id)
            }
        }
        return changes.isEmpty ? [Change(path: path, outcome: .notStarred)] : changes.sorted { $0.path < $1.path }
    }

    /// Takes one star away. What is decided by reading files is decided before; then it must still be so.
    /// - Returns: `nil` if there is none.
    private func remove(_ id: String, acceptsBackups: Bool) throws(BackupError) -> QueueItem? {
        for _ in 0..<Self.tryLimit {
            guard let item = try queue.item(id) else { return nil }
            let acceptsBackups = acceptsBackups && item.pairID == nil
            guard let reason = try reasonToGo(of: item, acceptsBackups: acceptsBackups) else { throw onlyCopy(item) }
            let isRemoved = try queue.copies.withLock { () throws(BackupError) -> Bool in
                guard try holds(reason, of: item) else { return false }
                _ = try queue.remove(id)
                return true
            }
            if isRemoved { return item }
        }
        throw isBusy((try? queue.item(id))?.path ?? id)
    }

    /// All stars, in the order of their paths.
    /// - Parameter damaged: receives files of the queue that cannot be read.
    public func all(_ damaged: (BackupError) -> Void = { _ in }) throws(BackupError) -> [QueueItem] { try queue.items(damaged) }

    /// The star of a file.
    /// - Parameter path: in the media folder.
    /// - Returns: `nil` without one.
    public func star(of path: String) throws(BackupError) -> QueueItem? { try queue.item(QueueItem.id(of: path)) }
}

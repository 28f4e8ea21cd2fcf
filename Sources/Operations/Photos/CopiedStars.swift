import BackupCore
import BackupRepository
import Photos
import SystemIO

/// A photo of the media folder that was read just now.
public struct FoundPhoto: Sendable {
    /// Below the media folder.
    public let path: String
    /// Of the file.
    public let modificationTime: Timestamp
}

/// Stars that stand for bytes which were copied into `photos/starred/`.
extension StarredPhotos {
    /// Keeps copied bytes, and stars the photo of the media folder that has them. Of a Live Photo, the other part is kept and
    /// starred, too. Durable when it returns.
    /// - Parameters:
    ///   - name: the name of the copy, for errors.
    ///   - starred: the star that has this name already. Other bytes than its own are refused, and these change nothing.
    ///   - isWanted: asked before anything is kept: whether the name is still there.
    ///   - find: finds the photo with these bytes, of this size.
    /// - Returns: the bytes.
    /// - Throws: `invalidArgument` when no photo has the bytes; `alreadyExists`; `busy` when the name is gone. Nothing is kept
    ///   then, but for the first part of a Live Photo whose second one fails: that has its star.
    public func star(
        _ draft: CopyDraft, named name: FileName, over starred: (path: String, copy: SHA256Digest)?, if isWanted: () -> Bool,
        finding find: (SHA256Digest, UInt64) throws(BackupError) -> FoundPhoto?
    ) throws(BackupError) -> SHA256Digest {
        let (sha256, status) = (try draft.sha256(), try draft.status())
        if let starred {
            guard sha256 == starred.copy else { throw Self.otherStar(name.description) }
            try keepAgain(draft, status, starred, named: name)
            return sha256
        }
        guard let found = try find(sha256, status.size) else {
            throw BackupError(
                .invalidArgument, "no photo in the app's media folder has these bytes, so it cannot be starred",
                path: name.description, remedy: "Put the photo into the media folder first: \(folder.root)")
        }
        try draft.finish(modificationTime: found.modificationTime)
        var parts = [Part(path: found.path, copy: sha256, draft: draft)]
        let pair = try folder.pair(of: found.path)
        if let pair { parts.append(try part(pair)) }
        // Each part names the other one, also one that was moved before.
        let moved = pair == nil ? try movedPair(of: found.path) : nil
        let pairs = [pair ?? moved, found.path]
        try queue.make()
        try FaultInjection.reached("star.copied")
        for _ in 0..<Self.tryLimit {
            var prospects: [Prospect] = []
            for (part, pair) in zip(parts, pairs) { prospects.append(try prospect(part.path, pair: pair, copy: part.copy)) }
            let isDone = try queue.copies.withLock { () throws(BackupError) -> Bool in
                guard isWanted() else { throw Self.isGone(name) }
                for prospect in prospects { guard try isCurrent(prospect) else { return false } }
                try keep(parts, prospects)
                return true
            }
            guard isDone else { continue }
            try FaultInjection.reached("star.made")
            return sha256
        }
        throw isBusy(found.path)
    }

    /// Within the lock of the copies.
    private func keep(_ parts: [Part], _ prospects: [Prospect]) throws(BackupError) {
        var new: [Part] = []
        do throws(BackupError) {
            for (part, prospect) in zip(parts, prospects) {
                if let draft = part.draft, try queue.copies.keep(draft, as: part.copy) { new.append(part) }
                try FaultInjection.reached("star.kept")
                _ = try star(prospect)
            }
        } catch {
            // Without a star, nothing would show it.
            for part in new where (try? queue.item(QueueItem.id(of: part.path))?.copy) != part.copy {
                try? queue.copies.remove(part.copy)
            }
            throw error
        }
    }

    /// Whether a copy of a photo stars it: one of an edited version must not star its original, and hidden names cannot be opened
    /// in `photos/starred/`.
    public func canCopy(_ path: String) -> Bool {
        !FileSystem.lastComponent(path).hasPrefix(".") && (try? folder.original(of: path)) == path
    }

    /// A photo, or a part of a Live Photo, whose bytes are kept.
    private struct Part {
        let path: String
        let copy: SHA256Digest
        /// `nil` for one that is kept already.
        let draft: CopyDraft?
    }

    /// Copies the other part of a Live Photo: programs copy and move both.
    private func part(_ path: String) throws(BackupError) -> Part {
        let file = try SharedFile(folder.open(path))
        let before = try file.status()
        if let copy = try? queue.item(QueueItem.id(of: path))?.copy, try queue.copies.status(of: copy) != nil,
            try folder.has(copy, sizeBytes: before.size, at: path)
        {
            return Part(path: path, copy: copy, draft: nil)
        }
        let draft = try queue.copies.makeDraft()
        var offset: UInt64 = 0
        while true {
            try Cancellation.check()
            let bytes = try file.bytes(at: offset, upTo: 1 << 20)
            if bytes.isEmpty { break }
            try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try draft.write(buffer, at: offset) }
            offset += UInt64(bytes.count)
        }
        guard try file.status() == before else {
            throw BackupError(
                .busy, "the other part of this Live Photo is being changed", path: file.path, remedy: "Copy it again.")
        }
        try draft.finish(modificationTime: before.modificationTime)
        return Part(path: path, copy: try draft.sha256(), draft: draft)
    }

    /// The other part of a Live Photo that is not in the media folder any more, and has a star.
    private func movedPair(of path: String) throws(BackupError) -> String? {
        for other in folder.possiblePairs(of: path) {
            let item = try? queue.item(QueueItem.id(of: other))
            if let item, item.pairID == QueueItem.id(of: path) { return other }
        }
        return nil
    }

    /// The same bytes over a star: the copy that is there may be damaged.
    private func keepAgain(
        _ draft: CopyDraft, _ status: FileStatus, _ starred: (path: String, copy: SHA256Digest), named name: FileName
    ) throws(BackupError) {
        let copies = queue.copies
        let time = try copies.status(of: starred.copy)?.modificationTime
        try draft.finish(modificationTime: time ?? status.modificationTime)
        try copies.withLock { () throws(BackupError) in
            // Removed meanwhile: nothing would show the copy.
            guard try queue.item(QueueItem.id(of: starred.path))?.copy == starred.copy else { throw Self.isGone(name) }
            _ = try copies.keep(draft, as: starred.copy)
        }
    }

    /// For a name that was removed, or given to another file, while the copy was made.
    static func isGone(_ name: FileName) -> BackupError {
        BackupError(
            .busy, "the name was removed or replaced while the photo was copied; it has no star", path: name.description,
            remedy: "Copy it again.")
    }

    private static func otherStar(_ path: String) -> BackupError {
        BackupError(
            .alreadyExists, "this star stands for another photo, of which the store keeps a copy", path: path,
            remedy: "Remove that star first.")
    }

    /// - Returns: whether the star is there with these bytes. One that failed, or whose photo has changed, is to be made again.
    func note(_ copy: SHA256Digest, of known: QueueItem) throws(BackupError) -> Bool {
        try queue.setCopy(copy, of: known.id) { item in
            if case .failed = item.stage { return false }
            return item.copy == copy || item.content?.sha256 == copy
        }
    }

    /// The kept copy of a star that is given again.
    /// - Parameter copy: the bytes that are starred; `nil` for those that are in the media folder.
    /// - Returns: `nil` when there is none, or a damaged one.
    /// - Throws: `alreadyExists` when it has other bytes: they would be lost from sight.
    func keptCopy(of known: QueueItem, besides copy: SHA256Digest?) throws(BackupError) -> SHA256Digest? {
        guard let kept = known.copy else { return nil }
        if kept == copy { return kept }
        guard let status = try queue.copies.status(of: kept) else { return nil }
        if copy == nil, try folder.has(kept, sizeBytes: status.size, at: known.path) { return kept }
        guard try queue.copies.isIntact(kept) else { return nil }
        throw Self.otherStar(known.path)
    }

    // MARK: The only copy

    func onlyCopy(_ item: QueueItem) -> BackupError {
        BackupError(
            .notPermitted, "the store keeps the only copy of this photo, so its star stays", path: item.path,
            remedy: "Upload it with: backupfs star --upload. Or copy it back into the media folder: \(folder.root)")
    }

    /// Why nothing is lost with a star.
    enum Reason {
        /// The store has no copy that is worth anything; its status, if there is one.
        case noCopy(FileStatus?)
        /// A star says that the bytes are in the bucket, or stands for the same copy.
        case star(String)
        /// The photo in the media folder has the bytes, in this state.
        case photo(QueueItem.FileState)
        /// The newest backup has them.
        case backup
    }

    /// Finds out why a star can go. May read large files.
    /// - Returns: `nil` when the bytes are only in the copy that the store keeps for it.
    func reasonToGo(of item: QueueItem, acceptsBackups: Bool) throws(BackupError) -> Reason? {
        guard let copy = item.copy, let status = try queue.copies.status(of: copy) else { return .noCopy(nil) }
        if try isInBucket(copy, item) { return .star(item.id) }
        if let state = try photoState(copy, status, at: item.path) { return .photo(state) }
        for other in try queue.items() where other.id != item.id {
            if try shows(copy, other) { return .star(other.id) }
        }
        if acceptsBackups, try NewestPhotos(store).list()?.record(sha256: copy) != nil { return .backup }
        // Nothing can be lost of a damaged one.
        return try queue.copies.isIntact(copy) ? nil : .noCopy(status)
    }

    /// Whether a reason still holds. Reads no large file. Within the lock of the copies.
    func holds(_ reason: Reason, of item: QueueItem) throws(BackupError) -> Bool {
        guard let there = try queue.item(item.id), there.copy == item.copy, there.queuedAt == item.queuedAt else { return false }
        guard let copy = item.copy else { return true }
        switch reason {
        case .noCopy(let status): return try queue.copies.status(of: copy) == status
        case .star(item.id): return try isInBucket(copy, there)
        case .star(let id):
            guard let other = try queue.item(id) else { return false }
            return try shows(copy, other)
        case .photo(let state): return isPhoto(state, at: item.path)
        case .backup: return true
        }
    }

    private func shows(_ copy: SHA256Digest, _ other: QueueItem) throws(BackupError) -> Bool {
        if other.copy == copy { return true }
        return try isInBucket(copy, other)
    }

    /// The state of a photo in the media folder that has the bytes of a copy. Reads all of it.
    /// - Returns: `nil` for one that has others, or is gone.
    func photoState(
        _ copy: SHA256Digest, _ status: FileStatus, at path: String
    ) throws(BackupError) -> QueueItem.FileState? {
        let state = try? folder.state(of: path)
        return try folder.has(copy, sizeBytes: status.size, at: path) ? state : nil
    }

    /// Whether a photo of the media folder is still in this state. What cannot be looked at is not.
    func isPhoto(_ state: QueueItem.FileState, at path: String) -> Bool { (try? folder.state(of: path)) == state }

    /// Whether a star says that these bytes are in the bucket that is in the settings now.
    func isInBucket(_ sha256: SHA256Digest, _ item: QueueItem) throws(BackupError) -> Bool {
        guard item.stage == .uploaded, item.content?.sha256 == sha256, let remote = store.settings.photosRemote else {
            return false
        }
        return try queue.isOf(remote.url)
    }
}

/// The list of photos in the newest backup, read when it is asked for, and once.
final class NewestPhotos {
    private let store: Store
    private var held: PhotoIndex??

    init(_ store: Store) { self.store = store }

    /// - Returns: `nil` when there is no backup, or one without photos.
    func list() throws(BackupError) -> PhotoIndex? {
        if let held { return held }
        try store.repository.refresh()
        guard let snapshot = store.ownership.newest(of: store.repository.snapshots()) else { return keep(nil) }
        return keep(try PhotoIndex.list(of: snapshot, in: store.repository))
    }

    private func keep(_ list: PhotoIndex?) -> PhotoIndex? {
        held = .some(list)
        return list
    }
}

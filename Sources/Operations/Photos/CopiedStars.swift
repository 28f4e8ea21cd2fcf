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
    ///   then.
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
        try queue.copies.withLock { () throws(BackupError) in
            guard isWanted() else { throw Self.isGone(name) }
            var new: [Part] = []
            do throws(BackupError) {
                for (part, pair) in zip(parts, pairs) {
                    if let draft = part.draft, try queue.copies.keep(draft, as: part.copy) { new.append(part) }
                    try FaultInjection.reached("star.kept")
                    _ = try star(part.path, pair: pair, copy: part.copy)
                }
            } catch {
                // Without a star, nothing would show it.
                for part in new where (try? queue.item(QueueItem.id(of: part.path))?.copy) != part.copy {
                    try? queue.copies.remove(part.copy)
                }
                throw error
            }
        }
        try FaultInjection.reached("star.made")
        return sha256
    }

    /// Whether a copy of a photo stars it: one of an edited version must not star its original.
    public func canCopy(_ path: String) -> Bool { (try? folder.original(of: path)) == path }

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

    /// Whether the bytes of a star are only in the copy that the store keeps for it.
    func hasOnlyCopy(of item: QueueItem, acceptsBackups: Bool) throws(BackupError) -> Bool {
        guard let copy = item.copy, let status = try queue.copies.status(of: copy) else { return false }
        if try isInBucket(copy, item) { return false }
        if try folder.has(copy, sizeBytes: status.size, at: item.path) { return false }
        // Another star shows the same copy.
        for other in try queue.items() where other.id != item.id {
            if other.copy == copy { return false }
            if try isInBucket(copy, other) { return false }
        }
        if acceptsBackups, try NewestPhotos(store).list()?.record(sha256: copy) != nil { return false }
        // Nothing can be lost of a damaged one.
        return try queue.copies.isIntact(copy)
    }

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
        let list = try store.repository.rootDirectory(of: snapshot).entry(named: PhotoPlaces.listName)
        guard let list, list.kind == .file else { return keep(nil) }
        return keep(try PhotoIndex(reading: StoredContentSource(list.content, in: store.repository)))
    }

    private func keep(_ list: PhotoIndex?) -> PhotoIndex? {
        held = .some(list)
        return list
    }
}

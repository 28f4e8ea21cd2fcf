import BackupCore
import BackupRepository
import SnapshotFormats
import SystemIO

/// One side of a comparison: a backup, or the app's current data.
struct ComparedState {
    /// An exported collection.
    struct Collection {
        let file: ComparedFile
        let source: any ByteSource
    }

    /// `nil` for the current data.
    let snapshot: Snapshot?
    let collections: [String: Collection]
    /// The media folder and the database, sorted by name. Records are compared separately, and the files that describe a backup
    /// always differ.
    let files: [ComparedFile]

    private static let comparedFiles: [FileName] = ["database.sqlite", "media"]
    private static let collectionSuffix = ".json"

    init(_ snapshot: Snapshot, of store: Store) throws(BackupError) {
        self.snapshot = snapshot
        let repository = store.repository
        let root = try repository.rootDirectory(of: snapshot)
        var collections: [String: Collection] = [:]
        for one in try SnapshotRecords(of: snapshot, in: repository, for: store).collections() {
            collections[one.name] = Collection(file: ComparedFile(one, repository), source: one.source)
        }
        self.collections = collections
        files = Self.comparedFiles.compactMap { root.entry(named: $0) }.map {
            ComparedFile($0, owner: $0.name == "media" ? snapshot.mediaOwner : nil, repository)
        }
    }

    /// Renders the data into unnamed files, which exist as long as this value.
    init(liveDataOf store: Store) throws(BackupError) {
        snapshot = nil
        try store.requireFinishedRestore()
        try store.database.check()
        let rendering = try store.withWorkFolder { (folder) throws(BackupError) in
            try AppRendering(of: store.database, in: folder, createdAt: SystemClock.now().wholeSeconds)
        }
        let view = LiveState(
            rendering: rendering, mediaView: try store.mediaView(LiveChecksums()), of: store, RestoreWatch(store))
        func compared(_ entries: [LiveEntry], in folder: [FileName]) -> [ComparedFile] {
            entries.map { ComparedFile($0, at: folder + [$0.name], view, store.repository) }
        }
        collections = try Self.collections(compared(view.children(of: ["data"]) ?? [], in: ["data"]))
        var entries: [LiveEntry] = []
        for name in Self.comparedFiles { if let entry = try view.entry(at: [name]) { entries.append(entry) } }
        files = compared(entries, in: [])
    }

    private static func collections(_ files: [ComparedFile]) throws(BackupError) -> [String: Collection] {
        var collections: [String: Collection] = [:]
        for file in files where file.name.description.hasSuffix(collectionSuffix) {
            collections[String(file.name.description.dropLast(collectionSuffix.count))] = Collection(
                file: file, source: try file.source())
        }
        return collections
    }
}

/// A file, folder or link on one side of a comparison: from a backup, or from the app's current data.
struct ComparedFile {
    private enum Place {
        /// A collection of a backup that does not store it.
        case rendered(RenderedFiles.File)
        /// `owner`: the owner of files whose entries name none.
        case stored(TreeEntry, owner: FileOwner?)
        /// `path`: below `live/`.
        case live(LiveEntry, path: [FileName], LiveState)
    }

    let name: FileName
    let isFolder: Bool
    /// Size in bytes.
    let size: UInt64
    let modificationTime: Timestamp
    private let linkTarget: [UInt8]?
    private let place: Place
    private let repository: Repository

    private init(_ entry: some ContentEntry, _ place: Place, _ repository: Repository) {
        name = entry.name
        isFolder = entry.kind == .directory
        size = entry.size
        modificationTime = entry.modificationTime
        linkTarget = entry.linkTarget
        self.place = place
        self.repository = repository
    }

    init(_ entry: TreeEntry, owner: FileOwner?, _ repository: Repository) {
        self.init(entry, .stored(entry, owner: owner), repository)
    }

    init(_ collection: SnapshotRecords.Collection, _ repository: Repository) {
        let entry = collection.entry
        self.init(entry, collection.file.map { Place.rendered($0) } ?? .stored(entry, owner: nil), repository)
    }

    init(_ entry: LiveEntry, at path: [FileName], _ view: LiveState, _ repository: Repository) {
        self.init(entry, .live(entry, path: path, view), repository)
    }

    /// The content of a folder, sorted by name.
    func children() throws(BackupError) -> [ComparedFile] {
        switch place {
        case .rendered: return []
        case .stored(let entry, let owner):
            return try repository.directory(of: entry).entries.map { ComparedFile($0, owner: owner, repository) }
        case .live(_, let path, let view):
            // The folder disappeared after its parent was listed.
            return (try view.children(of: path) ?? []).map { ComparedFile($0, at: path + [$0.name], view, repository) }
        }
    }

    /// Whether two folders are known to be equal without examining their content.
    func isSameFolder(as other: ComparedFile) -> Bool {
        guard case .stored(let entry, let owner) = place, case .stored(let otherEntry, let otherOwner) = other.place,
            owner == otherOwner
        else { return false }
        return entry.content == otherEntry.content
    }

    /// Whether two files or links have the same content. A file of the app is read only if its size is equal and it may differ
    /// from the file that was backed up.
    func hasContent(of other: ComparedFile) throws(BackupError) -> Bool {
        guard linkTarget == other.linkTarget, size == other.size else { return false }
        if linkTarget != nil { return true }
        switch (place, other.place) {
        case (.stored(let entry, _), .live(let live, _, _)), (.live(let live, _, _), .stored(let entry, _)):
            if let file = live.content as? MediaFileSource, entry.isUnchanged(file.item) { return true }
        case (.stored(let entry, _), .stored(let other, _)) where entry.content == other.content: return true
        case (.stored(let entry, _), .stored(let other, _)) where entry.crc32 != other.crc32: return false
        default: break
        }
        return try sha256() == other.sha256()
    }

    /// The file that this name is a hard link to; `nil` when it is the only name, or the backup has no link data.
    var link: EntryMetadata.Link? {
        guard case .stored(let entry, _) = place else { return nil }
        return entry.metadata?.link
    }

    /// Whether hard links are known. They are not for the app's files and for backups of older programs.
    var tellsLinks: Bool {
        guard case .stored(_, let owner) = place else { return false }
        return owner != nil
    }

    /// Whether two backed-up files or folders have the same owner and extended attributes.
    func hasMetadata(of other: ComparedFile) -> Bool {
        guard case .stored(let entry, let owner) = place, case .stored(let otherEntry, let otherOwner) = other.place else {
            return true
        }
        let (now, then) = (entry.metadata?.owner ?? owner, otherEntry.metadata?.owner ?? otherOwner)
        // Backups of older programs record no owner.
        return (now == then || now == nil || then == nil)
            && entry.metadata?.extendedAttributes ?? [] == otherEntry.metadata?.extendedAttributes ?? []
    }

    /// The bytes of a file.
    func source() throws(BackupError) -> StoredSource {
        switch place {
        case .rendered(let file): StoredSource(file.table, in: repository)
        case .stored(let entry, _): StoredSource(try repository.extents(of: entry.content), in: repository)
        case .live(let entry, _, _): StoredSource(try entry.content.table(), in: repository)
        }
    }

    /// The ranges it shares with an older version, as far as is known without reading both.
    func commonRanges(with old: ComparedFile) throws(BackupError) -> [CommonRange] {
        guard case .stored(let entry, _) = place, case .stored(let before, _) = old.place else { return [] }
        return try repository.commonRanges(old: before.content, new: entry.content)
    }

    private func sha256() throws(BackupError) -> SHA256Digest? {
        switch place {
        case .rendered(let file): return try file.checksums(in: repository).sha256
        case .stored(let entry, _): return try repository.checksums(of: entry)?.sha256
        case .live(let entry, _, _):
            if let file = entry.content as? MediaFileSource { return try file.open().sha256() }
            return try entry.content.checksums().sha256
        }
    }
}

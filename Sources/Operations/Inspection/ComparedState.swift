import BackupCore
import BackupRepository
import SystemIO

/// One side of a comparison: a backup, or the app's current data.
struct ComparedState {
    /// An exported collection.
    struct Collection {
        let source: any ByteSource
        let size: UInt64
        /// The checksum, if it is known without reading the content.
        let knownSHA256: SHA256Digest?
        /// Its place in a repository.
        let stored: (content: FileContent, repository: Repository)?

        func hasContent(of other: Collection) throws(BackupError) -> Bool {
            guard size == other.size else { return false }
            return try sha256() == other.sha256()
        }

        /// The ranges it shares with an older version, as far as is known without reading both.
        func commonRanges(with old: Collection) throws(BackupError) -> [CommonRange] {
            guard let stored, let before = old.stored else { return [] }
            return try stored.repository.commonRanges(old: before.content, new: stored.content)
        }

        private func sha256() throws(BackupError) -> SHA256Digest {
            if let knownSHA256 { return knownSHA256 }
            return try SourceChecksums.of(source).sha256
        }
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
        if let data = root.entry(named: "data"), data.kind == .directory {
            for entry in try repository.directory(of: data).entries where entry.kind == .file {
                let name = entry.name.description
                guard name.hasSuffix(Self.collectionSuffix) else { continue }
                collections[String(name.dropLast(Self.collectionSuffix.count))] = Collection(
                    source: StoredSource(try repository.extents(of: entry.content), in: repository), size: entry.size,
                    knownSHA256: entry.checksums?.sha256, stored: (entry.content, repository))
            }
        }
        self.collections = collections
        files = Self.comparedFiles.compactMap { root.entry(named: $0) }.map {
            .stored($0, repository, owner: $0.name == "media" ? snapshot.mediaOwner : nil)
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
        var collections: [String: Collection] = [:]
        for (name, range) in rendering.collections {
            collections[name] = Collection(
                source: SourceRange(rendering.export, range), size: range.upperBound - range.lowerBound, knownSHA256: nil,
                stored: nil)
        }
        self.collections = collections
        var files: [ComparedFile] = [.rendered("database.sqlite", rendering.database, rendering.createdAt)]
        if let path = store.mediaPath, let status = try FileSystem.lookBehindLinks(path), status.kind == .directory {
            files.append(
                .media(
                    LiveMedia.Item(name: "media", status: status, target: [], keepsChangeTime: false), path: [],
                    LiveMedia(path: path, amongMedia: try store.databaseAmongMedia())))
        }
        self.files = files
    }
}

/// A file, folder or link on one side of a comparison: from a backup, or from the app's current data.
enum ComparedFile {
    /// `owner`: the owner of files whose entries name none.
    case stored(TreeEntry, Repository, owner: FileOwner?)
    case media(LiveMedia.Item, path: [FileName], LiveMedia)
    /// The copy of the app's database made for the comparison.
    case rendered(FileName, SpoolFile, Timestamp)

    var name: FileName {
        switch self {
        case .stored(let entry, _, _): entry.name
        case .media(let item, _, _): item.name
        case .rendered(let name, _, _): name
        }
    }

    var isFolder: Bool {
        switch self {
        case .stored(let entry, _, _): entry.kind == .directory
        case .media(let item, _, _): item.status.kind == .directory
        case .rendered: false
        }
    }

    /// Size in bytes.
    var size: UInt64 {
        switch self {
        case .stored(let entry, _, _): entry.size
        case .media(let item, _, _): linkTarget.map { UInt64($0.count) } ?? item.status.size
        case .rendered(_, let file, _): file.size
        }
    }

    var modificationTime: Timestamp {
        switch self {
        case .stored(let entry, _, _): entry.modificationTime
        case .media(let item, _, _): item.status.modificationTime
        case .rendered(_, _, let time): time
        }
    }

    var linkTarget: [UInt8]? {
        switch self {
        case .stored(let entry, _, _): entry.linkTarget
        case .media(let item, _, _): item.status.kind == .symbolicLink ? item.target : nil
        case .rendered: nil
        }
    }

    /// The content of a folder, sorted by name.
    func children() throws(BackupError) -> [ComparedFile] {
        switch self {
        case .stored(let entry, let repository, let owner):
            return try repository.directory(of: entry).entries.map { .stored($0, repository, owner: owner) }
        case .media(_, let path, let media):
            // The folder disappeared after its parent was listed.
            return try (media.items(in: path[...]) ?? []).map { .media($0, path: path + [$0.name], media) }
        case .rendered: return []
        }
    }

    /// Whether two folders are known to be equal without examining their content.
    func isSameFolder(as other: ComparedFile) -> Bool {
        guard case .stored(let entry, _, let owner) = self, case .stored(let otherEntry, _, let otherOwner) = other,
            owner == otherOwner
        else { return false }
        return entry.content == otherEntry.content
    }

    /// Whether two files or links have the same content. A file of the app is read only if its size is equal and it may differ
    /// from the file that was backed up.
    func hasContent(of other: ComparedFile) throws(BackupError) -> Bool {
        guard linkTarget == other.linkTarget, size == other.size else { return false }
        if linkTarget != nil { return true }
        switch (self, other) {
        case (.stored(let entry, _, _), .media(let item, _, _)) where entry.isUnchanged(item): return true
        case (.media(let item, _, _), .stored(let entry, _, _)) where entry.isUnchanged(item): return true
        default: return try sha256() == other.sha256()
        }
    }

    /// The file that this name is a hard link to; `nil` when it is the only name, or the backup has no link data.
    var link: EntryMetadata.Link? {
        guard case .stored(let entry, _, _) = self else { return nil }
        return entry.metadata?.link
    }

    /// Whether hard links are known. They are not for the app's files and for backups of older programs.
    var tellsLinks: Bool {
        guard case .stored(_, _, let owner) = self else { return false }
        return owner != nil
    }

    /// Whether two backed-up files or folders have the same owner and extended attributes.
    func hasMetadata(of other: ComparedFile) -> Bool {
        guard case .stored(let entry, _, let owner) = self, case .stored(let otherEntry, _, let otherOwner) = other else {
            return true
        }
        let (now, then) = (entry.metadata?.owner ?? owner, otherEntry.metadata?.owner ?? otherOwner)
        // Backups of older programs record no owner.
        return (now == then || now == nil || then == nil)
            && entry.metadata?.extendedAttributes ?? [] == otherEntry.metadata?.extendedAttributes ?? []
    }

    private func sha256() throws(BackupError) -> SHA256Digest? {
        switch self {
        case .stored(let entry, _, _): return entry.checksums?.sha256
        case .media(let item, let path, let media): return try media.open(path[...], expected: item.status).sha256()
        case .rendered(_, let file, _): return try SourceChecksums.of(file).sha256
        }
    }
}

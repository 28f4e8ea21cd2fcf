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
    /// The media folder and the database, sorted by name. Records are compared separately, and the files that describe a backup always differ.
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

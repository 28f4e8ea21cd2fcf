import BackupCore
import BackupRepository
import SystemIO

/// One side of a comparison: a backup, or the app's data as it is now.
struct ComparedState {
    /// A collection as it was exported.
    struct Collection {
        let source: any ByteSource
        let size: UInt64
        /// What can be told without reading it.
        let knownSHA256: SHA256Digest?
        /// Where it lies in a repository.
        let stored: (content: FileContent, repository: Repository)?

        func hasContent(of other: Collection) throws(BackupError) -> Bool {
            guard size == other.size else { return false }
            return try sha256() == other.sha256()
        }

        /// What it has in common with an older one, as far as that can be told without reading them.
        func commonRanges(with old: Collection) throws(BackupError) -> [CommonRange] {
            guard let stored, let before = old.stored else { return [] }
            return try stored.repository.commonRanges(old: before.content, new: stored.content)
        }

        private func sha256() throws(BackupError) -> SHA256Digest {
            if let knownSHA256 { return knownSHA256 }
            return try SourceChecksums.of(source).sha256
        }
    }

    /// `nil` for the data as it is now.
    let snapshot: Snapshot?
    let collections: [String: Collection]
    /// Sorted by name: the media folder and the database. The records are compared as such, and what describes a backup differs always.
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

    /// Renders the data into files without names; they go with this value.
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

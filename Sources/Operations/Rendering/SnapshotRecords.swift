import BackupCore
import BackupRepository
import SnapshotFormats

/// The records of a snapshot as its export has them: stored in the snapshot or, if they are not (the setting `export`), rendered
/// from its database. Everything that needs the records of a backup gets them here.
struct SnapshotRecords {
    /// One collection.
    struct Collection {
        /// The name on the wire.
        let name: String
        /// The file in the folder `data`. That of a rendered collection is not in the repository.
        let entry: TreeEntry
        let source: any ByteSource
        /// `nil` for a stored one.
        let file: RenderedFiles.File?
    }

    /// The export and the collections, if they are not stored.
    let rendered: RenderedFiles?
    /// Values that the export cannot represent exactly.
    let inexact: InexactValues?
    private let root: Directory
    private let snapshot: Snapshot
    private let repository: Repository

    /// Renders what is not stored.
    /// - Parameter store: the store of the app. Its definition says how the records are rendered.
    /// - Throws: the repository's errors; `notSupported` for a database that the app's definition does not fit.
    init(of snapshot: Snapshot, in repository: Repository, for store: Store) throws(BackupError) {
        self.snapshot = snapshot
        self.repository = repository
        root = try repository.rootDirectory(of: snapshot)
        if Self.areStored(in: root) {
            rendered = nil
            inexact = InexactValues(of: snapshot)
        } else {
            let rendering = try SnapshotRendering(of: snapshot, root, in: repository, for: store)
            rendered = try rendering.files(of: snapshot, store.definition.archiveLayout)
            inexact = rendering.inexact
        }
    }

    /// Whether a snapshot has them in its folder.
    static func areStored(in root: Directory) -> Bool { root.entry(named: RenderedFiles.exportName) != nil }

    /// `export.json`.
    func export() throws(BackupError) -> ExtentTable {
        if let rendered { return rendered.export.table }
        guard let entry = root.entry(named: RenderedFiles.exportName) else {
            throw BackupError(.notFound, "the backup has no export", path: snapshot.name.description)
        }
        return try repository.extents(of: entry.content)
    }

    /// In the order of their names.
    func collections() throws(BackupError) -> [Collection] {
        var entries = rendered?.data.entries ?? []
        if rendered == nil, let data = root.entry(named: RenderedFiles.dataName), data.kind == .directory {
            entries = try repository.directory(of: data).entries
        }
        var collections: [Collection] = []
        let suffix = RenderedFiles.collectionSuffix
        for entry in entries where entry.kind == .file && entry.name.description.hasSuffix(suffix) {
            let file = rendered?.file(entry)
            collections.append(
                Collection(
                    name: String(entry.name.description.dropLast(suffix.count)), entry: entry,
                    source: file?.source ?? StoredContentSource(entry.content, in: repository), file: file))
        }
        return collections
    }
}

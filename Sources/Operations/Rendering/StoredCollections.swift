import BackupCore
import BackupRepository
import SnapshotFormats

/// The collections that a backup has stored. Unlike `SnapshotRecords`, it renders none.
struct StoredCollections {
    /// Files, sorted by name.
    let entries: [TreeEntry]
    /// Whether the backup stores its records at all.
    let areStored: Bool

    /// - Throws: `repositoryDamaged`.
    init(of snapshot: Snapshot, in repository: Repository) throws(BackupError) {
        let root = try repository.rootDirectory(of: snapshot)
        areStored = SnapshotRecords.areStored(in: root)
        guard let data = root.entry(named: RenderedFiles.dataName), data.kind == .directory else {
            entries = []
            return
        }
        entries = try repository.directory(of: data).entries.filter {
            $0.kind == .file && $0.name.description.hasSuffix(RenderedFiles.collectionSuffix)
        }
    }

    /// The name of the collection in exports.
    static func name(of entry: TreeEntry) -> String {
        String(entry.name.description.dropLast(RenderedFiles.collectionSuffix.count))
    }
}

extension Snapshot {
    /// The schema version of its export; `nil` when it was not recorded.
    var schemaVersion: Int? { record.attributes["schema-version"].flatMap { Int($0) } }
}

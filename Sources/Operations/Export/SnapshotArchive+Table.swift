import BackupCore
import BackupRepository
import Export

extension SnapshotArchive {
    /// The layout of a snapshot's archive as a table of extents.
    /// - Parameter layout: `nil` for the snapshot's own.
    /// - Throws: `repositoryDamaged`.
    public static func table(
        of snapshot: Snapshot, _ format: ArchiveFormat, layout: ArchivePathMap? = nil, in repository: Repository
    ) throws(BackupError) -> ExtentTable {
        let names = try names(of: snapshot, in: repository)
        let root = try repository.rootDirectory(of: snapshot)
        let layout = layout ?? snapshot.record.archiveLayout
        return try format.layout.table { (body) throws(BackupError) in
            try visit(root, layout: layout, time: snapshot.creationTime, in: repository, names: names, body)
        }
    }

    /// The archive layout for restoring a snapshot: its own, plus the records and the media, which a layout may leave out.
    static func layoutForRestore(of snapshot: Snapshot) -> ArchivePathMap {
        let layout = snapshot.record.archiveLayout.including(["export.json", "media/"])
        // Manifests with file names give the places in the app's own archive.
        return snapshot.record.attributes[Snapshot.archiveNamesAttribute] == nil ? layout.withoutNestedTargets : layout
    }

    /// The names of its media files in its archives.
    static func names(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> ArchiveNames {
        guard let naming = snapshot.record.attributes[Snapshot.archiveNamesAttribute].flatMap({ ManifestNaming($0) }) else {
            return .none
        }
        return try ManifestNaming.names(naming, root: repository.rootDirectory(of: snapshot), in: repository)
    }
}

import BackupCore
import BackupRepository
import Export

extension SnapshotArchive {
    /// A snapshot's archive, laid out.
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

    /// The layout of the archive by which a snapshot is restored: its own, with the records and the media, which a layout may leave out.
    static func layoutForRestore(of snapshot: Snapshot) -> ArchivePathMap {
        let layout = snapshot.record.archiveLayout.including(["export.json", "media/"])
        // Manifests of named files say where in the app's archive those are.
        return snapshot.record.attributes[Snapshot.archiveNamesAttribute] == nil ? layout.withoutNestedTargets : layout
    }

    /// What its media are called in its archives.
    static func names(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> ArchiveNames {
        guard let naming = snapshot.record.attributes[Snapshot.archiveNamesAttribute].flatMap({ ManifestNaming($0) }) else {
            return .none
        }
        return try ManifestNaming.names(naming, root: repository.rootDirectory(of: snapshot), in: repository)
    }
}

import BackupCore
import BackupRepository
import Export

extension SnapshotArchive {
    /// A snapshot's archive, laid out.
    /// - Throws: `repositoryDamaged`.
    public static func table(
        of snapshot: Snapshot, _ format: ArchiveFormat, in repository: Repository
    ) throws(BackupError) -> ExtentTable {
        let names = try names(of: snapshot, in: repository)
        return try format.layout.table { (body) throws(BackupError) in try visit(snapshot, in: repository, names: names, body) }
    }

    /// What its media are called in its archives.
    static func names(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> ArchiveNames {
        guard let naming = snapshot.record.attributes[Snapshot.archiveNamesAttribute].flatMap({ ManifestNaming($0) }) else {
            return .none
        }
        return try ManifestNaming.names(naming, root: repository.rootDirectory(of: snapshot), in: repository)
    }
}

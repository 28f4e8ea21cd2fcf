import BackupCore
import BackupRepository
import Export

extension SnapshotArchive {
    /// A snapshot's archive, laid out.
    /// - Throws: `repositoryDamaged`.
    public static func table(
        of snapshot: Snapshot, _ format: ArchiveFormat, in repository: Repository
    ) throws(BackupError) -> ExtentTable {
        try format.layout.table { (body) throws(BackupError) in try visit(snapshot, in: repository, body) }
    }
}

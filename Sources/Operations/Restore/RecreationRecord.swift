import AppData
import BackupCore
import Glibc
import SystemIO

/// A file in a restore's work folder that records that the restore creates a lost database again. After a crash it lists the files left beside the database,
/// and shows that the database may be back although the restore was undone.
struct RecreationRecord {
    private static let name = "lost-database"
    /// A path and a few names.
    private static let limitBytes = 8_192

    /// The message about the database when the rest of the restore failed.
    static let broughtBack: Message =
        "The database, which was lost, is there again as the backup has it. The rest was not restored: restore again."

    private let path: String

    init(in workPath: String) { path = "\(workPath)/\(Self.name)" }

    /// Not synced: if a power cut loses it, some files are left behind.
    func write(_ files: RecreationFiles) throws(BackupError) {
        let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, permissions: 0o600)
        try files.bytes.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.writeAll(bytes, at: 0) }
    }

    private var files: RecreationFiles? {
        (try? FileSystem.readFile(path, limitBytes: Self.limitBytes)).flatMap { RecreationFiles(bytes: $0) }
    }

    /// Removes what the crash left beside the database.
    func clearAway() { files?.clearAway() }

    /// Whether the database that a crashed restore was creating now exists.
    func hasMade(_ database: AppDatabase) -> Bool { files?.haveBecome(database) ?? false }

    /// The records of crashed restores.
    static func abandoned(in spool: String) -> [RecreationRecord] {
        ((try? WorkFolder.abandoned(in: spool)) ?? []).map { RecreationRecord(in: $0) }
    }
}

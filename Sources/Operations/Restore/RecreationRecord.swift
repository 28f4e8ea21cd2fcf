import AppData
import BackupCore
import Glibc
import SystemIO

/// A file in the work folder of a restore that says that it makes a lost database again. After a crash it tells which file was left beside the database,
/// and that the database may be back although the restore was undone.
struct RecreationRecord {
    private static let name = "lost-database"

    /// What is said of the database when the rest of the restore failed.
    static let broughtBack: Message =
        "The database, which was lost, is there again as the backup has it. The rest was not restored: restore again."

    private let path: String

    init(in workPath: String) { path = "\(workPath)/\(Self.name)" }

    /// Not synchronized: a power cut that loses it costs a file that stays.
    func write(draftPath: String?) throws(BackupError) {
        let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, permissions: 0o600)
        try Array((draftPath ?? "").utf8).withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.writeAll(bytes, at: 0)
        }
    }

    /// Removes the file that a crash left beside the database.
    func removeDraft() {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: Int(PATH_MAX)), !bytes.isEmpty else { return }
        let draft = String(decoding: bytes, as: UTF8.self)
        guard AppDatabase.isDraft(FileName(FileSystem.lastComponent(draft))),
            let folder = try? FolderHandle(path: FileSystem.parentPath(draft))
        else { return }
        let name = FileName(FileSystem.lastComponent(draft))
        guard let status = try? folder.status(name), status.kind == .regular else { return }
        try? folder.removeFile(name)
    }

    /// Whether the database that a restore was making when it crashed is there: its draft has got the name of the database.
    func hasMade(_ database: AppDatabase) -> Bool {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: Int(PATH_MAX)), (try? database.isLost()) == false else {
            return false
        }
        let draft = String(decoding: bytes, as: UTF8.self)
        return draft.isEmpty || (try? FileSystem.look(draft)) == .some(nil)
    }

    /// Of restores that crashed.
    static func abandoned(in spool: String) -> [RecreationRecord] {
        ((try? WorkFolder.abandoned(in: spool)) ?? []).map { RecreationRecord(in: $0) }
    }
}

import BackupCore
import BackupRepository
import Export
import SystemIO

/// The last restore that changed the app's data, and the safety backup that undoes it: `last-restore.json` in the store. The newest safety backup is not
/// enough: a restore that failed after making one leaves it as well.
struct LastRestoreRecord {
    struct Restore: Equatable, Sendable {
        /// The name of the restored file or backup.
        let name: String
        let time: Timestamp
        let safetySnapshot: SnapshotID
    }

    /// Older programs do not read a later version of this file.
    private static let version: UInt64 = 1

    let path: String

    /// - Returns: `nil` when there was no restore, or an older program made it.
    /// - Throws: `unsupportedVersion` when a later program wrote it; `damagedContent`.
    func read() throws(BackupError) -> Restore? {
        guard try FileSystem.exists(path) else { return nil }
        let members = RecordedMembers(try FileSystem.readFile(path, limitBytes: 1 << 16))
        if let version = members.number("version"), version > Self.version {
            throw BackupError(
                .unsupportedVersion, "a later version of backupfs has noted the last restore here", path: path,
                remedy: "Use that version, or restore the safety backup by its name. See: backupfs snapshots --safety")
        }
        guard let name = members.text("file"), let time = members.text("at").flatMap({ ISO8601.parse($0) }),
            let snapshot = members.text("safetySnapshot").flatMap({ SnapshotID(hexadecimal: $0) })
        else {
            throw BackupError(
                .damagedContent, "the note of the last restore is damaged", path: path,
                remedy: "Restore the safety backup by its name. See: backupfs snapshots --safety")
        }
        return Restore(name: name, time: time, safetySnapshot: snapshot)
    }

    func write(_ restore: Restore) throws(BackupError) {
        let document = OrderedJSON.members([
            "version": .integer(Self.version), "file": .text(restore.name),
            "at": .text(ISO8601.format(restore.time.wholeSeconds)),
            "safetySnapshot": .text(restore.safetySnapshot.hexadecimal),
        ])
        try FileSystem.writeFileAtomically(path, document.prettyText)
    }
}

import BackupCore
import BackupRepository
import SystemIO

/// The place of the backup that this store made last: `last-backup` in the store. A copy of a store (its folder, or the disk of a machine) has the same
/// identity, and makes backups in the same line. Whichever of the two comes second finds a backup there that it has not made, and begins a line of its own:
/// one rule must not remove the backups of both, and the newest may hold the other one's data.
struct LastBackupRecord {
    struct Place: Equatable {
        let source: SourceID
        /// No backup that this store made has a higher one.
        let sequence: UInt64
        /// Of the record that has this place.
        let token: [UInt8]

        /// Whether the store that made the backup of this place has not made this one of the same line.
        func precludes(_ snapshot: Snapshot) -> Bool {
            snapshot.sequence > sequence || snapshot.sequence == sequence && snapshot.record.token != token
        }
    }

    private static let magic = "backupfs-last-backup 1"

    let path: String

    /// - Returns: `nil` where the store has not noted any: it is new, or an older program made its backups. Every backup of its line is its own then.
    /// - Throws: what reading throws: then it is not known whose they are.
    func read() throws(BackupError) -> Place? {
        let bytes: [UInt8]
        do throws(BackupError) {
            bytes = try FileSystem.readFile(path, limitBytes: 1 << 10)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.count == 4, lines[0] == Self.magic, let source = SourceID(hexadecimal: String(lines[1])),
            let sequence = UInt64(lines[2]), let token = Hexadecimal.decode(lines[3].utf8)
        else { return nil }
        return Place(source: source, sequence: sequence, token: token)
    }

    /// The newest backup in a source that the store with this record has not made; `nil` where nothing is noted.
    /// - Parameter snapshots: in the order in which they were made.
    func backupOfCopy(_ source: SourceID, among snapshots: [Snapshot]) throws(BackupError) -> Snapshot? {
        guard let place = try read(), place.source == source else { return nil }
        return snapshots.last { $0.source == source && place.precludes($0) }
    }

    /// Before the backup appears: one that appears without it would be taken for another store's.
    func write(_ place: Place) throws(BackupError) {
        let lines = [Self.magic, place.source.hexadecimal, String(place.sequence), Hexadecimal.encode(place.token)]
        try FileSystem.writeFileAtomically(path, Array((lines.joined(separator: "\n") + "\n").utf8))
    }
}

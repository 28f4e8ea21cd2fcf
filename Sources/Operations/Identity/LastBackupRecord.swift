import BackupCore
import BackupRepository
import SystemIO

/// The position of the last backup made by this store: `last-backup` in the store. A copy of a store (its folder, or a machine's
/// disk) has the same identity, and makes backups in the same line. The second of the two to make one finds a backup that it did
/// not make, and begins its own line: one rule must not remove the backups of both, and the newest may hold the other one's data.
struct LastBackupRecord {
    struct Place: Equatable {
        let source: SourceID
        /// No backup made by this store has a higher one.
        let sequence: UInt64
        /// The token of the record at this position.
        let token: [UInt8]

        /// Whether the store whose last backup has this position cannot have made this one in the same line.
        func precludes(_ snapshot: Snapshot) -> Bool {
            snapshot.sequence > sequence || snapshot.sequence == sequence && snapshot.record.token != token
        }
    }

    enum Content: Equatable {
        /// The file is missing: an older program created the store, or the file was removed. All backups of the store's line
        /// count as its own.
        case missing
        case place(Place)
        /// No backup of the line is known to be this store's.
        case damaged
    }

    private static let magic = "backupfs-last-backup 1"

    let path: String

    /// - Throws: the errors of reading: then it is unknown whose the backups are.
    func read() throws(BackupError) -> Content {
        let bytes: [UInt8]
        do throws(BackupError) {
            bytes = try FileSystem.readFile(path, limitBytes: 1 << 10)
        } catch {
            switch error.code {
            case .notFound: return .missing
            case .tooLarge: return .damaged
            default: throw error
            }
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.count == 4, lines[0] == Self.magic, let source = SourceID(hexadecimal: String(lines[1])),
            let sequence = UInt64(lines[2]), let token = Hexadecimal.decode(lines[3].utf8)
        else { return .damaged }
        return .place(Place(source: source, sequence: sequence, token: token))
    }

    /// The newest backup in a source that the store with this record is not known to have made; `nil` where the file is missing.
    /// The only such backup may be a removed one.
    func backupOfCopy(_ source: SourceID, in repository: Repository) throws(BackupError) -> Snapshot? {
        // Before the position is read: a backup of this store that appears meanwhile has changed the position first, and must not
        // be compared with the previous one. If the removed ones cannot be read, the others suffice.
        let removed = ((try? repository.removedSnapshots()) ?? []).map(\.snapshot)
        let backups = repository.snapshots() + removed
        let place: Place?
        switch try read() {
        case .missing: return nil
        case .damaged: place = nil
        case .place(let read):
            guard read.source == source else { return nil }
            place = read
        }
        return backups.filter { $0.source == source && place?.precludes($0) != false }
            .max(by: Snapshot.wasMadeBefore)
    }

    /// For a store that has made no backup in a source: a copy of it may make the first one. All backups in the source so far
    /// count as the store's.
    /// - Parameter newest: the newest backup in the source.
    func write(_ source: SourceID, newest: Snapshot?) throws(BackupError) {
        try write(Place(source: source, sequence: newest?.sequence ?? 0, token: newest?.record.token ?? [0]))
    }

    /// Called before the backup appears: one that appears without it would be mistaken for another store's.
    func write(_ place: Place) throws(BackupError) {
        let lines = [Self.magic, place.source.hexadecimal, String(place.sequence), Hexadecimal.encode(place.token)]
        try FileSystem.writeFileAtomically(path, Array((lines.joined(separator: "\n") + "\n").utf8))
    }
}

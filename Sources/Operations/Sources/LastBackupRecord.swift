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

    enum Content: Equatable {
        /// The file is not there: an older program made the store, or the file was removed. Every backup of the store's line counts as its own.
        case missing
        case place(Place)
        /// No backup of the line is known to be this store's.
        case damaged
    }

    private static let magic = "backupfs-last-backup 1"

    let path: String

    /// - Throws: what reading throws: then it is not known whose the backups are.
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

    /// The newest backup in a source that the store with this record is not known to have made; `nil` where the file is missing. One that was removed
    /// may be the only one that tells.
    func backupOfCopy(_ source: SourceID, in repository: Repository) throws(BackupError) -> Snapshot? {
        let place: Place?
        switch try read() {
        case .missing: return nil
        case .damaged: place = nil
        case .place(let read):
            guard read.source == source else { return nil }
            place = read
        }
        // Where these cannot be read, the others tell.
        let removed = ((try? repository.removedSnapshots()) ?? []).map(\.snapshot)
        return (repository.snapshots() + removed).filter { $0.source == source && place?.precludes($0) != false }
            .max(by: Snapshot.wasMadeBefore)
    }

    /// For a store that has made no backup in a source: a copy of it may make the first one. All that the source has by now counts as the store's.
    /// - Parameter newest: of the backups in the source.
    func write(_ source: SourceID, newest: Snapshot?) throws(BackupError) {
        try write(Place(source: source, sequence: newest?.sequence ?? 0, token: newest?.record.token ?? [0]))
    }

    /// Before the backup appears: one that appears without it would be taken for another store's.
    func write(_ place: Place) throws(BackupError) {
        let lines = [Self.magic, place.source.hexadecimal, String(place.sequence), Hexadecimal.encode(place.token)]
        try FileSystem.writeFileAtomically(path, Array((lines.joined(separator: "\n") + "\n").utf8))
    }
}

import BackupCore
import Restore
import SystemIO

/// Whether a backup has room, asked before anything is copied. A first one shares nothing with others, so the size of the media is known to be what it
/// needs; what a later one shares with those before it nobody can tell beforehand, and to refuse it for a guess would leave the data without a backup.
struct BackupRoom {
    private let store: Store

    init(_ store: Store) { self.store = store }

    /// - Throws: `noSpace` with what is needed and what is free.
    func require() throws(BackupError) {
        // What cannot be looked at is told by the backup itself.
        guard store.repository.snapshots().isEmpty, let room = try? needs() else { return }
        try room.require(
            "a first backup of these media",
            remedy:
                "Free some space and try again, or put the repository on a larger disk. If the files take less room than their sizes say: backupfs backup --skip-room-check"
        )
    }

    private func needs() throws(BackupError) -> RoomCheck {
        var room = RoomCheck()
        guard let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) != nil else { return room }
        let bytes = try SafetyRoom.changedBytes(in: DirectoryReader(path: mediaPath), store.databaseAmongMedia(), since: nil)
        try room.need(bytes, at: store.repository.path)
        return room
    }

    /// A disk that became full on the way is told as what it is full of, and not as the file that happened to be written.
    func naming(_ error: BackupError) -> BackupError {
        guard error.code == .noSpace, let path = error.path else { return error }
        let places = [store.repository.path, store.paths.spool]
        guard let place = places.first(where: { path.hasPrefix($0 + "/") }), let space = try? FileSystem.space(at: place) else {
            return error
        }
        return BackupError(
            .noSpace,
            "the backup does not fit on the disk, which has \(space.availableBytes) bytes free without it: \(error.message)",
            path: place, remedy: error.remedy, findings: error.findings)
    }
}

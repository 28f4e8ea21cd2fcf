import BackupCore
import Restore
import SystemIO

/// Checks for enough disk space before anything is copied. A first backup shares nothing with others, so it needs the size of the media. How much a later one
/// shares with earlier backups is unknown, and refusing it on a guess would leave the data without a backup.
struct BackupRoom {
    private let store: Store

    init(_ store: Store) { self.store = store }

    /// - Throws: `noSpace` with what is needed and what is free.
    func require() throws(BackupError) {
        // The backup itself reports what cannot be examined here.
        guard store.repository.snapshots().isEmpty, let room = try? needs() else { return }
        try room.require(
            "a first backup of these media",
            remedy:
                "Free some space and try again, or put the repository on a larger disk. If the files take less space than their sizes say: backupfs backup --skip-room-check"
        )
    }

    private func needs() throws(BackupError) -> RoomCheck {
        var room = RoomCheck()
        guard let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) != nil else { return room }
        let bytes = try SafetyRoom.changedBytes(in: DirectoryReader(path: mediaPath), store.databaseAmongMedia(), since: nil)
        try room.need(bytes, at: store.repository.path)
        return room
    }

    /// When the disk fills up on the way, names the full place instead of the file that happened to be written.
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

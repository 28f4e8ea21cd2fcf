import BackupCore
import BackupRepository
import Restore
import SystemIO

/// The maximum space for a restore's safety backup: the copy of the database and the export made from it, and in the repository everything that changed since
/// the newest backup.
struct SafetyRoom {
    let store: Store
    /// The size of the database that is created in place of a lost one.
    var lostSizeBytes: UInt64 = 0

    func add(to room: inout RoomCheck) throws(BackupError) {
        let databasePath = try store.database.realPath()
        let databaseSize = ["", "-wal"].reduce(lostSizeBytes) {
            $0.addingSaturating(FileSystem.statusIfPresent(databasePath + $1)?.size ?? 0)
        }
        try room.need(databaseSize.multipliedSaturating(by: 2), at: store.paths.spool)
        var stored = databaseSize
        if let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) != nil {
            let newest = store.ownSnapshots().last?.creationTime
            stored = stored.addingSaturating(
                try Self.changedBytes(in: DirectoryReader(path: mediaPath), store.databaseAmongMedia(), since: newest))
        }
        try room.need(stored, at: store.repository.path)
    }

    /// Files that cannot be examined are left to the backup, which reports them.
    static func changedBytes(
        in folder: borrowing DirectoryReader, _ amongMedia: DatabaseAmongMedia, since time: Timestamp?
    ) throws(BackupError) -> UInt64 {
        var sum: UInt64 = 0
        for name in try folder.names() where !amongMedia.hides(name) {
            guard let status = try? folder.status(name) else { continue }
            switch status.kind {
            case .regular:
                let isNew = time.map { status.changeTime >= $0 || status.modificationTime >= $0 } ?? true
                if isNew { sum = sum.addingSaturating(status.size) }
            case .directory:
                guard !amongMedia.isDepthLimit, let inner = try? folder.openDirectory(name) else { continue }
                sum = sum.addingSaturating(try changedBytes(in: inner, amongMedia.entering(name), since: time))
            default: break
            }
        }
        return sum
    }
}

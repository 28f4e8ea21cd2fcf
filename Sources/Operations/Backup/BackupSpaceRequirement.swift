import BackupCore
import BackupRepository
import Restore
import SystemIO

/// Checks for enough disk space before anything is copied. A first backup shares nothing with others, so it needs the size of the
/// media. How much a later one shares with earlier backups is unknown, and refusing it on a guess would leave the data without a
/// backup.
struct BackupSpaceRequirement {
    private let store: Store

    init(_ store: Store) { self.store = store }

    /// - Throws: `noSpace` with what is needed and what is free.
    func require() throws(BackupError) {
        // The backup itself reports what cannot be examined here.
        guard store.repository.snapshots().isEmpty, !store.repository.isRemote, let room = try? needs() else { return }
        try room.require(
            "a first backup of these media",
            remedy:
                "Free some space and try again, or put the repository on a larger disk. If the files take less space than their sizes say: backupfs backup --skip-room-check"
        )
    }

    private func needs() throws(BackupError) -> DiskSpaceRequirement {
        var room = DiskSpaceRequirement()
        guard let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) != nil else { return room }
        let bytes = try SafetySpaceRequirement.changedBytes(
            in: DirectoryHandle(path: mediaPath), store.databaseAmongMedia(), since: nil)
        try room.need(bytes, at: store.repository.path)
        return room
    }

    /// When the disk fills up on the way, names the full place instead of the file that happened to be written.
    func naming(_ error: BackupError) -> BackupError {
        if let server = store.settings.primary, error.path?.hasPrefix(server.url) != false {
            return RemoteMessages(label: server.shownLabel, location: server.url).uploading(error)
        }
        guard error.code == .noSpace, let path = error.path else { return error }
        let places = [store.repository.path, store.paths.spool]
        guard let place = places.first(where: { path.hasPrefix($0 + "/") }), let space = try? FileSystem.space(at: place) else {
            return error
        }
        return error.with(
            .noSpace,
            "the backup does not fit on the disk, which has \(space.availableBytes) bytes free without it: \(error.message)",
            path: place)
    }
}

/// The maximum space for a restore's safety backup: the copy of the database and the export made from it, and in the repository
/// everything that changed since the newest backup.
struct SafetySpaceRequirement {
    let store: Store
    /// The size of the database that is created in place of a lost one.
    var lostSizeBytes: UInt64 = 0

    func add(to room: inout DiskSpaceRequirement) throws(BackupError) {
        let databasePath = try store.database.realPath()
        let databaseSize = ["", "-wal"].reduce(lostSizeBytes) {
            $0.addingSaturating(FileSystem.statusIfPresent(databasePath + $1)?.size ?? 0)
        }
        try room.need(databaseSize.multipliedSaturating(by: 2), at: store.paths.spool)
        var stored = databaseSize
        if let mediaPath = store.mediaPath, try FileSystem.lookBehindLinks(mediaPath) != nil {
            let newest = store.ownSnapshots().last?.creationTime
            stored = stored.addingSaturating(
                try Self.changedBytes(in: DirectoryHandle(path: mediaPath), store.databaseAmongMedia(), since: newest))
        }
        // A server says itself when it is full.
        if !store.repository.isRemote { try room.need(stored, at: store.repository.path) }
    }

    /// Files that cannot be examined are left to the backup, which reports them.
    static func changedBytes(
        in folder: DirectoryHandle, _ amongMedia: DatabaseAmongMedia, since time: Timestamp?
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

import BackupCore
import Synchronization
import SystemIO

/// Listing the removed snapshots that can be undeleted.
extension SnapshotStore {
    /// The snapshots that can be undeleted, in the order of their removal, and the records that cannot be read.
    func readRemoved() throws(BackupError) -> (snapshots: [RemovedSnapshot], damages: [RemovedDamage]) {
        let now = SystemClock.now()
        let names: [FileName]
        do throws(BackupError) {
            names = try DirectoryReader(path: layout.removed).names()
        } catch {
            if error.code == .notFound { return ([], []) }
            throw error
        }
        var snapshots: [RemovedSnapshot] = []
        var damages: [RemovedDamage] = []
        var labelDamages: [BackupError] = []
        for name in names {
            guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.snapshotExtension) else { continue }
            let id = SnapshotID(digest)
            guard list[id] == nil else { continue }
            let path = layout.removedPath(of: id)
            do throws(BackupError) {
                let modificationTime = try FileSystem.status(path).modificationTime
                var time: Timestamp? = modificationTime > Self.unknownRemovalTime ? modificationTime : nil
                do throws(BackupError) {
                    let record = try readRecord(id, at: path)
                    let label = try readLabel(id, record, &labelDamages)
                    // A removal dated before the creation was made with a wrong clock. That does not hold if the creation is dated in the future.
                    if modificationTime < record.creationTime, record.creationTime <= now { time = nil }
                    snapshots.append(
                        RemovedSnapshot(snapshot: Snapshot(id: id, record: record, label: label), removalTime: time))
                } catch {
                    if error.code == .notFound { continue }
                    damages.append(RemovedDamage(id: id, removalTime: time, error: error))
                }
            } catch {
                // Undeleted or given up since the folder was listed.
                if error.code != .notFound { throw error }
            }
        }
        snapshots.sort { left, right in
            guard let leftTime = left.removalTime, let rightTime = right.removalTime, leftTime != rightTime else {
                return (left.removalTime == nil) == (right.removalTime == nil)
                    ? Snapshot.precedes(left.snapshot, right.snapshot) : right.removalTime == nil
            }
            return leftTime < rightTime
        }
        return (snapshots, damages)
    }

    /// The snapshots that can be undeleted, in the order of their removal. The records are read again only when entries of the folders have changed: the state
    /// of a mount queries them again and again, and there may be thousands.
    func removedSnapshots() throws(BackupError) -> [RemovedSnapshot] {
        try refresh()
        let stamps: [FolderStamp]
        do throws(BackupError) {
            // Taken before reading, as in `scan`.
            stamps = [
                try FolderStamp(path: layout.removed), try FolderStamp(path: layout.snapshots),
                try FolderStamp(path: layout.labels),
            ]
        } catch {
            if error.code == .notFound { return [] }
            throw error
        }
        let known = lastRemoved.withLock { $0 }
        if let known, zip(known.stamps, stamps).allSatisfy({ $0.covers($1) }) { return known.snapshots }
        let snapshots = try readRemoved().snapshots
        lastRemoved.withLock { $0 = KnownRemoved(snapshots: snapshots, stamps: stamps) }
        return snapshots
    }
}

/// The snapshots that could be undeleted when the folders had these stamps.
struct KnownRemoved: Sendable {
    let snapshots: [RemovedSnapshot]
    let stamps: [FolderStamp]
}

/// A record in `removed/` that cannot be read.
struct RemovedDamage {
    let id: SnapshotID
    /// `nil` when it is unknown.
    let removalTime: Timestamp?
    let error: BackupError
}

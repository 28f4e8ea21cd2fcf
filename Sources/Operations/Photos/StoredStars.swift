import BackupCore
import BackupRepository
import Photos
import SystemIO

/// The stars that are kept in backups.
extension StarredPhotos {
    /// Stars the photos again that had a star when a backup was made.
    /// - Parameter report: called with each change.
    /// - Returns: photos that are not in the media folder any more, by their paths in it, and why others could not be starred.
    /// - Throws: `notFound` when the backup has no list of photos; `noSpace`, `interrupted`; errors of the repository. What was
    ///   starred until then stays so.
    public func star(
        from snapshot: Snapshot, in repository: Repository, _ report: (Change) -> Void
    ) throws(BackupError) -> (missing: [String], failures: [BackupError]) {
        let index = try PhotoIndex(listOf: snapshot, in: repository)
        var missing: [String] = []
        var failures: [BackupError] = []
        // By their bytes: equal strings can be two names.
        var starred: Set<[UInt8]> = []
        for path in try index.starredPaths() {
            try Cancellation.check()
            // Only such paths can have a star.
            guard !starred.contains(path), let path = String(validating: path, as: UTF8.self) else { continue }
            do throws(BackupError) {
                for change in try star(path) where starred.insert(Array(change.path.utf8)).inserted { report(change) }
            } catch {
                switch error.code {
                case .notFound, .notADirectory: missing.append(path)
                case .interrupted, .noSpace: throw error
                default: failures.append(error)
                }
            }
        }
        return (missing, failures)
    }

    /// The paths of the starred photos for a backup, below the media folder. What cannot be read of the queue is left out.
    /// - Returns: also an error of the queue: the backup lacks stars then.
    static func pathsForBackup(of store: Store) -> (paths: Set<[UInt8]>, error: BackupError?) {
        do throws(BackupError) {
            let stars = try StarredPhotos(store)
            guard try FileSystem.exists(stars.queue.queue) else { return ([], nil) }
            var damage: BackupError?
            let items = try stars.all { damage = damage ?? $0 }
            return (Set(items.map { Array($0.path.utf8) }), damage)
        } catch {
            return ([], error)
        }
    }
}

import BackupCore
import BackupRepository
import Photos
import SystemIO

/// The stars that are kept in backups.
extension StarredPhotos {
    /// Stars the photos again that had a star when a backup was made.
    /// - Parameter report: called with each change.
    /// - Returns: photos that are not in the media folder any more, by their paths in it.
    /// - Throws: `notFound` when the backup has no list of photos; errors of the repository. What was starred until then stays so.
    public func star(
        from snapshot: Snapshot, in repository: Repository, _ report: (Change) -> Void
    ) throws(BackupError) -> [String] {
        let list = try repository.rootDirectory(of: snapshot).entry(named: PhotoPlaces.listName)
        guard let list, list.kind == .file else {
            throw BackupError(
                .notFound, "this backup has no list of photos", path: snapshot.name.description,
                remedy: "Choose a newer backup of an app whose definition says photos: true.")
        }
        let index = try PhotoIndex(reading: StoredContentSource(list.content, in: repository))
        var missing: [String] = []
        var starred: Set<String> = []
        for path in try index.starredPaths() {
            try Cancellation.check()
            // Only such paths can have a star.
            guard let path = String(validating: path, as: UTF8.self), !starred.contains(path) else { continue }
            do throws(BackupError) {
                for change in try star(path) where starred.insert(change.path).inserted { report(change) }
            } catch {
                guard error.code == .notFound else { throw error }
                missing.append(path)
            }
        }
        return missing
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

import BackupCore
import BackupRepository
import Photos

extension PhotoIndex {
    /// The list of photos in a backup.
    /// - Throws: `notFound` when it has none; errors of the repository.
    convenience init(listOf snapshot: Snapshot, in repository: Repository) throws(BackupError) {
        let list = try repository.rootDirectory(of: snapshot).entry(named: PhotoPlaces.listName)
        guard let list, list.kind == .file else {
            throw BackupError(
                .notFound, "this backup has no list of photos", path: snapshot.name.description,
                remedy: "Choose a newer backup of an app whose definition says photos: true.")
        }
        try self.init(reading: StoredContentSource(list.content, in: repository))
    }
}

import BackupCore
import BackupRepository
import Photos

extension PhotoIndex {
    /// The list of photos in a backup.
    /// - Throws: `notFound` when it has none; errors of the repository.
    convenience init(listOf snapshot: Snapshot, in repository: Repository) throws(BackupError) {
        guard let file = try Self.file(in: snapshot, of: repository) else {
            throw BackupError(
                .notFound, "this backup has no list of photos", path: snapshot.name.description,
                remedy: "Choose a newer backup of an app whose definition says photos: true.")
        }
        try self.init(reading: StoredContentSource(file.content, in: repository))
    }
}

import BackupCore
import BackupRepository
import Synchronization

/// The thumbnails of the newest backup, which is read when the first one is asked for. To make one takes longer than to upload
/// the photo.
final class NewestThumbnails: Sendable {
    private let store: Store
    private let known = Mutex<KnownPhotos?>(nil)

    init(_ store: Store) { self.store = store }

    /// - Returns: `nil` if the backup has none of this content that can be read.
    func thumbnail(of content: SHA256Digest) -> [UInt8]? {
        let repository = store.repository
        let photos = known.withLock { known -> KnownPhotos in
            if let known { return known }
            let newest = store.ownership.newest(of: repository.snapshots())
            let photos = KnownPhotos(PreviousBackup(newest, in: repository), in: repository, retriesUnreadable: false)
            known = photos
            return photos
        }
        return photos.thumbnail(of: content, in: repository)
    }
}

import BackupCore
import BackupRepository
import Photos
import Synchronization

/// An open list of photos, and its views.
final class OpenPhotos: Sendable {
    let index: PhotoIndex
    let views: PhotoViews

    init(_ index: PhotoIndex) {
        self.index = index
        views = PhotoViews(index)
    }
}

/// The lists of photos of the snapshots that were looked at last.
final class SnapshotPhotos: Sendable {
    /// Of 100,000 photos, one takes 5 MB.
    private static let countLimit = 4

    private let open = Mutex<[(id: SnapshotID, photos: OpenPhotos)]>([])
    /// Held while a list is read, so that concurrent readers read it once.
    private let reading = Mutex(())

    /// - Returns: `nil` when the snapshot has no list.
    func photos(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> OpenPhotos? {
        if let known = known(snapshot.id) { return known }
        guard let file = try PhotoIndex.file(in: snapshot, of: repository) else { return nil }
        return try reading.withLock { (_) throws(BackupError) in
            if let known = known(snapshot.id) { return known }
            let photos = OpenPhotos(try PhotoIndex(reading: StoredContentSource(file.content, in: repository)))
            open.withLock { open in
                if open.count >= Self.countLimit { open.removeFirst() }
                open.append((snapshot.id, photos))
            }
            return photos
        }
    }

    private func known(_ id: SnapshotID) -> OpenPhotos? {
        open.withLock { open in
            guard let place = open.firstIndex(where: { $0.id == id }) else { return nil }
            let found = open.remove(at: place)
            open.append(found)
            return found.photos
        }
    }
}

/// The views of the newest list of the app's photos.
final class LivePhotoViews: Sendable {
    private let newest = Mutex<OpenPhotos?>(nil)

    func photos(_ index: PhotoIndex) -> OpenPhotos {
        newest.withLock { newest in
            if let newest, newest.index === index { return newest }
            let photos = OpenPhotos(index)
            newest = photos
            return photos
        }
    }
}

import BackupCore
import Formats
import PhotoData
import SystemIO

/// Reads starred photos: their hashes, what they say of themselves, their thumbnails. For one thread at a time.
final class PhotoReader {
    private let folder: PhotoFolder
    private let downloads: PhotoDownloads
    private let helper: MediaHelper
    private let now: @Sendable () -> Timestamp
    /// How often a file is read that changes meanwhile.
    private static let tryLimit = 3

    init(folder: PhotoFolder, downloads: PhotoDownloads, helper: String?, now: @escaping @Sendable () -> Timestamp) {
        self.folder = folder
        self.downloads = downloads
        self.helper = MediaHelper(program: helper)
        self.now = now
    }

    /// What is known of a photo; a file that is as it was is not read again.
    /// - Parameters:
    ///   - catalog: a content that is in the bucket keeps its key.
    ///   - month: that of the still, for the video of a Live Photo.
    /// - Throws: `notFound` and others when the file cannot be read; `notSupported` when no photo can be, since the month of its
    ///   key would be wrong for ever.
    func content(
        of item: QueueItem, isLive: Bool, catalog: (String) -> CatalogEntry?, month: PhotoKey?,
        willDownload: () throws(BackupError) -> Void
    ) throws(BackupError) -> QueueItem.Content {
        let state = try folder.state(of: item.path)
        if let known = item.content, known.file == state { return known }
        let descriptor = try downloads.open(item, willDownload)
        var (md5, sha256, read) = try Self.hashes(of: try SharedFile(downloads.open(item) {}))
        for _ in 1..<Self.tryLimit {
            guard try QueueItem.FileState(descriptor.status()) != read else { break }
            (md5, sha256, read) = try Self.hashes(of: try SharedFile(downloads.open(item) {}))
        }
        let photo = try metadata(of: descriptor)
        // A download has the time of its stub, and its size is not that of it.
        let isHere = try folder.stub(of: item.path) == nil
        let metadata = BackupMetadata(
            photo, fileModificationDate: isHere ? read.modified : state.modified, fileSize: read.size)
        guard
            let own = PhotoKey(
                md5: md5, dateTaken: photo?.dateTaken, filename: item.originalFilename, isLive: isLive, now: now())
        else { throw BackupError(.invalidArgument, "the photo has no month", path: descriptor.path) }
        var key = month.map { own.inMonth(of: $0) } ?? own
        // An earlier try may have uploaded it.
        if let earlier = item.content?.key, earlier.md5 == md5 { key = earlier }
        if let there = catalog(md5)?.key { key = there }
        var content = QueueItem.Content(file: isHere ? read : state, sha256: sha256, key: key, metadata: metadata)
        content.livePhotoIdentifier = photo?.livePhotoIdentifier
        return content
    }

    /// Both digests, in one pass with flat memory, and the state of the file before.
    private static func hashes(of file: SharedFile) throws(BackupError) -> (String, SHA256Digest, QueueItem.FileState) {
        let state = QueueItem.FileState(try file.status())
        var md5 = MD5Hasher()
        let sha256 = try file.sha256 { md5.update($0) }
        return (md5.finish().hexadecimal, sha256, state)
    }

    /// - Returns: `nil` for a file that says nothing, or that no decoder understands: it is backed up all the same.
    private func metadata(of file: borrowing OwnedDescriptor) throws(BackupError) -> PhotoMetadata? {
        switch try helper.metadata(of: file) {
        case .found(let photo): return photo
        case .nothing, .unreadable: return nil
        case .helperMissing(let error): throw error
        }
    }

    /// All that is to be stored of a photo.
    func package(_ item: QueueItem, _ content: QueueItem.Content) throws(BackupError) -> BackupPackage {
        let descriptor = try downloads.open(item) {}
        let photo = try metadata(of: descriptor)
        var thumbnail: [UInt8]?
        switch try helper.thumbnail(of: descriptor) {
        case .found(let bytes): thumbnail = bytes
        case .nothing, .unreadable: break
        case .helperMissing(let error): throw error
        }
        var sidecar = photo.map { PhotoDocument(photo: $0, hasTags: true).json } ?? .object([])
        sidecar = sidecar.adding([
            "md5": content.key.md5, "original_filename": item.originalFilename, "source": item.source.word,
            "live_photo_pair": content.livePhotoPair, "versions": try folder.versions(of: item.path),
        ])
        // What was read must be of the content whose name it gets.
        guard try folder.state(of: item.path) == content.file else {
            throw BackupError(
                .damagedContent, "the photo was changed while it was read", path: descriptor.path, remedy: "Try again.")
        }
        return BackupPackage(
            originalData: try SharedFile(downloads.open(item) {}), thumbnailData: thumbnail, metadata: content.metadata,
            key: content.key, sha256: content.sha256, originalFilename: item.originalFilename, source: item.source,
            livePhotoPair: content.livePhotoPair, sidecar: sidecar.prettyText)
    }
}

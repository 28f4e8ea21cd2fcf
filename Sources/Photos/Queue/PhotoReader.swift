import BackupCore
import Formats
import PhotoData
import SystemIO

/// Reads starred photos: their hashes, what they say of themselves, their thumbnails. For one thread at a time.
final class PhotoReader {
    private let folder: PhotoFolder
    private let downloads: PhotoDownloads
    private let helper: MediaHelper
    private let known: (@Sendable (SHA256Digest) -> [UInt8]?)?
    private let now: @Sendable () -> Timestamp
    /// How often a file is read that changes meanwhile.
    private static let tryLimit = 3
    /// Whether a photo is accepted that the helper cannot read for a reason that may pass.
    var isLastTry = false

    init(folder: PhotoFolder, downloads: PhotoDownloads, _ options: QueueWorker.Options) {
        self.folder = folder
        self.downloads = downloads
        helper = MediaHelper(program: options.helper)
        known = options.thumbnail
        now = options.now
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
        if let known = item.content, try downloads.isPhoto(item, in: known.file) { return known }
        var skipsCopy = false
        for _ in 0..<Self.tryLimit {
            let opened = try downloads.open(item, skipsCopy: skipsCopy, willDownload)
            var hasher = MD5Hasher()
            let sha256 = try opened.file.sha256 { hasher.update($0) }
            if opened.isCopy, sha256 != item.copy {
                // Damaged: the photo may still be in the media folder.
                skipsCopy = true
                continue
            }
            if skipsCopy, sha256 != item.copy {
                throw BackupError(
                    .damagedContent, "the copy that the store keeps of this photo is damaged",
                    path: "\(folder.root)/\(item.path)", remedy: "Copy the photo again from where it came from.")
            }
            let photo = try metadata(of: opened, item)
            guard try isUnchanged(opened, item) else { continue }
            return try content(
                of: item, opened, md5: hasher.finish().hexadecimal, sha256, photo, isLive: isLive, catalog: catalog, month: month)
        }
        throw PhotoDownloads.changed("\(folder.root)/\(item.path)")
    }

    private func content(
        of item: QueueItem, _ opened: PhotoDownloads.OpenPhoto, md5: String, _ sha256: SHA256Digest, _ photo: PhotoMetadata?,
        isLive: Bool, catalog: (String) -> CatalogEntry?, month: PhotoKey?
    ) throws(BackupError) -> QueueItem.Content {
        // A download has the time of its stub, and its size is not that of it.
        let metadata = BackupMetadata(photo, fileModificationDate: opened.state.modified, fileSize: opened.file.size)
        guard
            let own = PhotoKey(
                md5: md5, dateTaken: photo?.dateTaken, filename: item.originalFilename, isLive: isLive, now: now())
        else { throw BackupError(.invalidContent, "the photo has no month", path: opened.file.path) }
        var key = month.map { own.inMonth(of: $0) } ?? own
        // An earlier try may have uploaded it.
        if let earlier = item.content?.key, earlier.md5 == md5 { key = earlier }
        if let there = catalog(md5)?.key { key = there }
        var content = QueueItem.Content(file: opened.state, sha256: sha256, key: key, metadata: metadata)
        content.livePhotoIdentifier = photo?.livePhotoIdentifier
        return content
    }

    /// Whether a file, or the stub of a download, still is as it was when it was opened.
    private func isUnchanged(_ opened: PhotoDownloads.OpenPhoto, _ item: QueueItem) throws(BackupError) -> Bool {
        opened.state == (opened.isHere ? QueueItem.FileState(try opened.file.status()) : try folder.state(of: item.path))
    }

    /// - Returns: `nil` for a file that says nothing, or that no decoder understands: it is backed up all the same.
    /// - Throws: `inputOutput` when the helper has failed, which may pass: the month of the key would be wrong for ever.
    private func metadata(of opened: PhotoDownloads.OpenPhoto, _ item: QueueItem) throws(BackupError) -> PhotoMetadata? {
        let outcome = try opened.file.withDescriptor { (file) throws(BackupError) in try helper.metadata(of: file) }
        let path = "\(folder.root)/\(item.path)"
        switch outcome {
        case .found(let photo): return photo
        case .nothing:
            if opened.isHere { return nil }
            // A page that says why there is no photo, perhaps.
            try FileSystem.removeFile(opened.file.path)
            throw BackupError(.invalidContent, UnreadableMedia.damaged.message, path: path)
        case .unreadable(let reason):
            switch reason {
            case .damaged, .tooLarge: return nil
            case .crashed, .timedOut, .malformedAnswer:
                if isLastTry { return nil }
                throw BackupError(.inputOutput, reason.message, path: path, remedy: "Try again.")
            }
        case .helperMissing(let error): throw error
        }
    }

    /// - Returns: `nil` for a file of which there is no picture.
    private func makeThumbnail(of opened: PhotoDownloads.OpenPhoto) throws(BackupError) -> [UInt8]? {
        switch try opened.file.withDescriptor({ (file) throws(BackupError) in try helper.thumbnail(of: file) }) {
        case .found(let bytes): return bytes
        case .nothing, .unreadable: return nil
        case .helperMissing(let error): throw error
        }
    }

    /// All that is to be stored of a photo.
    func package(_ item: QueueItem, _ content: QueueItem.Content) throws(BackupError) -> BackupPackage {
        var opened = try downloads.open(item) {}
        if opened.isCopy, opened.state != content.file { opened = try downloads.open(item, skipsCopy: true) {} }
        let photo = try metadata(of: opened, item)
        var thumbnail = known?(content.sha256)
        if thumbnail == nil { thumbnail = try makeThumbnail(of: opened) }
        var sidecar = photo.map { PhotoDocument(photo: $0, hasTags: true).json } ?? .object([])
        sidecar = sidecar.adding([
            "md5": content.key.md5, "original_filename": item.originalFilename, "source": item.source.word,
            "live_photo_pair": content.livePhotoPair, "versions": try folder.versions(of: item.path),
        ])
        // What was read must be of the content whose name it gets.
        guard opened.state == content.file, try isUnchanged(opened, item) else {
            throw PhotoDownloads.changed("\(folder.root)/\(item.path)")
        }
        return BackupPackage(
            originalData: opened.file, thumbnailData: thumbnail, metadata: content.metadata, key: content.key,
            sha256: content.sha256, originalFilename: item.originalFilename, source: item.source,
            livePhotoPair: content.livePhotoPair, sidecar: sidecar.prettyText)
    }
}

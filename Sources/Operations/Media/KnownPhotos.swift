import BackupCore
import BackupRepository
import Photos
import SnapshotFormats

/// What the previous backup knows of the photos: whether a photo's bytes were read before, at the same path or at another one.
/// What of it is unreadable counts as unknown.
struct KnownPhotos: Sendable {
    /// What a file of this backup is.
    enum Match {
        /// Its record, for its present path, and what belongs to it.
        case photo(PhotoRecord, sidecar: StoredFile?, thumbnail: StoredFile?)
        /// No photo.
        case other
    }

    /// Of what is read of photos. A backup with another version, or none, knows nothing.
    static let version = "1"
    /// The same for a backup in which some files were not tried: what has no record there may be a photo all the same.
    static let partialVersion = "1 partial"

    /// Those that backups have are smaller.
    static let thumbnailLimitBytes = 50_000

    private let isComplete: Bool
    /// Whether photos that could not be read, or have no thumbnail, are tried again.
    private let retriesUnreadable: Bool
    private let index: PhotoIndex?
    private let media: StoredMediaCatalog?
    private let metadata: StoredMediaCatalog?
    private let thumbnails: StoredMediaCatalog?

    init(_ earlier: PreviousBackup, in repository: Repository, retriesUnreadable: Bool) {
        self.retriesUnreadable = retriesUnreadable
        let isKnown = Self.isKnown(earlier.snapshot)
        isComplete = earlier.snapshot?.record.attributes[Snapshot.photosAttribute] == Self.version
        let list = isKnown ? earlier.content([PhotoPlaces.listName]) : nil
        index = list.flatMap { try? PhotoIndex(reading: StoredContentSource($0, in: repository)) }
        func catalog(_ name: FileName) -> StoredMediaCatalog? {
            earlier.folder(name).map { StoredMediaCatalog($0, in: repository) }
        }
        media = catalog("media")
        metadata = catalog(PhotoPlaces.metadataFolderName)
        thumbnails = catalog(PhotoPlaces.thumbnailFolderName)
    }

    /// Whether this program can use what a backup has of photos.
    static func isKnown(_ snapshot: Snapshot?) -> Bool {
        let attribute = snapshot?.record.attributes[Snapshot.photosAttribute]
        return attribute == version || attribute == partialVersion
    }

    /// - Parameter path: of the file below the media folder.
    /// - Returns: `nil` for a file that has to be read.
    func find(_ file: TreeEntry, _ path: [UInt8], _ writer: BackupWriter) throws(BackupError) -> Match? {
        guard let index, let checksums = file.checksums else { return nil }
        let here: PhotoRecord?
        do {
            here = try index.record(path: path)
        } catch {
            return nil
        }
        if here == nil, isComplete, isUnchanged(file, path) { return .other }
        let known = here?.sha256 == checksums.sha256 ? here : (try? index.record(sha256: checksums.sha256)).flatMap { $0 }
        guard var record = known, record.md5 == checksums.md5, record.status != .unread,
            !retriesUnreadable || record.status != .unreadable && !record.lacksThumbnail
        else { return nil }
        let sidecar = (try? sidecar(of: record)).flatMap { $0 }
        let thumbnail = record.hasThumbnail ? (try? thumbnailFile(of: record)).flatMap { $0 } : nil
        guard let sidecar, record.hasThumbnail == (thumbnail != nil) else { return nil }
        let contents = [sidecar.content] + (thumbnail.map { [$0.content] } ?? [])
        guard try writer.takeOver(contents).allSatisfy({ $0 }) else { return nil }
        record.path = path
        record.modificationTime = file.modificationTime
        return .photo(record, sidecar: sidecar, thumbnail: thumbnail)
    }

    /// The thumbnail of a content; `nil` if the backup has none that can be read.
    func thumbnail(of content: SHA256Digest, in repository: Repository) -> [UInt8]? {
        guard let record = (try? index?.record(sha256: content)).flatMap({ $0 }), record.hasThumbnail,
            let file = (try? thumbnailFile(of: record)).flatMap({ $0 })
        else { return nil }
        return try? repository.bytes(of: file.content, limitBytes: Self.thumbnailLimitBytes)
    }

    /// A photo of this backup with the bytes of another one: that at the same path, if it has them.
    func photo(like record: PhotoRecord) throws(BackupError) -> PhotoRecord? {
        guard let sha256 = record.sha256 else { return nil }
        if let here = try index?.record(path: record.path), here.sha256 == sha256 { return here }
        return try index?.record(sha256: sha256)
    }

    /// The file in `metadata/` of a photo of this backup.
    func sidecar(of record: PhotoRecord) throws(BackupError) -> StoredFile? {
        try companion(of: record, in: metadata, PhotoPlaces.sidecarName)
    }

    /// The file in `thumbnails/` of a photo of this backup.
    func thumbnailFile(of record: PhotoRecord) throws(BackupError) -> StoredFile? {
        try companion(of: record, in: thumbnails, PhotoPlaces.thumbnailName)
    }

    private func isUnchanged(_ file: TreeEntry, _ path: [UInt8]) -> Bool {
        let then = (try? media?.entry(at: path)).flatMap { $0 }
        return then.map { $0.kind == .file && $0.hasSameBytes(as: file) } ?? false
    }

    /// The file that belongs to a photo, under its usual name or that of the content.
    private func companion(
        of record: PhotoRecord, in catalog: StoredMediaCatalog?,
        _ nameOf: (FileName, MD5Digest, (FileName) -> Bool) -> FileName
    ) throws(BackupError) -> StoredFile? {
        guard let catalog, let md5 = record.md5 else { return nil }
        let name = FileName(bytes: BytePath.lastComponent(of: record.path))
        let folder = BytePath.folder(of: record.path)
        for isTaken in [false, true] {
            // A photo may have the name of that content, and then it is that photo's.
            if isTaken, try index?.record(path: BytePath.join(folder, Array(md5.hexadecimal.utf8))) != nil { continue }
            let path = BytePath.join(folder, nameOf(name, md5) { _ in isTaken }.bytes)
            guard let entry = try catalog.entry(at: path), let checksums = entry.checksums else { continue }
            return StoredFile(content: entry.content, checksums: checksums)
        }
        return nil
    }
}

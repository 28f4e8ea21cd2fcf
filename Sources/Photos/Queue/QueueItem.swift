import BackupCore
import Formats
import SystemIO

/// A starred photo on its way into the bucket: one file of the queue.
public struct QueueItem: Sendable, Equatable {
    /// How far it is.
    public enum Stage: Sendable, Equatable {
        case queued, downloading, processing, uploading, uploaded
        case failed(Failure)

        /// As in the file and the status: `queued`, `failed:networkError`.
        public var text: String {
            switch self {
            case .queued: "queued"
            case .downloading: "downloading"
            case .processing: "processing"
            case .uploading: "uploading"
            case .uploaded: "uploaded"
            case .failed(let failure): "failed:\(failure.rawValue)"
            }
        }

        init?(_ text: String) {
            if text.hasPrefix("failed:") {
                guard let failure = Failure(rawValue: String(text.dropFirst(7))) else { return nil }
                self = .failed(failure)
                return
            }
            let all: [Stage] = [.queued, .downloading, .processing, .uploading, .uploaded]
            guard let stage = all.first(where: { $0.text == text }) else { return nil }
            self = stage
        }
    }

    /// Why it could not be uploaded.
    public enum Failure: String, Sendable, CaseIterable {
        case photoNotFound, iCloudDownloadFailed, metadataExtractionFailed, insufficientStorage, networkError, s3UploadFailed
    }

    /// A state of a file. One that has the same is not read again.
    public struct FileState: Sendable, Equatable {
        let device: UInt64
        let inode: UInt64
        let size: UInt64
        let modified: Timestamp
        let changed: Timestamp

        init(_ status: FileStatus) {
            (device, inode, size) = (status.device, status.inode, status.size)
            (modified, changed) = (status.modificationTime, status.changeTime)
        }

        var json: OrderedJSON {
            [
                "device": "\(device)", "inode": "\(inode)", "size": "\(size)", "modified": modified, "changed": changed,
            ]
        }

        fileprivate init?(_ json: OrderedJSON?) {
            func number(_ name: String) -> UInt64? { json?[name]?.textValue.flatMap { UInt64($0) } }
            func time(_ name: String) -> Timestamp? { json?[name]?.textValue.flatMap { ISO8601.parse($0) } }
            guard let device = number("device"), let inode = number("inode"), let size = number("size"),
                let modified = time("modified"), let changed = time("changed")
            else { return nil }
            (self.device, self.inode, self.size, self.modified, self.changed) = (device, inode, size, modified, changed)
        }
    }

    /// 32 hexadecimal digits, from the path.
    public let id: String
    /// In the media folder.
    public let path: String
    public let source: PhotoSource
    /// The item of the other part of a Live Photo.
    public var pairID: String?
    /// When it was starred last.
    public let queuedAt: Timestamp
    /// How far it is.
    public var stage = Stage.queued
    /// Tries that have failed since it was queued.
    public var attempts = 0
    /// Why the last try failed, in English.
    public var error: String?
    /// Whether it is tried again without a user: the network has failed it, for a reason that may pass.
    public var mayPass = false
    /// What is known of the content after it was read once.
    public var content: Content?
    /// The bytes that the star stands for, if they were copied into `photos/starred/` and are kept (`KeptCopies`): the photo may
    /// have been moved out of the media folder. `nil` for the photo at its path.
    public var copy: SHA256Digest?

    /// The result of reading the file.
    public struct Content: Sendable, Equatable {
        /// The file that was read.
        public var file: FileState
        public var sha256: SHA256Digest
        public var key: PhotoKey
        public var metadata: BackupMetadata
        /// What the parts of a Live Photo have in common.
        public var livePhotoIdentifier: String?
        /// Whether the thumbnail was stored.
        public var hasThumbnail = false
        /// The MD5 of the other part of a Live Photo.
        public var livePhotoPair: String?
    }

    public init(path: String, source: PhotoSource, queuedAt: Timestamp) {
        id = Self.id(of: path)
        self.path = path
        self.source = source
        self.queuedAt = queuedAt
    }

    /// The identifier of the item of a path in the media folder.
    public static func id(of path: String) -> String {
        String(SHA256Hasher.hash(Array("directory:\(path)".utf8)).hexadecimal.prefix(32))
    }

    /// Without folders.
    public var originalFilename: String { FileSystem.lastComponent(path) }

    var encoded: [UInt8] {
        let document: OrderedJSON = [
            "id": id, "md5": content?.key.md5, "s3Key": content?.key.text, "metadata": content?.metadata.json ?? .null,
            "source": source.json, "path": path, "originalFilename": originalFilename, "stage": stage.text, "attempts": attempts,
            "error": error, "queuedAt": queuedAt, "pairId": pairID, "livePhotoPair": content?.livePhotoPair,
            "sha256": content?.sha256.hexadecimal, "livePhotoIdentifier": content?.livePhotoIdentifier,
            "hasThumbnail": content?.hasThumbnail, "file": content?.file.json ?? .null, "copy": copy?.hexadecimal,
            "mayPass": mayPass,
        ]
        return document.prettyText
    }

    /// - Returns: `nil` for a text that is no item.
    init?(decoding bytes: [UInt8]) {
        guard let json = OrderedJSON(parsing: bytes), let path = json["path"]?.textValue, !path.isEmpty,
            json["id"]?.textValue == Self.id(of: path), let source = PhotoSource(json["source"]),
            let stage = json["stage"]?.textValue.flatMap({ Stage($0) }),
            let queuedAt = json["queuedAt"]?.textValue.flatMap({ ISO8601.parse($0) })
        else { return nil }
        self.init(path: path, source: source, queuedAt: queuedAt)
        self.stage = stage
        attempts = Int(json["attempts"]?.wholeValue ?? 0)
        error = json["error"]?.textValue
        mayPass = json["mayPass"] == .boolean(true) || stage == .failed(.networkError)
        pairID = json["pairId"]?.textValue
        copy = json["copy"]?.textValue.flatMap { SHA256Digest(hexadecimal: $0) }
        if let key = json["s3Key"]?.textValue.flatMap({ PhotoKey(parsing: $0) }), let metadata = BackupMetadata(json["metadata"]),
            let file = FileState(json["file"]),
            let sha256 = json["sha256"]?.textValue.flatMap({ SHA256Digest(hexadecimal: $0) })
        {
            content = Content(file: file, sha256: sha256, key: key, metadata: metadata)
            content?.livePhotoIdentifier = json["livePhotoIdentifier"]?.textValue
            content?.hasThumbnail = json["hasThumbnail"] == .boolean(true)
            content?.livePhotoPair = json["livePhotoPair"]?.textValue
        }
        // What is uploaded has a name there.
        if stage == .uploaded, content == nil { return nil }
    }

    /// For the catalog; `nil` for a photo that was not read yet.
    func catalogEntry(uploadedAt: Timestamp) -> CatalogEntry? {
        content.map { content in
            var entry = CatalogEntry(
                key: content.key, size: content.metadata.fileSize, dateTaken: content.metadata.dateTaken,
                fileModificationDate: content.metadata.fileModificationDate, originalFilenames: [originalFilename],
                source: source.word, livePhotoPair: content.livePhotoPair,
                thumbnailKey: content.hasThumbnail ? content.key.thumbnailText : nil, uploadedAt: uploadedAt)
            entry.sha256 = content.sha256
            return entry
        }
    }
}

import BackupCore
import Formats
import SystemIO

/// One photo in the bucket, as the catalog lists it.
public struct CatalogEntry: Sendable, Equatable {
    public let key: PhotoKey
    /// In bytes.
    public var size: UInt64
    /// As in `BackupMetadata`.
    public var dateTaken: String?
    /// Of the file that was uploaded; `nil` if it is not known.
    public var fileModificationDate: Timestamp?
    /// The names of all files with this content, the first one that was starred first.
    public var originalFilenames: [String]
    /// `directory` or `apple-photos`.
    public var source: String
    /// The MD5 of the other part of a Live Photo.
    public var livePhotoPair: String?
    /// The name of the thumbnail's object; `nil` if there is none.
    public var thumbnailKey: String?
    /// In whole seconds.
    public var uploadedAt: Timestamp
    /// Of the content; `nil` if it is not known.
    public var sha256: SHA256Digest?
    /// Members of later versions, which are kept.
    private var others: [OrderedJSON.Member] = []

    public init(
        key: PhotoKey, size: UInt64, dateTaken: String?, fileModificationDate: Timestamp?, originalFilenames: [String],
        source: String, livePhotoPair: String?, thumbnailKey: String?, uploadedAt: Timestamp
    ) {
        self.key = key
        self.size = size
        self.dateTaken = dateTaken
        self.fileModificationDate = fileModificationDate
        self.originalFilenames = originalFilenames
        self.source = source
        self.livePhotoPair = livePhotoPair
        self.thumbnailKey = thumbnailKey
        self.uploadedAt = uploadedAt
    }

    /// Of the content, in small hexadecimal digits.
    public var md5: String { key.md5 }

    private static let names: Set<String> = [
        "md5", "key", "size", "date_taken", "file_modified", "original_filenames", "source", "live_photo_pair",
        "thumbnail_key", "uploaded_at", "sha256",
    ]

    public var json: OrderedJSON {
        let document: OrderedJSON = [
            "md5": md5, "key": key.text, "size": size, "date_taken": dateTaken, "file_modified": fileModificationDate,
            "original_filenames": originalFilenames, "source": source, "live_photo_pair": livePhotoPair,
            "thumbnail_key": thumbnailKey, "uploaded_at": uploadedAt, "sha256": sha256?.hexadecimal,
        ]
        return others.isEmpty ? document : document.adding(.object(others))
    }

    /// - Returns: `nil` for a line that is none.
    init?(_ json: OrderedJSON) {
        guard case .object(let members) = json, let key = json["key"]?.textValue.flatMap({ PhotoKey(parsing: $0) }),
            json["md5"]?.textValue == key.md5, let size = json["size"]?.wholeValue, size >= 0,
            let uploadedAt = json["uploaded_at"]?.textValue.flatMap({ ISO8601.parse($0) })
        else { return nil }
        self.init(
            key: key, size: UInt64(size), dateTaken: json["date_taken"]?.textValue,
            fileModificationDate: json["file_modified"]?.textValue.flatMap { ISO8601.parse($0) },
            originalFilenames: json["original_filenames"]?.listValue?.compactMap(\.textValue) ?? [],
            source: json["source"]?.textValue ?? "directory", livePhotoPair: json["live_photo_pair"]?.textValue,
            thumbnailKey: json["thumbnail_key"]?.textValue, uploadedAt: uploadedAt)
        sha256 = json["sha256"]?.textValue.flatMap { SHA256Digest(hexadecimal: $0) }
        others = members.filter { !Self.names.contains($0.name) }
    }

    /// What two machines know of one photo. Commutative but for the order of names, so that machines agree after each has read
    /// the other's catalog.
    mutating func merge(_ other: CatalogEntry) {
        for name in other.originalFilenames where !originalFilenames.contains(name) { originalFilenames.append(name) }
        dateTaken = dateTaken ?? other.dateTaken
        fileModificationDate = fileModificationDate ?? other.fileModificationDate
        livePhotoPair = livePhotoPair ?? other.livePhotoPair
        thumbnailKey = thumbnailKey ?? other.thumbnailKey
        sha256 = sha256 ?? other.sha256
        uploadedAt = min(uploadedAt, other.uploadedAt)
        for member in other.others where !others.contains(where: { $0.name == member.name }) { others.append(member) }
    }
}

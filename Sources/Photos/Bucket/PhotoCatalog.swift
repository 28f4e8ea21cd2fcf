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

/// The catalog of a bucket: one line of JSON for each content.
public struct PhotoCatalog: Sendable, Equatable {
    /// A catalog of a million photos.
    static let limitBytes = 1 << 30

    private var byMD5: [String: CatalogEntry] = [:]

    public init() {}

    /// - Throws: `damagedContent` when a line is none: what it said must not be lost by writing the catalog again.
    public init(parsing bytes: [UInt8], path: String) throws(BackupError) {
        for (index, line) in bytes.split(separator: 10).enumerated() {
            guard let entry = OrderedJSON(parsing: line).flatMap({ CatalogEntry($0) }) else {
                throw BackupError(
                    .damagedContent, "line \(index + 1) of the catalog of photos is damaged", path: path,
                    remedy: "Make the catalog again from what is in the bucket: backupfs star --rebuild-catalog")
            }
            note(entry)
        }
    }

    /// What can still be read of a damaged catalog.
    init(readableLinesOf bytes: [UInt8]) {
        for line in bytes.split(separator: 10) {
            if let entry = OrderedJSON(parsing: line).flatMap({ CatalogEntry($0) }) { note(entry) }
        }
    }

    /// What is known of a content; `nil` if nothing is.
    public subscript(_ md5: String) -> CatalogEntry? { byMD5[md5] }

    /// The number of contents.
    public var count: Int { byMD5.count }

    /// In the order of their keys.
    public var entries: [CatalogEntry] { byMD5.values.sorted { $0.key.text < $1.key.text } }

    /// Adds what is known of a photo to what was known.
    public mutating func note(_ entry: CatalogEntry) {
        if byMD5[entry.md5] == nil { byMD5[entry.md5] = entry } else { byMD5[entry.md5]?.merge(entry) }
    }

    /// Notes the other part of a Live Photo, where none is known.
    mutating func link(_ md5: String, to pair: String) {
        guard let entry = byMD5[md5], entry.livePhotoPair == nil else { return }
        byMD5[md5]?.livePhotoPair = pair
    }

    /// Whether anything is known of a content.
    public func has(_ md5: String) -> Bool { byMD5[md5] != nil }

    /// Where contents are.
    func keys(of contents: Set<SHA256Digest>) -> [SHA256Digest: PhotoKey] {
        var keys: [SHA256Digest: PhotoKey] = [:]
        for entry in byMD5.values { if let sha256 = entry.sha256, contents.contains(sha256) { keys[sha256] = entry.key } }
        return keys
    }

    /// This catalog with all that another one knows.
    func merging(_ other: PhotoCatalog) -> PhotoCatalog {
        var merged = self
        merged.merge(other)
        return merged
    }

    /// Adds all that another catalog knows.
    public mutating func merge(_ other: PhotoCatalog) {
        for entry in other.byMD5.values { note(entry) }
    }

    /// Adds what an older catalog knows of the same objects. Only a listing says whether a thumbnail is there.
    mutating func supplement(from older: PhotoCatalog) {
        for var entry in older.byMD5.values where byMD5[entry.md5]?.key == entry.key {
            entry.thumbnailKey = nil
            note(entry)
        }
    }

    /// One line for each photo.
    public var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries { bytes += entry.json.compactText + [10] }
        return bytes
    }
}

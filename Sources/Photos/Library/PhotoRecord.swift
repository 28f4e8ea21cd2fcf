import BackupCore
import Formats
import PhotoData
import SystemIO

/// What an app's list of photos (`photos.jsonl`) has of one photo or video: a line of JSON.
public struct PhotoRecord: Sendable, Equatable {
    /// How far the file was read.
    public enum Status: String, Sendable {
        /// Its fields are what it says of itself.
        case read
        /// No decoder can read it. It is not tried again while its bytes stay the same.
        case unreadable
        /// It was not tried: the helper was missing, or the file changed meanwhile. Its name says that it is a photo.
        case unread
    }

    /// A field, under the name that `photo-info` gives it.
    public enum Field: String, Sendable, CaseIterable {
        case mediaType = "media_type"
        case contentType = "content_type"
        case dateTaken = "date_taken"
        case pixelWidth = "pixel_width"
        case pixelHeight = "pixel_height"
        case cameraMake = "camera_make"
        case cameraModel = "camera_model"
        case lensModel = "lens_model"
        case gpsLatitude = "gps_latitude"
        case gpsLongitude = "gps_longitude"
        case rating
        case title
        case livePhotoIdentifier = "live_photo_identifier"
        case durationSeconds = "duration_seconds"

        /// Whether its value is a number in JSON.
        var isNumber: Bool {
            switch self {
            case .pixelWidth, .pixelHeight, .gpsLatitude, .gpsLongitude, .rating, .durationSeconds: true
            default: false
            }
        }
    }

    /// Relative to the media folder.
    public var path: [UInt8]
    /// Of the file, in bytes.
    public var sizeBytes: UInt64
    /// Of the file.
    public var modificationTime: Timestamp
    /// `nil` for a file whose bytes were not hashed.
    public var md5: MD5Digest?
    /// `nil` as for `md5`.
    public var sha256: SHA256Digest?
    public var status: Status
    /// Whether `thumbnails/` has a picture of it.
    public var hasThumbnail = false
    /// Whether no thumbnail could be made of it: a later try may succeed, with newer decoders perhaps.
    public var lacksThumbnail: Bool { status == .read && !hasThumbnail }
    /// Whether it had a star when the backup was made.
    public var isStarred = false
    /// The known fields, as texts. Numbers are written as in JSON.
    public var fields: [Field: String] = [:]

    public init(
        path: [UInt8], sizeBytes: UInt64, modificationTime: Timestamp, md5: MD5Digest?, sha256: SHA256Digest?, status: Status
    ) {
        self.path = path
        self.sizeBytes = sizeBytes
        self.modificationTime = modificationTime
        self.md5 = md5
        self.sha256 = sha256
        self.status = status
    }

    /// Applies the outcome of reading the photo. Without a helper, the record stays as it is.
    /// - Returns: false for a file that is neither a photo nor a video.
    public mutating func take(_ outcome: MediaOutcome<PhotoMetadata>) -> Bool {
        switch outcome {
        case .found(let photo): take(photo)
        case .unreadable: status = .unreadable
        case .nothing: return false
        case .helperMissing: break
        }
        return true
    }

    private mutating func take(_ photo: PhotoMetadata) {
        status = .read
        fields = [:]
        for (name, value) in PhotoDocument(photo: photo, hasTags: false).fields {
            guard let field = Field(rawValue: name) else { continue }
            switch value {
            case .text(let text): fields[field] = text
            case .integer(let number): fields[field] = String(number)
            case .written(let bytes): fields[field] = String(decoding: bytes, as: UTF8.self)
            default: continue
            }
        }
    }

    /// `2024-06-30`, by the clock where it was taken; of a photo without a date, the day of its modification time in UTC.
    public var day: String {
        if let date = fields[.dateTaken], date.utf8.count >= 10 { return String(date.prefix(10)) }
        return LocalDateTime(utc: modificationTime).dateText
    }

    /// When it was taken, by the clock where that was; `nil` for a photo without a date.
    public var taken: PhotoDate? { fields[.dateTaken].flatMap { PhotoDate(parsing: $0) } }

    /// The camera, with its maker once; `nil` when it is unknown.
    public var camera: String? {
        let make = fields[.cameraMake]
        guard let model = fields[.cameraModel] else { return make }
        guard let make, !model.lowercased().hasPrefix(make.lowercased()) else { return model }
        // `NIKON CORPORATION` and `NIKON D90`.
        if let word = make.split(separator: " ").first, model.lowercased().hasPrefix(word.lowercased()) { return model }
        return "\(make) \(model)"
    }
}

// MARK: - As a line

extension PhotoRecord {
    /// Longer lines are not read. A path has at most 200 folders with names of 255 bytes.
    static let lineLimitBytes = 256 << 10
    /// More than media folders have, and few enough for what walks along a path.
    private static let pathComponentLimit = 256

    /// With a line feed at its end. What is unknown is left out.
    public var line: [UInt8] {
        var members = [OrderedJSON.Member("path", .text(String(decoding: path, as: UTF8.self)))]
        if String(validating: path, as: UTF8.self) == nil {
            members.append(.init("path_base64", .text(path.withUnsafeBytes { Base64.encode($0) })))
        }
        members += [
            .init("size_bytes", .integer(Int64(clamping: sizeBytes))),
            .init("modified_at", .text(ISO8601.format(modificationTime))),
        ]
        if let md5 { members.append(.init("md5", .text(md5.hexadecimal))) }
        if let sha256 { members.append(.init("sha256", .text(sha256.hexadecimal))) }
        members += [.init("status", .text(status.rawValue)), .init("thumbnail", .boolean(hasThumbnail))]
        if isStarred { members.append(.init("starred", .boolean(true))) }
        for field in Field.allCases {
            guard let text = fields[field] else { continue }
            members.append(.init(field.rawValue, field.isNumber ? .decimal(text) : .text(text)))
        }
        return OrderedJSON.object(members).compactText + [UInt8(ascii: "\n")]
    }

    /// Reads a line. Members that this program does not know are ignored.
    /// - Returns: `nil` for anything that is not the line of a photo.
    public init?(line: [UInt8]) {
        guard let json = OrderedJSON(parsing: line), case .object = json, let path = Self.path(json), !path.isEmpty,
            let size = json["size_bytes"]?.scalarText.flatMap({ UInt64($0) }),
            let time = json["modified_at"]?.textValue.flatMap({ ISO8601.parse($0) }),
            let status = json["status"]?.textValue.flatMap({ Status(rawValue: $0) })
        else { return nil }
        self.init(
            path: path, sizeBytes: size, modificationTime: time,
            md5: json["md5"]?.textValue.flatMap { MD5Digest(hexadecimal: $0) },
            sha256: json["sha256"]?.textValue.flatMap { SHA256Digest(hexadecimal: $0) }, status: status)
        hasThumbnail = json["thumbnail"] == .boolean(true)
        isStarred = json["starred"] == .boolean(true)
        for field in Field.allCases { fields[field] = json[field.rawValue]?.scalarText }
    }

    private static func path(_ json: OrderedJSON) -> [UInt8]? {
        let encoded = json["path_base64"]?.textValue.map { Base64.decode(Array($0.utf8)) }
        guard let path = encoded ?? json["path"]?.textValue.map({ Array($0.utf8) }) else { return nil }
        // It becomes the target of a link.
        let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return parts.count <= pathComponentLimit && parts.allSatisfy { FileName(bytes: Array($0)).isSafeComponent } ? path : nil
    }
}

import BackupCore
import Formats
import ObjectStorage
import PhotoData
import SystemIO

/// What a backup keeps of a photo beside its bytes.
public struct BackupMetadata: Sendable, Equatable {
    /// As the camera's clock showed it, in ISO 8601, with a zone only if the photo has one; `nil` if the photo does not say.
    public var dateTaken: String?
    /// Of the file that was read.
    public var fileModificationDate: Timestamp
    /// In bytes.
    public var fileSize: UInt64
    /// As the picture is looked at.
    public var pixelWidth: Int?
    /// As `pixelWidth`.
    public var pixelHeight: Int?
    /// Who made the camera; `nil` if the photo does not say.
    public var cameraMake: String?
    /// The camera; `nil` if the photo does not say.
    public var cameraModel: String?
    /// In degrees; south is negative.
    public var gpsLatitude: Double?
    /// In degrees; west is negative.
    public var gpsLongitude: Double?

    /// - Parameter photo: `nil` for a file that says nothing of itself: it is backed up all the same.
    public init(_ photo: PhotoMetadata?, fileModificationDate: Timestamp, fileSize: UInt64) {
        self.fileModificationDate = fileModificationDate
        self.fileSize = fileSize
        dateTaken = photo?.dateTaken?.text
        (pixelWidth, pixelHeight) = (photo?.pixelWidth, photo?.pixelHeight)
        (cameraMake, cameraModel) = (photo?.cameraMake, photo?.cameraModel)
        (gpsLatitude, gpsLongitude) = (photo?.gpsLatitude, photo?.gpsLongitude)
    }

    var json: OrderedJSON {
        func decimal(_ number: Double?) -> OrderedJSON { number.map { .decimal($0) } ?? .null }
        return [
            "dateTaken": dateTaken, "fileModificationDate": fileModificationDate, "fileSize": fileSize,
            "pixelWidth": pixelWidth, "pixelHeight": pixelHeight, "cameraMake": cameraMake, "cameraModel": cameraModel,
            "gpsLatitude": decimal(gpsLatitude), "gpsLongitude": decimal(gpsLongitude),
        ]
    }

    init?(_ json: OrderedJSON?) {
        guard let json, let size = json["fileSize"]?.wholeValue,
            let time = json["fileModificationDate"]?.textValue.flatMap({ ISO8601.parse($0) })
        else { return nil }
        self.init(nil, fileModificationDate: time, fileSize: UInt64(max(0, size)))
        dateTaken = json["dateTaken"]?.textValue
        pixelWidth = json["pixelWidth"]?.wholeValue.map { Int($0) }
        pixelHeight = json["pixelHeight"]?.wholeValue.map { Int($0) }
        (cameraMake, cameraModel) = (json["cameraMake"]?.textValue, json["cameraModel"]?.textValue)
        (gpsLatitude, gpsLongitude) = (json["gpsLatitude"]?.decimalValue, json["gpsLongitude"]?.decimalValue)
    }
}

/// One photo that is ready to be stored. Its bytes stay in its file: a video of gigabytes takes no memory.
public struct BackupPackage: Sendable {
    /// The open file.
    public let originalData: SharedFile
    /// A JPEG; `nil` for a photo of which none can be made.
    public let thumbnailData: [UInt8]?
    public let metadata: BackupMetadata
    public let key: PhotoKey
    /// Of the bytes; the storage refuses others.
    public let sha256: SHA256Digest
    /// Without folders.
    public let originalFilename: String
    public let source: PhotoSource
    /// The MD5 of the other part of a Live Photo.
    public let livePhotoPair: String?
    /// All tags, and the edited versions that were not uploaded.
    public let sidecar: [UInt8]

    /// Of the bytes, in small hexadecimal digits.
    public var md5: String { key.md5 }
    /// The name of the original's object.
    public var s3Key: String { key.text }

    /// Texts that are longer than cameras write them would not fit into the headers of a request.
    private static let textLimitBytes = 128

    /// Kept with the object.
    func objectMetadata(now: Timestamp) -> [ObjectMetadata] {
        func short(_ text: String?) -> String {
            var result = ""
            for scalar in (text ?? "").unicodeScalars {
                guard result.utf8.count + 4 <= Self.textLimitBytes else { break }
                result.unicodeScalars.append(scalar)
            }
            return result
        }
        var list = [
            ObjectMetadata("original-filename", originalFilename), ObjectMetadata("source", source.word),
            ObjectMetadata("md5", md5), ObjectMetadata("sha256", sha256.hexadecimal),
            ObjectMetadata("date-taken", metadata.dateTaken ?? ISO8601.format(now.wholeSeconds)),
            ObjectMetadata("camera-make", short(metadata.cameraMake)),
            ObjectMetadata("camera-model", short(metadata.cameraModel)),
            ObjectMetadata("file-modification-date", ISO8601.format(metadata.fileModificationDate)),
        ]
        if metadata.dateTaken == nil { list.append(ObjectMetadata("date-taken-is-upload", "yes")) }
        if let livePhotoPair { list.append(ObjectMetadata("live-photo-pair", livePhotoPair)) }
        return list
    }
}

/// Where a photo comes from.
public enum PhotoSource: Sendable, Hashable {
    /// A file in a folder, with its path in the media folder.
    case directory(path: String)
    /// A photo in an Apple Photos library, by its identifier there.
    case applePhotos(assetId: String)

    /// In the metadata of objects.
    public var word: String {
        switch self {
        case .directory: "directory"
        case .applePhotos: "apple-photos"
        }
    }

    var json: OrderedJSON {
        switch self {
        case .directory(let path): ["directory": ["path": path] as OrderedJSON]
        case .applePhotos(let assetId): ["applePhotos": ["assetId": assetId] as OrderedJSON]
        }
    }

    init?(_ json: OrderedJSON?) {
        if let path = json?["directory"]?["path"]?.textValue {
            self = .directory(path: path)
        } else if let assetId = json?["applePhotos"]?["assetId"]?.textValue {
            self = .applePhotos(assetId: assetId)
        } else {
            return nil
        }
    }
}

import SystemIO

/// What a photo or a video says of itself. Every value is within the range that its comment gives, whatever the file says.
public struct PhotoMetadata: Sendable, Equatable {
    /// What is to be looked at.
    public enum MediaType: UInt8, Sendable { case image = 1, video = 2 }

    public var mediaType: MediaType
    /// The MIME type, by content and not by name: `image/jpeg`.
    public var contentType: String
    /// When it was taken.
    public var dateTaken: PhotoDate?
    /// From 1 on, as it is looked at: after the orientation.
    public var pixelWidth: Int?
    /// As `pixelWidth`: there are both or none.
    public var pixelHeight: Int?
    /// As stored: 1 to 8, as in Exif.
    public var orientation: Int?
    /// Who made the camera, as it says itself: `NIKON CORPORATION`.
    public var cameraMake: String?
    /// The camera, often with its maker once more.
    public var cameraModel: String?
    /// The lens, as Exif or XMP names it; not from maker notes.
    public var lensModel: String?
    /// In seconds; both parts are positive.
    public var exposureTime: Fraction?
    /// The aperture: 2.8 for f/2.8.
    public var fNumber: Double?
    /// From 1 on.
    public var isoSpeed: Int?
    /// In millimetres, of the lens itself.
    public var focalLength: Double?
    /// `nil` when the camera does not say whether it has one.
    public var isFlashFired: Bool?
    /// In degrees; south is negative.
    public var gpsLatitude: Double?
    /// In degrees; west is negative.
    public var gpsLongitude: Double?
    /// In metres above the sea.
    public var gpsAltitude: Double?
    /// 0 to 5; -1 for a rejected photo.
    public var rating: Int?
    /// At most 4,096 bytes, as all texts are.
    public var title: String?
    /// A longer text; of old cameras also one that they wrote by themselves.
    public var caption: String?
    /// In the order of the file.
    public var keywords: [String] = []
    /// What the still and the video of a live photo have in common.
    public var livePhotoIdentifier: String?
    /// Of a video.
    public var durationSeconds: Double?
    /// All tags, those of the fields included, with the names that exiv2 gives them.
    public var tags: [PhotoTag] = []
    /// Whether the file has more or longer tags than `tags` (`PhotoLimits`).
    public var isShortened = false

    public init(_ mediaType: MediaType, contentType: String) {
        self.mediaType = mediaType
        self.contentType = contentType
    }
}

/// One tag of a file.
public struct PhotoTag: Sendable, Equatable {
    /// `Exif.Photo.FNumber`. A list has a tag for each element.
    public let key: String
    /// As exiv2 writes it: numbers apart by blanks, fractions as `1/125`.
    public let value: String

    public init(key: String, value: String) {
        self.key = key
        self.value = value
    }
}

/// Two whole numbers, as in Exif: 1/125 stays what the camera has written.
public struct Fraction: Sendable, Equatable {
    /// As stored; it may have factors in common with the denominator.
    public let numerator: Int64
    /// 0 stands for an unknown value.
    public let denominator: Int64

    public init(numerator: Int64, denominator: Int64) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// `nil` for an unknown value.
    public var value: Double? { denominator == 0 ? nil : Double(numerator) / Double(denominator) }
}

/// The bounds of all that the helper says. The helper keeps to them, and the program believes no answer that does not.
public enum PhotoLimits {
    /// Of a field.
    public static let textBytes = 4096
    /// Of a photo.
    public static let keywordCount = 1000
    /// Of one keyword.
    public static let keywordBytes = 1024
    /// Of a file.
    public static let tagCount = 4000
    /// Of the name of a tag.
    public static let tagKeyBytes = 256
    /// Of the value of a tag.
    public static let tagValueBytes = 8192
    /// Of all tags of a file, names and values.
    public static let tagBytes = 512 << 10
    /// Of a whole answer.
    public static let answerBytes = 2 << 20
    /// A thumbnail is smaller than this.
    public static let thumbnailBytes = 50_000
    /// A thumbnail as a PNG is smaller than this.
    public static let pictureBytes = 256 << 10
    /// Of each side of a thumbnail.
    public static let thumbnailPixels = 256
    /// Of a photo, each way.
    public static let pixels = 1...1_000_000
    /// Up to ten years.
    public static let durationSeconds = 0.0...(10.0 * 366 * 86_400)
    /// Satellites included.
    public static let altitudeMetres = -100_000.0...100_000.0
}

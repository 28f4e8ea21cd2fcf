import BackupCore
import PhotoData

/// The readers of videos, HEIF and maker notes that run in the helper, and the reader of the helper's answers, which runs in the
/// program.
enum MediaFuzzing {
    /// A video: what it says of itself must be an answer that the program takes, and its first picture lies in it.
    static func runVideo(_ bytes: [UInt8]) throws -> FuzzOutcome {
        for isAVI in [false, true] {
            let picture: ClipFrame? = ClipReader.firstPicture(of: source(bytes), isAVI: isAVI) { $0 }
            guard let picture else { continue }
            try FuzzViolation.require((1...8).contains(picture.orientation), "it is turned by \(picture.orientation)")
            switch picture.content {
            case .image(let content), .h264(let content, _):
                // Parts get longer headers, and a HEIC its own.
                try FuzzViolation.require(content.count <= 6 * bytes.count + 1_024, "there are \(content.count) bytes")
            }
        }
        var photo: PhotoMetadata?
        do throws(VideoError) {
            photo = try VideoReader.metadata(of: source(bytes), contentType: "video/mp4")
        } catch {
            return .refused(.damagedContent)
        }
        guard let photo else { return .refused(.damagedContent) }
        try requireAnswer(photo)
        return .accepted
    }

    /// A HEIF: its Exif and its XMP.
    static func runHEIF(_ bytes: [UInt8]) throws -> FuzzOutcome {
        let found = [HEIFItems.exif(in: source(bytes)), HEIFItems.xmpPacket(in: source(bytes))].compactMap { $0 }
        for content in found {
            try FuzzViolation.require(!content.isEmpty && content.count <= bytes.count, "there are \(content.count) bytes")
        }
        return found.isEmpty ? .refused(.damagedContent) : .accepted
    }

    /// A maker note of Apple.
    static func runMakerNote(_ bytes: [UInt8]) throws -> FuzzOutcome {
        var tags = TagCollection()
        tags.add("Exif.Photo.MakerNote", bytes: bytes)
        let photo = PhotoFields.metadata(from: tags, contentType: "image/jpeg", width: 0, height: 0, isUpright: false)
        try requireAnswer(photo)
        return photo.livePhotoIdentifier == nil ? .refused(.damagedContent) : .accepted
    }

    /// - Parameter bytes: a 0 and the fields of a photo, or anything else and a whole answer without its length.
    static func runAnswer(_ bytes: [UInt8]) throws -> FuzzOutcome {
        guard let first = bytes.first else { return .refused(.damagedContent) }
        let photo: PhotoMetadata
        do throws(BackupError) {
            var content = Array(bytes.dropFirst())
            if first != 0 { content = try MediaAnswer(decoding: content, to: MediaRequest(.metadata, number: 1)).content }
            photo = try PhotoMetadata(decoding: content)
        } catch {
            return try MessageRules.outcome(error, [.damagedContent])
        }
        try requireAnswer(photo)
        return .accepted
    }

    /// A photo with each field, as the helper says it.
    static var exampleAnswer: [UInt8] {
        var photo = PhotoMetadata(.image, contentType: "image/jpeg")
        photo.dateTaken = PhotoDate(parsing: "2024:05:06 07:08:09", subseconds: "25", offset: "+02:00")
        (photo.pixelWidth, photo.pixelHeight, photo.orientation) = (4032, 3024, 6)
        (photo.cameraMake, photo.cameraModel, photo.lensModel) = ("Acme", "X100", "35mm")
        photo.exposureTime = Fraction(numerator: 1, denominator: 125)
        (photo.fNumber, photo.isoSpeed, photo.focalLength, photo.isFlashFired) = (2.8, 200, 35, true)
        (photo.gpsLatitude, photo.gpsLongitude, photo.gpsAltitude, photo.rating) = (48.5, -9.25, 300, 4)
        (photo.title, photo.caption, photo.keywords) = ("Title", "Caption", ["one", "two"])
        (photo.livePhotoIdentifier, photo.durationSeconds) = ("4F5A8C1E", 1.5)
        photo.tags = [PhotoTag(key: "Exif.Image.Make", value: "Acme")]
        return photo.encoded
    }

    private static func requireAnswer(_ photo: PhotoMetadata) throws {
        let bytes = photo.encoded
        try FuzzViolation.require(bytes.count < PhotoLimits.answerBytes, "an answer of \(bytes.count) bytes")
        let again = try? PhotoMetadata(decoding: bytes)
        try FuzzViolation.require(again == photo, "\(photo) became \(again.map { "\($0)" } ?? "nothing")")
    }

    private static func source(_ bytes: [UInt8]) -> VideoSource {
        VideoSource(byteCount: UInt64(bytes.count)) { offset, count in
            guard let start = Int(exactly: offset), count >= 0, start <= bytes.count, count <= bytes.count - start else {
                return nil
            }
            return Array(bytes[start..<start + count])
        }
    }
}

import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import PhotoData

/// The helper's answers are not trusted: a photo may have taken it over.
struct MediaProtocolTests {
    private static var full: PhotoMetadata {
        var photo = PhotoMetadata(.image, contentType: "image/jpeg")
        photo.dateTaken = PhotoDate(parsing: "2024:05:06 07:08:09", subseconds: "25", offset: "-05:30")
        (photo.pixelWidth, photo.pixelHeight, photo.orientation) = (3024, 4032, 6)
        (photo.cameraMake, photo.cameraModel, photo.lensModel) = ("Acme", "X100", "35 mm")
        photo.exposureTime = Fraction(numerator: 1, denominator: 125)
        (photo.fNumber, photo.isoSpeed, photo.focalLength, photo.isFlashFired) = (2.8, 200, 35, true)
        (photo.gpsLatitude, photo.gpsLongitude, photo.gpsAltitude) = (-48.5, 2.25, -3.5)
        (photo.rating, photo.title, photo.caption, photo.keywords) = (-1, "Título", "日本", ["a", "b"])
        (photo.livePhotoIdentifier, photo.durationSeconds) = ("ABC", 1.5)
        photo.tags = [PhotoTag(key: "Exif.Image.Make", value: "Acme"), PhotoTag(key: "Exif.Image.Model", value: "")]
        photo.isShortened = true
        return photo
    }

    @Test func `an answer has its documented bytes`() {
        let request = MediaRequest(.metadata, number: 7)
        #expect(request.bytes == [2, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0])
        #expect(MediaAnswer(request, .nothing).bytes == [7, 0, 0, 0, 2, 1, 1, 7, 0, 0, 0])
        let photo = PhotoMetadata(.video, contentType: "video/mp4")
        #expect(photo.encoded == [1, 1, 0, 0, 0, 2, 2, 9, 0, 0, 0] + Array("video/mp4".utf8) + [25, 1, 0, 0, 0, 0])
    }

    @Test func `all fields come over unchanged`() throws {
        #expect(try PhotoMetadata(decoding: Self.full.encoded) == Self.full)
    }

    @Test func `an answer that is cut off is refused`() {
        let bytes = Self.full.encoded
        var acceptedCount = 0
        for count in bytes.indices {
            guard let photo = try? PhotoMetadata(decoding: Array(bytes[..<count])) else { continue }
            // A cut between two fields leaves an answer with fewer of them.
            acceptedCount += 1
            #expect(photo.contentType == "image/jpeg")
        }
        #expect(acceptedCount < 25)
    }

    @Test func `each byte of an answer can be any other`() {
        let bytes = Self.full.encoded
        for index in bytes.indices {
            for change: UInt8 in [0x01, 0x80, 0xFF, bytes[index]] {
                var changed = bytes
                changed[index] ^= change
                guard let photo = try? PhotoMetadata(decoding: changed) else { continue }
                Self.expectWithinBounds(photo)
            }
        }
    }

    @Test(arguments: Rounds.seeds(40, oneIn: 8))
    func `no sequence of bytes is believed beyond the bounds`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            var bytes = Self.full.encoded
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
                }
            }
            if let photo = try? PhotoMetadata(decoding: bytes) { Self.expectWithinBounds(photo) }
        }
    }

    private static func expectWithinBounds(_ photo: PhotoMetadata) {
        #expect((-90...90).contains(photo.gpsLatitude ?? 0) && (-180...180).contains(photo.gpsLongitude ?? 0))
        #expect((1...8).contains(photo.orientation ?? 1) && (-1...5).contains(photo.rating ?? 0))
        #expect((1...1_000_000).contains(photo.pixelWidth ?? 1) && (photo.exposureTime?.denominator ?? 1) > 0)
        #expect(photo.contentType.utf8.count <= 64 && photo.keywords.count <= 1000)
    }

    private func content(_ field: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        for (number, value) in [(UInt8(1), [UInt8(1)]), (2, Array("image/jpeg".utf8)), (field, bytes)] {
            writer.append(number)
            writer.append(lengthPrefixed: value)
        }
        return writer.bytes
    }

    @Test func `values out of range are refused`() {
        func double(_ value: Double) -> [UInt8] { withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) } }
        let cases: [(UInt8, [UInt8])] = [
            // Zero pixels, an orientation of 9, an unknown field, a field that comes twice or late.
            (4, [0, 0, 0, 0]), (6, [9]), (6, [1, 0]), (26, [0]), (200, []), (2, []), (1, [1]),
            // A text with a zero byte, without valid UTF-8, and one that is too long.
            (7, [0x41, 0]), (7, [0xC0, 0x80]), (7, [0xED, 0xA0, 0x80]), (7, [UInt8](repeating: 0x41, count: 4097)),
            // A latitude alone, one beyond the pole, one that is no number.
            (15, double(10)), (15, double(90.1)), (15, double(.nan)), (17, double(.infinity)), (11, double(-1)),
            // An exposure of nothing, a rating of 6, a date that does not exist.
            (10, [UInt8](repeating: 0, count: 16)), (18, [6]), (14, [2]),
            (3, [0xE8, 7, 2, 30, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
            // A key without a value; a length that goes beyond the field.
            (24, [1, 0, 0, 0, 0x41]), (21, [5, 0, 0, 0, 0x41]),
        ]
        for (field, bytes) in cases {
            #expect(throws: BackupError.self, "\(field): \(bytes.prefix(20))") {
                try PhotoMetadata(decoding: content(field, bytes))
            }
        }
        #expect(throws: Never.self) { try PhotoMetadata(decoding: content(7, [UInt8](repeating: 0x41, count: 4096))) }
    }

    @Test func `too many tags are refused`() {
        var writer = ByteWriter()
        for _ in 0..<8002 { writer.append("k") }
        #expect(throws: BackupError.self) { try PhotoMetadata(decoding: content(24, writer.bytes)) }
    }

    @Test func `an answer to another request is refused`() throws {
        let request = MediaRequest(.metadata, number: 7)
        let good = Array(MediaAnswer(request, .found, content: [1]).bytes.dropFirst(4))
        #expect(try MediaAnswer(decoding: good, to: request).content == [1])
        for index in 0..<7 {
            var changed = good
            changed[index] ^= 0x20
            #expect(throws: BackupError.self) { try MediaAnswer(decoding: changed, to: request) }
        }
        for count in 0..<7 { #expect(throws: BackupError.self) { try MediaAnswer(decoding: Array(good[..<count]), to: request) } }
    }

    @Test func `a thumbnail is a small JPEG`() throws {
        let request = MediaRequest(.thumbnail, number: 1)
        func thumbnail(_ bytes: [UInt8]) throws -> [UInt8] { try MediaAnswer(request, .found, content: bytes).thumbnail() }
        let start: [UInt8] = [0xFF, 0xD8, 0xFF]
        #expect(try thumbnail(start + [UInt8](repeating: 0, count: 49_996)).count == 49_999)
        #expect(throws: BackupError.self) { try thumbnail(start + [UInt8](repeating: 0, count: 49_997)) }
        #expect(throws: BackupError.self) { try thumbnail([]) }
        #expect(throws: BackupError.self) { try thumbnail(Array("<svg>".utf8)) }
    }

    /// The helper's side: what a hostile file has a lot of is cut to what the program accepts.
    @Test func `a file with endless tags becomes an answer within the bounds`() throws {
        var tags = TagCollection()
        for index in 0..<6000 { tags.add("Xmp.x.y\(index)", String(repeating: "é", count: 5000)) }
        for index in 0..<2000 { tags.add("Xmp.dc.subject", "word \(index)\0 " + String(repeating: "w", count: 3000)) }
        tags.add("Exif.Image.Make", String(repeating: "é", count: 50_000))
        let photo = PhotoFields.metadata(from: tags, contentType: "image/jpeg", width: 4, height: 3, isUpright: false)
        #expect(photo.isShortened && photo.keywords.count == 1000 && photo.cameraMake?.utf8.count == 4096)
        let bytes = photo.encoded
        #expect(bytes.count < 2 << 20)
        #expect(try PhotoMetadata(decoding: bytes) == photo)
    }
}

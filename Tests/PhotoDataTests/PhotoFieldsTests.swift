import Glibc
import PhotoData
import SystemIO
import TestSupport
import Testing

/// Values that public collections of photos have, and that were once read wrong (`make photo-corpora`).
@Suite(.rotating(oneIn: 3)) struct PhotoFieldsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        try PhotoFixtures.makeBases(in: folder.path)
    }

    private func photo(_ arguments: String..., of file: String = "base.jpg") throws -> PhotoMetadata {
        try PhotoFixtures.exifTool([["-overwrite_original"] + arguments + [file]], in: folder.path)
        return try PhotoFixtures.found(folder(file), try PhotoFixtures.helper())
    }

    @Test func `a caption with commas and languages is whole`() throws {
        let text = "USS Ronald Reagan (CVN 76), June 21, 2004, lang=\"none, of them"
        let photo = try photo("-XMP-dc:Description=\(text)", "-XMP-dc:Description-de=Schiff, grau", "-XMP-dc:Title=One, two")
        #expect(photo.caption == text && photo.title == "One, two")
        #expect(photo.tags.filter { $0.key == "Xmp.dc.description" }.map(\.value) == [text, "Schiff, grau"])
    }

    @Test func `a long caption is cut and not called bytes`() throws {
        let photo = try photo("-IFD0:ImageDescription=\(String(repeating: "long ", count: 3_000))")
        #expect(photo.caption == String(String(repeating: "long ", count: 3_000).prefix(4_096)))
        #expect(photo.isShortened)
    }

    @Test func `an unknown exposure is none`() throws {
        let photo = try photo("-ExifIFD:ExposureTime=4294967295/1", "-ExifIFD:FNumber=2.8")
        #expect(photo.exposureTime == nil && photo.fNumber == 2.8)
    }

    /// 139° 42′ 0″, whose sum in binary is 139.70000000000002.
    @Test func `a place has seven digits after the point`() throws {
        let photo = try photo(
            "-GPS:GPSLatitude=35 41 22.4", "-GPS:GPSLatitudeRef=N", "-GPS:GPSLongitude=139 42 0", "-GPS:GPSLongitudeRef=W")
        #expect(photo.gpsLatitude == 35.6895556 && photo.gpsLongitude == -139.7)
    }

    /// IPTC is a later source than the tags of cameras, and an earlier one than when a scan was made.
    @Test func `a date of IPTC`() throws {
        let scan = ["-ExifIFD:CreateDate=2019:02:03 04:05:06", "-IPTC:DateCreated=1975:08:01"]
        #expect(try photo(scan[0], scan[1]).dateTaken?.text == "1975-08-01T00:00:00")
        #expect(try photo("-IPTC:TimeCreated=12:30:15+02:00").dateTaken?.text == "1975-08-01T12:30:15+02:00")
        // exiv2 says this zone also for a time without any.
        #expect(try photo("-IPTC:TimeCreated=12:30:15+00:00").dateTaken?.text == "1975-08-01T12:30:15")
        #expect(try photo("-DateTimeOriginal=2001:01:01 00:00:00").dateTaken?.text == "2001-01-01T00:00:00")
    }

    /// exiv2 refuses a PNG whose text is damaged; the picture is sound.
    @Test func `a photo whose tags cannot be read has its size`() throws {
        var bytes = try readFile(folder("base.png"))
        // Before the data, a compressed profile that is none.
        let name = Array("zTXtRaw profile type exif".utf8) + [0, 0, 1, 2, 3, 4]
        let chunk = CraftedVideo.number(UInt32(name.count - 4)) + name + CraftedVideo.number(CRC.of(name))
        bytes.insert(contentsOf: chunk, at: 33)
        try folder.write(bytes, to: "odd.png")
        let photo = try PhotoFixtures.found(folder("odd.png"), try PhotoFixtures.helper())
        #expect(photo.contentType == "image/png" && photo.pixelWidth == 96 && photo.pixelHeight == 64)
    }

    /// As PNG has it.
    private enum CRC {
        static func of(_ bytes: [UInt8]) -> UInt32 {
            ~bytes.reduce(UInt32.max) { sum, byte in
                (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
            }
        }
    }

    /// Counterclockwise, by a script that knows the boxes. Another program sees the rotation, and a white corner shows where it
    /// has put the picture.
    @Test(arguments: [(0, 240, 120, 3, 3), (1, 120, 240, 3, 236), (2, 240, 120, 236, 116), (3, 120, 240, 116, 3)])
    func `a HEIC is turned as its container says`(quarters: Int, width: Int, height: Int, x: Int, y: Int) throws {
        for command in ["black dark.v 240 120 --bands 3", "black small.v 40 40 --bands 3", "invert small.v white.v"] {
            try PhotoFixtures.ok(["vips"] + command.split(separator: " ").map(String.init), in: folder.path)
        }
        try PhotoFixtures.ok(["vips", "insert", "dark.v", "white.v", "straight.heic", "0", "0"], in: folder.path)
        let script = "\(FileSystem.parentPath(#filePath))/Hostile/turn_heif.py"
        try PhotoFixtures.ok(["python3", script, "straight.heic", "\(quarters)", "turned.heic"], in: folder.path)
        #expect(try run(["exiftool", "-s3", "-Rotation", "turned.heic"], in: folder.path).output == "\(quarters * 90)\n")
        // The tag for it does not count.
        let photo = try photo("-Orientation#=6", of: "turned.heic")
        #expect(photo.pixelWidth == width && photo.pixelHeight == height && photo.orientation == 6)
        guard case .found(let bytes) = try PhotoFixtures.thumbnail(of: folder("turned.heic"), try PhotoFixtures.helper()) else {
            throw Machine.Unusable("no thumbnail")
        }
        try folder.write(bytes, to: "thumbnail.jpg")
        let size = try run(["exiftool", "-s3", "-ImageSize", "thumbnail.jpg"], in: folder.path).output
        #expect(size == "\(width)x\(height)\n")
        let point = try run(["vips", "getpoint", "thumbnail.jpg", "\(x)", "\(y)"], in: folder.path).output
        #expect(try #require(point.split(separator: " ").first.flatMap { Double($0) }, "\(point)") > 200)
    }

    // MARK: Many thumbnails

    @Test func `thumbnails of many photos`() throws {
        var names: [String] = []
        for number in 0..<9 {
            let name = "photo\(number).jpg"
            try writeFile(folder(name), readFile(folder("base.jpg")))
            names.append(name)
        }
        chmod(folder("photo3.jpg"), 0o640)
        try folder.write(CraftedVideo.iPhone, to: "iphone.mov")
        try folder.write([0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0, count: 50), to: "damaged.jpg")
        let arguments = names + ["iphone.mov", "damaged.jpg", "missing.jpg", "photo0.jpg"]
        let result = try run(
            [
                "bash", "-c", "\"$@\" 2> /dev/null", "bash", Machine.binaryPath(), "photo-info", "--json", "--thumbnails",
                "new/small",
            ] + arguments, in: folder.path)
        let lines = result.output.split(separator: "\n").filter { $0.contains("\"message_type\":\"photo\"") }
        #expect(result.status == 3 && lines.count == arguments.count)
        // In the order of the files, although several helpers read them.
        for (line, name) in zip(lines, arguments) { #expect(line.contains("\"file\":\"\(name)\"")) }
        let made = try DirectoryHandle(path: folder("new/small")).names().map(\.description).sorted()
        #expect(made == names.map { "\($0).jpg" })
        for name in names { #expect(try readFile(folder("new/small/\(name).jpg")).starts(with: [0xFF, 0xD8, 0xFF])) }
        #expect(try FileSystem.status(folder("new/small/photo3.jpg.jpg")).mode & 0o777 == 0o640)
        // A video has none, which is no failure. Nothing is replaced.
        #expect(lines[9].contains("\"status\":\"found\"") && lines[9].contains("\"reason\":null"), "\(lines[9])")
        #expect(lines[10].contains("\"status\":\"unreadable\"") && lines[11].contains("\"reason\":\"notFound\""))
        // Either of the two may have been read first.
        let same = [lines[0], lines[12]]
        #expect(same.count { $0.contains("\"thumbnail\":\"new/small/photo0.jpg.jpg\"") } == 1, "\(same)")
        #expect(
            same.count { $0.contains("\"thumbnail\":null") && $0.contains("there is a file here already") } == 1, "\(same)")
    }

    @Test func `one thumbnail or many`() throws {
        let both = try run(
            [Machine.binaryPath(), "photo-info", "base.jpg", "--thumbnail", "a.jpg", "--thumbnails", "b"], in: folder.path)
        #expect(both.status == 2 && both.output.contains("Choose --thumbnail or --thumbnails."), "\(both.output)")
    }
}

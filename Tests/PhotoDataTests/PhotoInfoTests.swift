import Foundation
import PhotoData
import SystemIO
import TestSupport
import Testing

/// Literal values of single photos, thumbnails, and the verb.
struct PhotoInfoTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        try PhotoFixtures.makeBases(in: folder.path)
    }

    private func program(_ arguments: String...) throws -> ProgramResult {
        try run([Machine.binaryPath(), "photo-info"] + arguments, in: folder.path)
    }

    @Test func `a photo of each format has its fields`() throws {
        let helper = try PhotoFixtures.helper()
        for format in PhotoFixtures.formats {
            try PhotoFixtures.exifTool(
                [
                    [
                        "-overwrite_original", "-Make= Acme ", "-Model=X100", "-DateTimeOriginal=2024:05:06 07:08:09",
                        "-OffsetTimeOriginal=+02:00", "-SubSecTimeOriginal=25", "-ExposureTime=1/125", "-GPSLatitude=33.5",
                        "-GPSLatitudeRef=S",
                        "-GPSLongitude=151.25", "-GPSLongitudeRef=E", "-GPSAltitude=5", "-GPSAltitudeRef#=1", "-Orientation#=6",
                        "base.\(format)",
                    ]
                ], in: folder.path)
            let photo = try PhotoFixtures.found(folder("base.\(format)"), helper)
            #expect(photo.dateTaken?.text == "2024-05-06T07:08:09.25+02:00", "\(format)")
            #expect(photo.cameraMake == "Acme" && photo.cameraModel == "X100" && photo.orientation == 6, "\(format)")
            #expect(photo.exposureTime == Fraction(numerator: 1, denominator: 125), "\(format)")
            #expect(photo.gpsLatitude == -33.5 && photo.gpsLongitude == 151.25 && photo.gpsAltitude == -5, "\(format)")
            // A container of HEIF says itself how it is turned, and these are not.
            let isTurned = format != "heic" && format != "avif"
            #expect(photo.pixelWidth == (isTurned ? 64 : 96) && photo.pixelHeight == (isTurned ? 96 : 64), "\(format)")
        }
    }

    @Test func `a photo without tags has its size and nothing else`() throws {
        try PhotoFixtures.exifTool([["-overwrite_original", "-all=", "base.jpg"]], in: folder.path)
        let photo = try PhotoFixtures.found(folder("base.jpg"), try PhotoFixtures.helper())
        var expected = PhotoMetadata(.image, contentType: "image/jpeg")
        (expected.pixelWidth, expected.pixelHeight) = (96, 64)
        #expect(photo == expected)
    }

    /// Exif with Apple's maker note, made byte by byte: 26 is where the note begins in it.
    @Test func `a still of a live photo has its identifier`() throws {
        let note = AppleMakerNoteTests.note()
        func number(_ value: some FixedWidthInteger) -> [UInt8] { CraftedVideo.number(value) }
        var exif = Array("MM".utf8) + number(UInt16(42)) + number(UInt32(8))
        exif += number(UInt16(2)) + number(UInt16(0x010F)) + number(UInt16(2)) + number(UInt32(6)) + number(UInt32(38))
        exif += number(UInt16(0x8769)) + number(UInt16(4)) + number(UInt32(1)) + number(UInt32(44)) + number(UInt32(0))
        exif += Array("Apple\0".utf8)
        exif +=
            number(UInt16(1)) + number(UInt16(0x927C)) + number(UInt16(7)) + number(UInt32(note.count)) + number(UInt32(62))
            + number(UInt32(0))
        exif += note
        let segment = Array("Exif\0\0".utf8) + exif
        try PhotoFixtures.exifTool([["-overwrite_original", "-all=", "base.jpg"]], in: folder.path)
        let jpeg = try readFile(folder("base.jpg"))
        try folder.write(jpeg[..<2] + [0xFF, 0xE1] + number(UInt16(segment.count + 2)) + segment + jpeg[2...], to: "live.jpg")
        let photo = try PhotoFixtures.found(folder("live.jpg"), try PhotoFixtures.helper())
        #expect(photo.livePhotoIdentifier == "4F5A8C1E-0000-4000-8000-1234567890AB" && photo.cameraMake == "Apple")
        let theirs = try run(
            ["exiftool", "-s3", "-MakerNotes:ContentIdentifier", "-MediaGroupUUID", "live.jpg"], in: folder.path
        ).output
        #expect(theirs.contains("4F5A8C1E-0000-4000-8000-1234567890AB"), "\(theirs)")
    }

    /// Both read the same file, which was made from the specifications.
    @Test func `a video is what ExifTool says`() throws {
        try folder.write(CraftedVideo.iPhone, to: "iphone.mov")
        let theirs = try #require(try PhotoFixtures.exifTool(reading: ["iphone.mov"], in: folder.path)["iphone.mov"])
        let photo = try PhotoFixtures.found(folder("iphone.mov"), try PhotoFixtures.helper())
        #expect(theirs["QuickTime:CreationDate"] as? String == "2024:05:06 09:08:09+02:00")
        #expect(photo.dateTaken?.text == "2024-05-06T09:08:09+02:00")
        #expect(theirs["QuickTime:ContentIdentifier"] as? String == photo.livePhotoIdentifier)
        #expect(
            theirs["QuickTime:Make"] as? String == photo.cameraMake && theirs["QuickTime:Model"] as? String == photo.cameraModel)
        #expect(theirs["QuickTime:GPSCoordinates"] as? String == "48.8584 2.2945 35" && photo.gpsAltitude == 35)
        #expect((theirs["QuickTime:Duration"] as? NSNumber)?.doubleValue == photo.durationSeconds)
        #expect(theirs["File:MIMEType"] as? String == photo.contentType)
        // ExifTool has the size as stored.
        #expect((theirs["QuickTime:ImageWidth"] as? NSNumber)?.intValue == photo.pixelHeight)
    }

    // MARK: Thumbnails

    @Test func `a thumbnail is upright, small, and without tags`() throws {
        let helper = try PhotoFixtures.helper()
        try PhotoFixtures.ok(["vips", "black", "wide.v", "1200", "600", "--bands", "3"], in: folder.path)
        for format in PhotoFixtures.formats {
            try PhotoFixtures.ok(["vips", "copy", "wide.v", "wide.\(format)"], in: folder.path)
            try PhotoFixtures.exifTool(
                [["-overwrite_original", "-Orientation#=6", "-Make=Acme", "wide.\(format)"]], in: folder.path)
            guard case .found(let bytes) = try PhotoFixtures.thumbnail(of: folder("wide.\(format)"), helper) else {
                Issue.record("no thumbnail of \(format)")
                continue
            }
            try folder.write(bytes, to: "thumbnail.jpg")
            let said = try run(
                ["exiftool", "-s3", "-FileType", "-ImageWidth", "-ImageHeight", "-Make", "thumbnail.jpg"], in: folder.path
            ).output
            #expect(said == (format == "heic" || format == "avif" ? "JPEG\n256\n128\n" : "JPEG\n128\n256\n"), "\(format)")
        }
    }

    /// A file of Canon's RAW that is a TIFF with a mark, made byte by byte: its JPEG is the picture to show.
    @Test func `a thumbnail of a RAW file is its preview, turned as the file says`() throws {
        try PhotoFixtures.ok(["vips", "black", "wide.v", "1200", "600", "--bands", "3"], in: folder.path)
        try PhotoFixtures.ok(["vips", "copy", "wide.v", "wide.jpg[strip]"], in: folder.path)
        let preview = try readFile(folder("wide.jpg"))
        func number(_ value: some FixedWidthInteger) -> [UInt8] { CraftedVideo.number(value) }
        func entry(_ tag: UInt16, _ type: UInt16, _ count: UInt32, _ value: [UInt8]) -> [UInt8] {
            number(tag) + number(type) + number(count) + value
        }
        let data: UInt32 = 16 + 2 + 4 * 12 + 4
        var raw = Array("MM".utf8) + number(UInt16(42)) + number(UInt32(16)) + Array("CR".utf8) + [2, 0] + number(UInt32(0))
        raw += number(UInt16(4)) + entry(0x010F, 2, 6, number(data)) + entry(0x0112, 3, 1, [0, 8, 0, 0])
        raw += entry(0x0201, 4, 1, number(data + 6)) + entry(0x0202, 4, 1, number(UInt32(preview.count))) + number(UInt32(0))
        try folder.write(raw + Array("Canon\0".utf8) + preview, to: "photo.cr2")
        let helper = try PhotoFixtures.helper()
        let photo = try PhotoFixtures.found(folder("photo.cr2"), helper)
        #expect(photo.contentType == "image/x-canon-cr2" && photo.orientation == 8 && photo.cameraMake == "Canon")
        guard case .found(let bytes) = try PhotoFixtures.thumbnail(of: folder("photo.cr2"), helper) else {
            throw Machine.Unusable("no thumbnail")
        }
        try folder.write(bytes, to: "thumbnail.jpg")
        let said = try run(["exiftool", "-s3", "-ImageWidth", "-ImageHeight", "thumbnail.jpg"], in: folder.path).output
        #expect(said == "128\n256\n")
    }

    /// A white corner shows where each of the eight orientations has put it.
    @Test(arguments: [
        (1, "0 0"), (2, "last 0"), (3, "last bottom"), (4, "0 bottom"), (5, "0 0"), (6, "last 0"), (7, "last bottom"),
        (8, "0 bottom"),
    ])
    func `a thumbnail is turned and mirrored as the photo says`(orientation: Int, corner: String) throws {
        try PhotoFixtures.ok(["vips", "black", "dark.v", "240", "120", "--bands", "3"], in: folder.path)
        try PhotoFixtures.ok(["vips", "black", "small.v", "40", "40", "--bands", "3"], in: folder.path)
        try PhotoFixtures.ok(["vips", "invert", "small.v", "white.v"], in: folder.path)
        try PhotoFixtures.ok(["vips", "insert", "dark.v", "white.v", "corner.jpg", "0", "0"], in: folder.path)
        try PhotoFixtures.exifTool(
            [["-overwrite_original", "-Orientation#=\(orientation)", "corner.jpg"]], in: folder.path)
        guard case .found(let bytes) = try PhotoFixtures.thumbnail(of: folder("corner.jpg"), try PhotoFixtures.helper()) else {
            throw Machine.Unusable("no thumbnail")
        }
        try folder.write(bytes, to: "thumbnail.jpg")
        let isTall = orientation >= 5
        let (right, bottom) = isTall ? (119, 239) : (239, 119)
        var bright: [String] = []
        for (x, y, name) in [(0, 0, "0 0"), (right, 0, "last 0"), (0, bottom, "0 bottom"), (right, bottom, "last bottom")] {
            let point = try run(["vips", "getpoint", "thumbnail.jpg", "\(x)", "\(y)"], in: folder.path).output
            if try #require(point.split(separator: " ").first.flatMap { Double($0) }, "\(point)") > 128 { bright.append(name) }
        }
        #expect(bright == [corner])
    }

    @Test func `titles that Windows wrote`() throws {
        try PhotoFixtures.exifTool(
            [
                [
                    "-overwrite_original", "-XPTitle=Bärenhöhle 洞", "-XPComment=\(String(repeating: "lang ", count: 40))",
                    "-XPKeywords=one;two", "base.jpg",
                ]
            ], in: folder.path)
        let photo = try PhotoFixtures.found(folder("base.jpg"), try PhotoFixtures.helper())
        #expect(photo.title == "Bärenhöhle 洞" && photo.keywords == ["one", "two"])
        #expect(photo.caption == String(String(repeating: "lang ", count: 40).dropLast()))
        #expect(photo.tags.contains(PhotoTag(key: "Exif.Image.XPTitle", value: "Bärenhöhle 洞")))
    }

    /// A print of 1975 that was scanned in 2019 and changed later.
    @Test func `a scan is as old as its picture`() throws {
        try PhotoFixtures.exifTool(
            [
                [
                    "-overwrite_original", "-XMP-photoshop:DateCreated=1975:08:01 12:00:00", "-CreateDate=2019:02:03 04:05:06",
                    "-ModifyDate=2020:01:01 00:00:00", "base.jpg",
                ]
            ], in: folder.path)
        let photo = try PhotoFixtures.found(folder("base.jpg"), try PhotoFixtures.helper())
        #expect(photo.dateTaken?.text == "1975-08-01T12:00:00")
    }

    @Test func `noise stays below the limit of bytes`() throws {
        try PhotoFixtures.ok(["vips", "gaussnoise", "noise.v", "256", "256", "--sigma", "120"], in: folder.path)
        try PhotoFixtures.ok(["vips", "copy", "noise.v", "noise.png"], in: folder.path)
        guard case .found(let bytes) = try PhotoFixtures.thumbnail(of: folder("noise.png"), try PhotoFixtures.helper()) else {
            throw Machine.Unusable("no thumbnail")
        }
        #expect(bytes.count < 50_000 && bytes.starts(with: [0xFF, 0xD8, 0xFF]))
    }

    // MARK: The verb

    @Test func `the verb prints fields, and JSON with null for what is unknown`() throws {
        try folder.write(CraftedVideo.iPhone, to: "iphone.mov")
        let result = try program("iphone.mov")
        #expect(result.status == 0)
        #expect(result.output.contains("  date_taken             2024-05-06T09:08:09+02:00\n"), "\(result.output)")
        #expect(!result.output.contains("rating"))
        let json = try program("--json", "--all", "iphone.mov", "base.v")
        let lines = json.output.split(separator: "\n")
        try #require(json.status == 0 && lines.count == 2, "\(json.output)")
        let first = try #require(try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
        let metadata = try #require(first["metadata"] as? [String: Any])
        #expect(first["status"] as? String == "found" && first["version"] as? Int == 1 && metadata["rating"] is NSNull)
        #expect(metadata["pixel_width"] as? Int == 1080 && (metadata["tags"] as? [[String: String]])?.count == 5)
        #expect(lines[1].contains("\"status\":\"nothing\""))
    }

    @Test func `a file that cannot be read does not hide the others`() throws {
        try folder.write([0xFF, 0xD8, 0xFF, 0xE0] + [UInt8](repeating: 0, count: 50), to: "damaged.jpg")
        let result = try program("missing.jpg", "damaged.jpg", "base.png")
        #expect(result.status == 3)
        #expect(result.output.contains("missing.jpg: ") && result.output.contains("image/png"), "\(result.output)")
        #expect(result.output.contains("damaged.jpg: this photo or video cannot be decoded"), "\(result.output)")
    }

    @Test func `the verb writes a thumbnail`() throws {
        #expect(try program("base.png", "--thumbnail", "small.jpg").status == 0)
        #expect(try readFile(folder("small.jpg")).starts(with: [0xFF, 0xD8, 0xFF]))
        #expect(try program("base.png", "base.jpg", "--thumbnail", "small.jpg").status == 2)
        // Those who can read the photo can read its thumbnail.
        chmod(folder("base.png"), 0o640)
        #expect(try program("base.png", "--thumbnail", "private.jpg").status == 0)
        #expect(try FileSystem.status(folder("private.jpg")).mode & 0o777 == 0o640)
    }

    @Test func `a thumbnail replaces no file, least of all its photo`() throws {
        let before = try readFile(folder("base.png"))
        let result = try program("base.png", "--thumbnail", "base.png")
        #expect(result.status == 1 && result.output.contains("there is a file here already"), "\(result.output)")
        #expect(try readFile(folder("base.png")) == before)
        try PhotoFixtures.ok(["ln", "-s", "nowhere", "link.jpg"], in: folder.path)
        #expect(try program("base.png", "--thumbnail", "link.jpg").status == 1)
        #expect(FileSystem.linkTarget(folder("link.jpg")) == "nowhere")
    }

    @Test func `a thumbnail that cannot be had is no second line of its file`() throws {
        try folder.write(CraftedVideo.iPhone, to: "iphone.mov")
        let result = try run(
            ["sh", "-c", "\"$0\" photo-info --json iphone.mov --thumbnail small.jpg 2>/dev/null", try Machine.binaryPath()],
            in: folder.path)
        let lines = result.output.split(separator: "\n").filter { $0.contains("\"message_type\":\"photo\"") }
        #expect(result.status == 1 && lines.count == 1 && lines[0].contains("\"status\":\"found\""), "\(result.output)")
        #expect(try !FileSystem.exists(folder("small.jpg")))
        // Nor is a folder that is missing a flaw of the photo.
        let missing = try program("base.png", "--thumbnail", "missing/small.jpg")
        #expect(missing.status == 1 && missing.output.contains("missing/small.jpg"), "\(missing.output)")
    }

    @Test func `a tag cannot look like a field`() throws {
        let meta = CraftedVideo.meta([("x\n  rating  5", "a\u{2028}  title  b")], isFull: true)
        let moov = CraftedVideo.box("moov", CraftedVideo.movieHeader() + meta)
        try folder.write(CraftedVideo.fileType + moov, to: "odd.mov")
        let result = try program("--all", "odd.mov")
        #expect(result.status == 0 && result.output.contains("rating"), "\(result.output)")
        #expect(!result.output.contains("\n  rating") && !result.output.contains("\u{2028}"), "\(result.output)")
    }

    @Test func `without the helper the verb says what to install`() throws {
        try PhotoFixtures.ok(["cp", try Machine.binaryPath(), "alone"], in: folder.path)
        let result = try run([folder("alone"), "photo-info", "base.png"], in: folder.path)
        #expect(result.status == 1 && result.output.contains("backupfs-media is not installed"), "\(result.output)")
        // Neither PATH nor a variable leads to another program.
        let helper = FileSystem.parentPath(try Machine.binaryPath())
        let other = try run(["env", "PATH=\(helper):/usr/bin:/bin", folder("alone"), "photo-info", "base.png"], in: folder.path)
        #expect(other.status == 1)
        // Where `make install` puts it.
        try PhotoFixtures.ok(["mkdir", "-p", "bin", "libexec/backupfs"], in: folder.path)
        try PhotoFixtures.ok(["mv", "alone", "bin/backupfs"], in: folder.path)
        try PhotoFixtures.ok(["cp", try PhotoFixtures.helperPath(), "libexec/backupfs/"], in: folder.path)
        #expect(try run([folder("bin/backupfs"), "photo-info", "base.png"], in: folder.path).status == 0)
    }
}

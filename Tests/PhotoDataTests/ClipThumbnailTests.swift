import BackupCore
import Glibc
import PhotoData
import SystemIO
import TestSupport
import Testing

/// Thumbnails of clips that FFmpeg has made (`Clips/make.sh`): the first frame has a colour in each quarter, and all others are
/// black.
struct ClipThumbnailTests {
    static let clipFolder = "\(FileSystem.parentPath(#filePath))/Clips"

    /// A clip, and its thumbnail: the size, and which colour is above at the left and right, and below at the left and right.
    struct Clip: Sendable, CustomTestStringConvertible {
        let name: String
        let width: Int
        let height: Int
        let colours: [Colour]

        var testDescription: String { name }

        init(_ name: String, _ width: Int, _ height: Int, _ colours: [Colour] = [.red, .green, .blue, .grey]) {
            (self.name, self.width, self.height, self.colours) = (name, width, height, colours)
        }
    }

    enum Colour: Sendable {
        case red, green, blue, grey

        var parts: [Double] {
            switch self {
            case .red: [200, 40, 40]
            case .green: [40, 160, 40]
            case .blue: [40, 40, 200]
            case .grey: [220, 220, 220]
            }
        }
    }

    static let clips = [
        Clip("h264-baseline.mp4", 64, 48), Clip("h264-high.mov", 64, 48), Clip("h264-main-several-slices.mp4", 64, 48),
        Clip("h264-cropped.mp4", 60, 44), Clip("h264-bt709.mp4", 64, 48), Clip("h264-full-range.mov", 64, 48),
        Clip("h264-wide-pixels.mp4", 128, 48), Clip("h264-right.mp4", 48, 64, [.blue, .red, .grey, .green]),
        Clip("h264-upside-down.mov", 64, 48, [.grey, .blue, .green, .red]), Clip("hevc.mp4", 64, 48),
        Clip("hevc-10-bit.mov", 64, 48), Clip("hevc-left.mp4", 48, 64, [.green, .grey, .red, .blue]), Clip("mjpeg.mov", 64, 48),
        Clip("mjpeg.avi", 64, 48),
    ]

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func thumbnail(_ path: String, _ helper: MediaHelper) throws -> [UInt8] {
        let outcome = try PhotoFixtures.thumbnail(of: path, helper)
        guard case .found(let bytes) = outcome else {
            Issue.record("\(path): \(outcome)")
            throw Machine.Unusable("no thumbnail")
        }
        return bytes
    }

    /// The size of a picture, and the mean colours of its quarters.
    private func look(_ name: String) throws -> (width: Int, height: Int, quarters: [[Double]]) {
        let header = try run(["vips", "copy", name, "copy.v"], in: folder.path)
        #expect(header.status == 0, "\(header.output)")
        func number(_ field: String) throws -> Int {
            try #require(Int(try run(["vipsheader", "-f", field, "copy.v"], in: folder.path).output.filter(\.isNumber)))
        }
        let (width, height) = (try number("width"), try number("height"))
        try PhotoFixtures.ok(["vips", "shrink", "copy.v", "quarters.v", "\(width / 2)", "\(height / 2)"], in: folder.path)
        let quarters = try [("0", "0"), ("1", "0"), ("0", "1"), ("1", "1")].map { x, y in
            try run(["vips", "getpoint", "quarters.v", x, y], in: folder.path).output.split(whereSeparator: \.isWhitespace)
                .compactMap { Double($0) }
        }
        return (width, height, quarters)
    }

    private func isNear(_ parts: [Double], _ colour: Colour) -> Bool {
        parts.count == 3 && zip(parts, colour.parts).allSatisfy { abs($0 - $1) <= 10 }
    }

    @Test(arguments: clips)
    func `a clip has its first frame, turned and in its colours`(clip: Clip) throws {
        try folder.write(thumbnail("\(Self.clipFolder)/\(clip.name)", PhotoFixtures.helper()), to: "small.jpg")
        let picture = try look("small.jpg")
        #expect(picture.width == clip.width && picture.height == clip.height, "\(picture)")
        for (parts, colour) in zip(picture.quarters, clip.colours) { #expect(isNear(parts, colour), "\(picture)") }
    }

    /// 10 bits with 4:2:2, fields, ProRes, and a track without tables.
    @Test(arguments: ["h264-10-bit-422.mp4", "h264-interlaced.mp4", "prores.mov", "iphone.mov"])
    func `a clip that no decoder takes has no picture, and is no failure`(name: String) throws {
        let bytes = name == "iphone.mov" ? CraftedVideo.iPhone : try readFile("\(Self.clipFolder)/\(name)")
        let path = try folder.write(bytes, to: name)
        let helper = try PhotoFixtures.helper()
        guard case .nothing = try PhotoFixtures.thumbnail(of: path, helper) else {
            throw Machine.Unusable("there should be no picture")
        }
        let process = helper.processID
        #expect(try PhotoFixtures.found(path, helper).mediaType == .video)
        #expect(helper.processID == process, "it must not have crashed")
    }

    @Test func `a thumbnail has the form that was wanted`() throws {
        let helper = try PhotoFixtures.helper()
        for name in ["h264-right.mp4", "hevc-left.mp4", "mjpeg.avi"] {
            let file = try OwnedDescriptor.openFile("\(Self.clipFolder)/\(name)")
            for (form, size) in [
                (ThumbnailForm(pixels: 32, quality: 90, isStretched: false), name == "mjpeg.avi" ? [32, 24] : [24, 32]),
                (ThumbnailForm(pixels: 100, quality: 90, isStretched: true), [100, 100]),
            ] {
                guard case .found(let bytes) = try helper.thumbnail(of: file, form) else {
                    Issue.record("\(name): \(form)")
                    continue
                }
                let header = try #require(JPEGHeader(bytes))
                #expect([header.width, header.height] == size, "\(name): \(form)")
            }
        }
    }

    /// 5 GB of which only the clip exists: the picture is read by its position.
    @Test func `a picture behind 4 GB is found`() throws {
        let path = folder("large.mov")
        let clip = try readFile("\(Self.clipFolder)/mjpeg.mov")
        let start = try #require(clip.indices.first { clip[$0...].starts(with: [0xFF, 0xD8, 0xFF]) })
        // What follows it is no harm.
        let jpeg = Array(clip[start...])
        let offset: UInt64 = 5 << 30
        let movie = CraftedClip.movie(
            CraftedClip.track(offsets: [offset], sizes: [UInt32(jpeg.count)], runs: [(1, 1, 1)], isLong: true))
        let file = try OwnedDescriptor.open(path, O_RDWR | O_CREAT)
        try file.writeAll(
            movie + CraftedVideo.number(UInt32(1)) + Array("mdat".utf8)
                + CraftedVideo.number(offset + UInt64(jpeg.count) - UInt64(movie.count)))
        try jpeg.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.writeAll(bytes, at: offset) }
        let helper = try PhotoFixtures.helper()
        #expect(try thumbnail(path, helper).starts(with: [0xFF, 0xD8, 0xFF]))
        // Cut off below the picture: there is none.
        #expect(truncate(path, off_t(offset) + 10) == 0)
        guard case .nothing = try PhotoFixtures.thumbnail(of: path, helper) else {
            throw Machine.Unusable("there should be no picture")
        }
    }

    @Test func `the verb writes thumbnails of clips`() throws {
        for name in ["h264-high.mov", "hevc.mp4", "mjpeg.avi", "h264-interlaced.mp4"] {
            try writeFile(folder(name), readFile("\(Self.clipFolder)/\(name)"))
        }
        let result = try run(
            [Machine.binaryPath(), "photo-info", "--thumbnails", "small", "h264-high.mov", "hevc.mp4", "h264-interlaced.mp4"],
            in: folder.path)
        #expect(result.status == 0, "\(result.output)")
        let made = try DirectoryHandle(path: folder("small")).names().map(\.description).sorted()
        #expect(made == ["h264-high.mov.jpg", "hevc.mp4.jpg"])
        #expect(
            try run([Machine.binaryPath(), "photo-info", "mjpeg.avi", "--thumbnail", "avi.jpg"], in: folder.path).status == 0)
        #expect(try readFile(folder("avi.jpg")).starts(with: [0xFF, 0xD8, 0xFF]))
    }

    /// What libvips would take for Display P3 otherwise.
    @Test func `a photo of 16 bits without a profile keeps its colours`() throws {
        try PhotoFixtures.ok(
            ["vips", "black", "black.v", "32", "32", "--bands", "3"], in: folder.path)
        try PhotoFixtures.ok(["vips", "linear", "black.v", "red.v", "1 1 1", "200 40 40", "--uchar"], in: folder.path)
        try PhotoFixtures.ok(["vips", "copy", "red.v", "srgb.v", "--interpretation", "srgb"], in: folder.path)
        try PhotoFixtures.ok(["vips", "colourspace", "srgb.v", "red.png", "rgb16"], in: folder.path)
        try folder.write(thumbnail(folder("red.png"), PhotoFixtures.helper()), to: "small.jpg")
        for parts in try look("small.jpg").quarters { #expect(isNear(parts, .red), "\(parts)") }
    }
}

import TestSupport
import Testing

@testable import PhotoData

/// The reader of boxes, with files that are made byte by byte.
struct VideoReaderTests {
    private func read(_ bytes: [UInt8]) throws -> PhotoMetadata? {
        let source = VideoSource(byteCount: UInt64(bytes.count)) { offset, count in
            let start = Int(offset)
            return start + count <= bytes.count ? Array(bytes[start..<start + count]) : nil
        }
        return try VideoReader.metadata(of: source, contentType: "video/quicktime")
    }

    private func movie(_ content: [UInt8]) -> [UInt8] { CraftedVideo.fileType + CraftedVideo.box("moov", content) }

    @Test func `a video of an iPhone`() throws {
        let video = try #require(try read(CraftedVideo.iPhone))
        #expect(video.dateTaken?.text == "2024-05-06T09:08:09+02:00")
        #expect(video.pixelWidth == 1080 && video.pixelHeight == 1920 && video.durationSeconds == 1.5)
        #expect(video.cameraMake == "Apple" && video.cameraModel == "iPhone 15")
        #expect(video.gpsLatitude == 48.8584 && video.gpsLongitude == 2.2945 && video.gpsAltitude == 35)
        #expect(video.livePhotoIdentifier == "4F5A8C1E-0000-4000-8000-1234567890AB")
        #expect(video.tags.count == 5 && video.mediaType == .video && video.contentType == "video/quicktime")
    }

    @Test(arguments: [false, true])
    func `both versions of the headers`(isLong: Bool) throws {
        let video = try #require(
            try read(movie(CraftedVideo.movieHeader(isLong: isLong) + CraftedVideo.track(isLong: isLong))))
        // Only the movie header has a time, which is UTC.
        #expect(video.dateTaken?.text == "2024-05-06T07:08:09+00:00" && video.durationSeconds == 1.5)
        #expect(video.pixelWidth == 1920 && video.pixelHeight == 1080)
    }

    @Test func `a video of an Android phone`() throws {
        let data = CraftedVideo.userData([("©xyz", "-33.8568+151.2153/"), ("©mak", "Acme"), ("©mod", "Phone 3")])
        let meta = CraftedVideo.meta([("com.android.version", "14")], isFull: true)
        let video = try #require(try read(movie(CraftedVideo.movieHeader() + data + meta + CraftedVideo.track())))
        #expect(video.gpsLatitude == -33.8568 && video.gpsLongitude == 151.2153 && video.gpsAltitude == nil)
        #expect(video.cameraMake == "Acme" && video.cameraModel == "Phone 3")
        #expect(video.tags.contains(PhotoTag(key: "com.android.version", value: "14")))
    }

    @Test func `keys among the user data`() throws {
        let meta = CraftedVideo.meta([("com.apple.quicktime.creationdate", "2024-05-06T09:08:09+0200")], isFull: true)
        let video = try #require(try read(movie(CraftedVideo.movieHeader() + CraftedVideo.box("udta", meta))))
        #expect(video.dateTaken?.text == "2024-05-06T09:08:09+02:00")
    }

    @Test(arguments: [0, 1, 2_082_844_800, 1 << 63])
    func `a clock that was not set says nothing`(created: UInt64) throws {
        let video = try #require(try read(movie(CraftedVideo.movieHeader(isLong: true, created: created))))
        #expect(video.dateTaken == nil && video.pixelWidth == nil)
    }

    @Test func `durations that are not known`() throws {
        for header in [
            CraftedVideo.movieHeader(timescale: 0), CraftedVideo.movieHeader(duration: 0xFFFF_FFFF),
            CraftedVideo.movieHeader(isLong: true, timescale: 1, duration: 1 << 62), CraftedVideo.movieHeader(duration: 0),
        ] {
            #expect(try #require(try read(movie(header))).durationSeconds == nil)
        }
    }

    @Test func `a box of 64 bits, and one to the end of the file`() throws {
        let long = CraftedVideo.number(UInt32(1)) + Array("free".utf8) + CraftedVideo.number(UInt64(20)) + [0, 0, 0, 0]
        let header = CraftedVideo.movieHeader()
        #expect(try #require(try read(CraftedVideo.fileType + long + CraftedVideo.box("moov", header))).durationSeconds == 1.5)
        let open = CraftedVideo.number(UInt32(0)) + Array("moov".utf8) + header
        #expect(try #require(try read(CraftedVideo.fileType + open)).durationSeconds == 1.5)
        #expect(try read(CraftedVideo.fileType + CraftedVideo.number(UInt32(0)) + Array("mdat".utf8)) == nil)
    }

    @Test func `a flaw in the texts costs the texts`() throws {
        for texts in [
            CraftedVideo.meta((0..<257).map { ("key\($0)", "value") }),
            CraftedVideo.userData((0..<300).map { _ in ("©mak", "x") }),
            CraftedVideo.box("udta", CraftedVideo.number(UInt32(3)) + Array("©mak".utf8)),
        ] {
            let video = try #require(try read(movie(CraftedVideo.movieHeader() + texts + CraftedVideo.track())))
            #expect(video.durationSeconds == 1.5 && video.pixelWidth == 1920 && video.isShortened && video.cameraMake == nil)
        }
    }

    @Test func `zeros end a list of boxes`() throws {
        let data = CraftedVideo.userData([("©mak", "Acme")])
        let padded = CraftedVideo.box("udta", data[8...] + [UInt8](repeating: 0, count: 12))
        let video = try #require(try read(movie(CraftedVideo.movieHeader() + padded + CraftedVideo.track())))
        #expect(video.cameraMake == "Acme" && video.pixelWidth == 1920 && !video.isShortened)
    }

    /// As ffmpeg writes them, without a table of keys; and a day without a time of day.
    @Test func `items with names of their own, and a day`() throws {
        func item(_ name: String, _ text: String) -> [UInt8] {
            let data = CraftedVideo.number(UInt32(1)) + CraftedVideo.number(UInt32(0)) + Array(text.utf8)
            return CraftedVideo.box(name, CraftedVideo.box("data", data))
        }
        func metadata(_ day: String) -> [UInt8] {
            let handler = CraftedVideo.box("hdlr", [UInt8](repeating: 0, count: 25))
            let list = CraftedVideo.box("ilst", item("©nam", "Harbour") + item("©day", day))
            return CraftedVideo.box("udta", CraftedVideo.box("meta", [0, 0, 0, 0] + handler + list))
        }
        let header = CraftedVideo.movieHeader()
        let video = try #require(try read(movie(header + metadata("2024-05-06"))))
        #expect(video.title == "Harbour" && video.dateTaken?.text == "2024-05-06T07:08:09+00:00")
        let unset = CraftedVideo.movieHeader(isLong: true, created: 0)
        #expect(try #require(try read(movie(unset + metadata("2024-05-06")))).dateTaken?.text == "2024-05-06T00:00:00")
        let moment = metadata("2024-05-06T09:08:09+02:00")
        #expect(try #require(try read(movie(header + moment))).dateTaken?.text == "2024-05-06T09:08:09+02:00")
    }

    @Test func `an Android phone's make and model`() throws {
        let meta = CraftedVideo.meta(
            [("com.android.manufacturer", "Acme"), ("com.android.model", "Phone 4")], isFull: true)
        let video = try #require(try read(movie(CraftedVideo.movieHeader() + meta)))
        #expect(video.cameraMake == "Acme" && video.cameraModel == "Phone 4")
    }

    @Test func `hostile boxes are damage`() {
        let cases: [[UInt8]] = [
            // Shorter than its header, longer than what it is in, a cut header.
            CraftedVideo.fileType + CraftedVideo.number(UInt32(7)) + Array("moov".utf8),
            CraftedVideo.fileType + CraftedVideo.number(UInt32(100)) + Array("moov".utf8),
            CraftedVideo.fileType + [0, 0, 0],
            // 64-bit lengths that overflow, or are shorter than their header.
            CraftedVideo.fileType + CraftedVideo.number(UInt32(1)) + Array("mdat".utf8) + CraftedVideo.number(UInt64.max),
            CraftedVideo.fileType + CraftedVideo.number(UInt32(1)) + Array("mdat".utf8) + CraftedVideo.number(UInt64(15)),
            CraftedVideo.fileType + CraftedVideo.number(UInt32(1)) + Array("mdat".utf8),
            // A header without content, or far too long; a version that there is not.
            movie(CraftedVideo.box("mvhd", [])), movie(CraftedVideo.box("mvhd", [UInt8](repeating: 0, count: 300))),
            movie(CraftedVideo.box("mvhd", [9] + [UInt8](repeating: 0, count: 100))),
            // Many tracks.
            movie((0..<65).flatMap { _ in CraftedVideo.track() }),
        ]
        for bytes in cases { #expect(throws: VideoError.damaged) { try read(bytes) } }
    }

    /// 100,000 boxes of 8 bytes: a reader without a bound would go through a file of terabytes.
    @Test func `endless boxes are damage`() {
        let boxes = (0..<100_000).flatMap { _ in CraftedVideo.box("free", []) }
        #expect(throws: VideoError.damaged) { try read(boxes) }
    }

    @Test func `every cut of a file`() {
        let whole = CraftedVideo.iPhone
        for count in whole.indices { _ = try? read(Array(whole[..<count])) }
    }

    @Test(arguments: Rounds.seeds(40, oneIn: 8))
    func `no change of a file makes the reader go wrong`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            var bytes = CraftedVideo.iPhone
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                bytes[index] =
                    [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
            }
            guard let video = try? read(bytes) else { continue }
            // The program would believe what the helper sends of it.
            #expect((try? PhotoMetadata(decoding: video.encoded)) == video)
        }
    }
}

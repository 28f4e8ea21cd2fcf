import SystemIO
import TestSupport
import Testing

@testable import PhotoData

/// Which picture of a clip is found, in files that are made byte by byte and in those of FFmpeg.
struct ClipReaderTests {
    private func source(_ bytes: [UInt8]) -> VideoSource {
        VideoSource(byteCount: UInt64(bytes.count)) { offset, count in
            let start = Int(offset)
            return start + count <= bytes.count ? Array(bytes[start..<start + count]) : nil
        }
    }

    private func frame(_ bytes: [UInt8], isAVI: Bool = false) -> ClipFrame? {
        ClipReader.firstPicture(of: source(bytes), isAVI: isAVI) { $0 }
    }

    private func frame(ofClip name: String) throws -> ClipFrame {
        try #require(frame(readFile("\(ClipThumbnailTests.clipFolder)/\(name)"), isAVI: name.hasSuffix(".avi")))
    }

    /// Pictures of one byte each, which come first in the file, and say which one they are: they only begin as a JPEG does.
    private static func picture(_ number: UInt8) -> [UInt8] { [0xFF, 0xD8, 0xFF, number] }

    private static let data = CraftedVideo.box("mdat", (1...9).flatMap { picture(UInt8($0)) })
    private static let start = UInt64(CraftedVideo.fileType.count + 8)

    private func clip(_ track: [UInt8]) -> [UInt8] {
        CraftedVideo.fileType + Self.data + CraftedVideo.box("moov", CraftedVideo.movieHeader() + track)
    }

    private func expect(
        _ number: UInt8, _ track: [UInt8], orientation: Int = 1, at place: SourceLocation = #_sourceLocation
    ) {
        let found = frame(clip(track))
        #expect(found?.content == .image(Self.picture(number)), sourceLocation: place)
        #expect(found?.orientation == orientation && found?.pixelShape == .square, sourceLocation: place)
    }

    // MARK: Tables

    @Test func `the first picture that needs no other one`() {
        let start = Self.start
        let sizes = [UInt32](repeating: 4, count: 9)
        // One chunk; a chunk for each; three in each of two chunks and then one in each, the second chunk first in the file.
        expect(1, CraftedClip.track(offsets: [start], sizes: sizes, runs: [(1, 9, 1)]))
        expect(4, CraftedClip.track(offsets: [start], sizes: sizes, runs: [(1, 9, 1)], keys: [4, 7]))
        expect(
            7,
            CraftedClip.track(offsets: (0..<9).map { start + $0 * 4 }, sizes: sizes, runs: [(1, 1, 1)], keys: [7], isLong: true))
        let runs: [(UInt32, UInt32, UInt32)] = [(1, 3, 1), (3, 1, 1)]
        let offsets = [start + 12, start, start + 24, start + 28, start + 32]
        for (key, number) in [(1, 4), (3, 6), (4, 1), (6, 3), (7, 7), (9, 9)] {
            expect(UInt8(number), CraftedClip.track(offsets: offsets, sizes: sizes, runs: runs, keys: [UInt32(key)]))
            expect(UInt8(number), CraftedClip.track(offsets: offsets, sizes: sizes, same: 4, runs: runs, keys: [UInt32(key)]))
        }
    }

    @Test func `the description of its chunk, and the first track that can be decoded`() {
        let start = Self.start
        let two = [CraftedClip.entry("apcn"), CraftedClip.entry("jpeg")]
        expect(1, CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 2)], entries: two))
        #expect(frame(clip(CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], entries: two))) == nil)
        #expect(frame(clip(CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 3)], entries: two))) == nil)
        let unknown = CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], entries: [CraftedClip.entry("ap4h")])
        let damaged = CraftedClip.track(offsets: [1 << 31], sizes: [4], runs: [(1, 1, 1)])
        expect(2, unknown + damaged + CraftedClip.track(offsets: [start + 4], sizes: [4], runs: [(1, 1, 1)]))
    }

    @Test func `all eight ways to turn a picture`() {
        let one: Int32 = 0x10000
        let ways: [(Int32, Int32, Int32, Int32)] = [
            (one, 0, 0, one), (-one, 0, 0, one), (-one, 0, 0, -one), (one, 0, 0, -one), (0, one, one, 0), (0, one, -one, 0),
            (0, -one, -one, 0), (0, -one, one, 0),
        ]
        for (number, way) in ways.enumerated() {
            let matrix = [way.0, way.1, 0, way.2, way.3, 0, 0, 0, 0x4000_0000]
            expect(
                1, CraftedClip.track(offsets: [Self.start], sizes: [4], runs: [(1, 1, 1)], matrix: matrix),
                orientation: number + 1)
        }
        let skewed = [one, one, 0, 0, one, 0, 0, 0, 0x4000_0000]
        expect(1, CraftedClip.track(offsets: [Self.start], sizes: [4], runs: [(1, 1, 1)], matrix: skewed))
    }

    @Test func `tables that lead nowhere`() {
        let start = Self.start
        let large = UInt32((32 << 20) + 1)
        let tracks = [
            // Behind the file, across its end, around the end of 64 bits; nothing, too much.
            CraftedClip.track(offsets: [1 << 31], sizes: [4], runs: [(1, 1, 1)]),
            CraftedClip.track(offsets: [start], sizes: [60_000], runs: [(1, 1, 1)]),
            CraftedClip.track(offsets: [.max - 1], sizes: [4, 4], runs: [(1, 2, 1)], keys: [2], isLong: true),
            CraftedClip.track(offsets: [.max], sizes: [4], runs: [(1, 1, 1)], isLong: true),
            CraftedClip.track(offsets: [start], sizes: [0], runs: [(1, 1, 1)]),
            CraftedClip.track(offsets: [start], sizes: [large], runs: [(1, 1, 1)]),
            CraftedClip.track(offsets: [start], sizes: [4], same: .max, runs: [(1, 1, 1)]),
            // No picture, none that needs no other one, one that is not there, one that is far away.
            CraftedClip.track(offsets: [], sizes: [], runs: []),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], keys: []),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], keys: [0]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], keys: [2]),
            CraftedClip.track(offsets: [start], sizes: [4], same: 4, runs: [(1, .max, 1)], keys: [.max]),
            // Runs of nothing, out of order, beyond the last chunk, of too few.
            CraftedClip.track(offsets: [start], sizes: [4], runs: []),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 0, 1)]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(0, 1, 1)]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(2, 1, 1)]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1), (1, 1, 1)]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1), (.max, 1, 1)]),
            CraftedClip.track(offsets: [start], sizes: [4, 4], runs: [(1, 1, 1)], keys: [2]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 0)]),
            // A picture without pixels, and one with far too many.
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], entries: [CraftedClip.entry("jpeg", width: 0)]),
            CraftedClip.track(
                offsets: [start], sizes: [4], runs: [(1, 1, 1)],
                entries: [CraftedClip.entry("jpeg", width: 20_000, height: 20_000)]),
            // Codings without what they need.
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], entries: [CraftedClip.entry("avc1")]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], entries: [CraftedClip.entry("hvc1")]),
            CraftedClip.track(offsets: [start], sizes: [4], runs: [(1, 1, 1)], entries: []),
        ]
        for (number, track) in tracks.enumerated() { #expect(frame(clip(track)) == nil, "track \(number)") }
        #expect(frame(CraftedVideo.iPhone) == nil && frame([]) == nil && frame([], isAVI: true) == nil)
    }

    // MARK: Codings

    @Test func `what clips say of their colours and pixels`() throws {
        for (name, colours) in [
            ("h264-high.mov", VideoColours()), ("h264-full-range.mov", VideoColours(isFullRange: true)),
            ("h264-bt709.mp4", VideoColours(matrix: 1)),
        ] {
            let found = try frame(ofClip: name)
            guard case .h264(let bytes, let said) = found.content else { throw Machine.Unusable("no H.264") }
            #expect(said == colours, "\(name)")
            // A set of the sequence.
            #expect(bytes.starts(with: [0, 0, 0, 1, 0x67, 100]), "\(name)")
        }
        #expect(try frame(ofClip: "h264-wide-pixels.mp4").pixelShape == ClipFrame.PixelShape(width: 2, height: 1))
        #expect(try frame(ofClip: "h264-right.mp4").orientation == 6)
        #expect(try frame(ofClip: "hevc-left.mp4").orientation == 8)
    }

    @Test func `what the box of colours says comes before what the stream says`() throws {
        let boxes: [(kind: String, numbers: [UInt8], colours: VideoColours)] = [
            ("nclx", [0, 9, 0, 16, 0, 9, 0x80], VideoColours(matrix: 9, isFullRange: true)),
            ("nclc", [0, 1, 0, 1, 0, 6], VideoColours(matrix: 6)), ("nclx", [0, 2, 0, 2, 0, 2, 0], VideoColours()),
            ("prof", [1, 2, 3, 4, 5, 6], VideoColours()), ("nclx", [], VideoColours()),
        ]
        for box in boxes {
            // Bytes that are no box may follow.
            let colours = CraftedVideo.box("colr", Array(box.kind.utf8) + box.numbers) + [1, 2]
            let bytes = CraftedClip.table("stsd", [CraftedClip.entry("jpeg", colours)])
            var reader = BoxReader(source(bytes))
            let table = Box(type: PhotoBox.type("stsd"), content: 8..<UInt64(bytes.count))
            let entry = try SampleEntry(1, in: table, &reader)
            #expect(try #require(entry).colours(of: nil) == box.colours, "\(box)")
        }
    }

    @Test func `a picture of HEVC becomes a HEIC`() throws {
        guard case .image(let heic) = try frame(ofClip: "hevc.mp4").content else { throw Machine.Unusable("no HEIC") }
        #expect(ContentKind(prefix: heic) == .heif && ContentKind.heifType(heic) == "image/heic")
    }

    @Test func `numbers of bits, without the bytes that keep start codes out`() throws {
        var reader = BitReader([0b1_010_011_0, 0b0100_0010, 0, 0, 3, 1, 0xFF][...])
        #expect(try reader.exponential() == 0 && reader.exponential() == 1 && reader.exponential() == 2)
        #expect(try reader.exponential() == 3)
        #expect(try reader.bits(4) == 2)
        #expect(try reader.bits(24) == 1 && reader.bits(8) == 0xFF)
        #expect(throws: VideoError.self) { try reader.bits(1) }
        var signed = BitReader([0b010_011_00, 0b100_00101][...])
        #expect(try signed.signedExponential() == 1 && signed.signedExponential() == -1 && signed.signedExponential() == 2)
        #expect(try signed.signedExponential() == -2)
        var endless = BitReader([UInt8](repeating: 0, count: 40)[...])
        #expect(throws: VideoError.self) { try endless.exponential() }
    }

    @Test func `parts of a coded picture that are not there`() {
        for bytes: [UInt8] in [[], [0, 0], [0, 0, 0, 2, 0x65], [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF, 1]] {
            #expect(throws: VideoError.self, "\(bytes)") { try CodedUnits.split(bytes, lengthByteCount: 4) }
        }
        #expect(throws: VideoError.self) { try CodedUnits.split([0, 0, 1, 9], lengthByteCount: 3) }
        #expect(throws: VideoError.self) {
            try CodedUnits.split((0..<5_000).flatMap { _ in [1, 9] as [UInt8] }, lengthByteCount: 1)
        }
    }

    // MARK: AVI

    private func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        Array(name.utf8) + CraftedVideo.number(UInt32(content.count)).reversed() + content + (content.count % 2 == 1 ? [0] : [])
    }

    private func stream(_ type: String, _ coding: String) -> [UInt8] {
        let format = [UInt8](repeating: 0, count: 16) + Array(coding.utf8) + [UInt8](repeating: 0, count: 20)
        return chunk("LIST", Array("strl".utf8) + chunk("strh", Array(type.utf8) + Array(coding.utf8)) + chunk("strf", format))
    }

    private func avi(_ streams: [UInt8], _ movie: [UInt8]) -> [UInt8] {
        let content =
            Array("AVI ".utf8) + chunk("LIST", Array("hdrl".utf8) + streams) + chunk("JUNK", [1, 2, 3])
            + chunk("LIST", Array("movi".utf8) + movie)
        return chunk("RIFF", content)
    }

    @Test func `the first picture of an AVI`() {
        let streams = stream("auds", "\u{1}\0\0\0") + stream("vids", "MJPG")
        let first = ClipFrame.Content.image(Self.picture(1))
        let pictures = chunk("01dc", []) + chunk("01dc", Self.picture(1)) + chunk("01dc", Self.picture(2))
        let movie = chunk("00wb", [1, 2, 3]) + pictures
        #expect(ContentKind(prefix: avi(streams, movie)) == .avi)
        #expect(frame(avi(streams, movie), isAVI: true)?.content == first)
        #expect(frame(avi(streams, chunk("LIST", Array("rec ".utf8) + movie)), isAVI: true)?.content == first)
        // Another coding, no stream of pictures, a picture of another stream, a list in a list in a list.
        #expect(frame(avi(stream("auds", "MJPG") + stream("vids", "H264"), movie), isAVI: true) == nil)
        #expect(frame(avi(stream("auds", "MJPG"), movie), isAVI: true) == nil)
        #expect(frame(avi(stream("vids", "MJPG"), movie), isAVI: true) == nil)
        let deep = chunk("LIST", Array("rec ".utf8) + chunk("LIST", Array("rec ".utf8) + movie))
        #expect(frame(avi(streams, deep), isAVI: true) == nil)
    }

    // MARK: Damage

    @Test(arguments: ["h264-high.mov", "hevc.mp4", "mjpeg.avi"])
    func `no cut and no changed byte of the tables is more than damage`(name: String) throws {
        let whole = try readFile("\(ClipThumbnailTests.clipFolder)/\(name)")
        let isAVI = name.hasSuffix(".avi")
        for end in stride(from: 0, to: whole.count, by: 7) { _ = frame(Array(whole[..<end]), isAVI: isAVI) }
        // `moov` has fewer bytes than the file, wherever it is.
        for index in stride(from: 0, to: whole.count, by: 3) {
            for value: UInt8 in [0, 1, 0x7F, 0xFF] where whole[index] != value {
                var changed = whole
                changed[index] = value
                if let found = frame(changed, isAVI: isAVI) { #expect((1...8).contains(found.orientation)) }
            }
        }
    }
}

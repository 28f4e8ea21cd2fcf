import Foundation
import PhotoData
import SystemIO
import TestSupport
import Testing

/// The helper's pictures are not trusted, and each has to be one that other programs can read.
@Suite struct PNGPictureTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try PhotoFixtures.ok(["vips", "gaussnoise", "noise.v", "256", "171"], in: folder.path)
        try PhotoFixtures.ok(["vips", "cast", "noise.v", "grey.v", "uchar"], in: folder.path)
        try PhotoFixtures.ok(["vips", "bandjoin", "grey.v grey.v grey.v", "colour.v"], in: folder.path)
        for name in ["grey", "colour"] { try PhotoFixtures.ok(["vips", "copy", "\(name).v", "\(name).jpg"], in: folder.path) }
    }

    private func picture(_ name: String, _ sidePixels: Int) throws -> MediaOutcome<PNGPicture> {
        let file = try OwnedDescriptor.openFile(folder(name))
        return try PhotoFixtures.helper().picture(of: file, sidePixels: sidePixels)
    }

    @Test(arguments: ["grey", "colour"], [256, 128])
    func `a thumbnail becomes a PNG with the texts`(name: String, sidePixels: Int) throws {
        guard case .found(let picture) = try picture("\(name).jpg", sidePixels) else { throw Machine.Unusable("not found") }
        #expect((picture.width, picture.height) == (sidePixels, sidePixels == 256 ? 171 : 86))
        try writeFile(folder("made.png"), picture.bytes(texts: [("Thumb::URI", "file:///a%20b"), ("Software", "backupfs")]))
        #expect(
            try run(
                ["sh", "-c", "python3 -c \"$0\" < made.png; vips avg made.png > /dev/null && echo whole", Self.chunks],
                in: folder.path
            ).output
                == "IHDR b''\ntEXt b'Thumb::URI\\x00file:///a%20b'\ntEXt b'Software\\x00backupfs'\nIDAT b''\nIEND b''\nwhole\n")
        guard sidePixels == 256 else { return }
        // Not another picture: JPEG and PNG differ by nothing.
        #expect(
            try run(
                [
                    "sh", "-c",
                    "vips extract_band \(name).jpg a.v 0; vips extract_band made.png b.v 0; vips subtract a.v b.v c.v; vips abs c.v d.v; vips max d.v",
                ], in: folder.path
            )
            .output.hasPrefix("0"))
    }

    /// Prints the chunks of a PNG file, with the content of texts.
    private static let chunks = """
        import struct, sys, zlib
        data = sys.stdin.buffer.read()
        assert data[:8] == bytes([137]) + b'PNG' + bytes([13, 10, 26, 10])
        offset, last = 8, None
        while offset < len(data):
            length, kind = struct.unpack('>I4s', data[offset:offset + 8])
            content = data[offset + 8:offset + 8 + length]
            assert struct.unpack('>I', data[offset + 8 + length:offset + 12 + length])[0] == zlib.crc32(kind + content)
            if kind != last or kind != b'IDAT': print(kind.decode(), content if kind == b'tEXt' else b'')
            offset, last = offset + 12 + length, kind
        """

    @Test func `what is no thumbnail is refused`() throws {
        try writeFile(folder("text.jpg"), Array("no picture".utf8))
        try writeFile(folder("cut.jpg"), [0xFF, 0xD8, 0xFF, 0xE0] + Array("no picture".utf8))
        try writeFile(folder("long.jpg"), try readFile(folder("grey.jpg")) + [UInt8](repeating: 0, count: 60_000))
        try PhotoFixtures.ok(["vips", "copy", "grey.v", "grey.png"], in: folder.path)
        guard case .nothing = try picture("text.jpg", 256), case .unreadable(.damaged) = try picture("cut.jpg", 256),
            case .unreadable(.tooLarge) = try picture("long.jpg", 256), case .nothing = try picture("grey.png", 256)
        else { throw Machine.Unusable("not refused") }
    }

    @Test func `a PNG that is not plain is not believed`() throws {
        guard case .found(let sound) = try picture("colour.jpg", 256) else { throw Machine.Unusable("not found") }
        let bytes = sound.bytes()
        #expect(PNGPicture(bytes, sidePixels: 256) == sound)
        #expect(PNGPicture(bytes, sidePixels: 255) == nil)
        #expect(PNGPicture(bytes + [0], sidePixels: 256) == nil)
        // Each cut, and each byte but those of texts, which are left out.
        for count in stride(from: 0, to: bytes.count, by: 97) {
            #expect(PNGPicture(Array(bytes[..<count]), sidePixels: 256) == nil)
        }
        for index in Array(0..<64) + Array((bytes.count - 64)..<bytes.count) {
            var changed = bytes
            changed[index] ^= 0x01
            #expect(PNGPicture(changed, sidePixels: 256) == nil, "byte \(index)")
        }
        // Further pages, other depths, a palette.
        for command in [
            "cast colour.v other.png[bitdepth=16] ushort", "copy grey.v other.png[palette]", "copy grey.v other.png[bitdepth=1]",
            "copy colour.v other.png[interlace]",
        ] {
            _ = try run(["sh", "-c", "rm -f other.png; vips \(command)"], in: folder.path)
            guard let other = try? readFile(folder("other.png")) else { continue }
            #expect(PNGPicture(other, sidePixels: 256) == nil, "\(command)")
        }
    }
}

import SystemIO
import TestSupport
import Testing

@testable import Photos

/// The addresses under which GLib looks for thumbnails.
struct BrowsedPathTests {
    @Test func `every byte is written as GLib writes it`() throws {
        let folder = try TemporaryFolder()
        try folder.write(
            """
            import ctypes, sys
            glib = ctypes.CDLL("libglib-2.0.so.0")
            glib.g_filename_to_uri.restype = ctypes.c_char_p
            for line in sys.stdin:
                print(glib.g_filename_to_uri(bytes.fromhex(line), None, None).decode())
            """, to: "glib.py")
        var paths: [[UInt8]] = (1...255).map { [47, UInt8($0)] }
        paths += ["/a b/ü#1/100%/日本 (1).jpg", "/~x/é;[]{}|^`\"<>\\?.jpg"].map { Array($0.utf8) }
        let text = paths.map { $0.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() }.joined(
            separator: "\n")
        try folder.write(text + "\n", to: "paths")
        let result = try run(["sh", "-c", "python3 glib.py < paths"], in: folder.path)
        let expected = result.output.split(separator: "\n").map(String.init)
        try #require(result.status == 0 && expected.count == paths.count, "\(result.output.suffix(500))")
        for (path, address) in zip(paths, expected) { #expect(BrowsedPath.address(of: path) == address) }
    }

    @Test func `a path is made absolute as GLib does it`() throws {
        #expect(BrowsedPath.absolute("/a//b/./c/../d/") == Array("/a/b/d".utf8))
        #expect(BrowsedPath.absolute("/../..") == Array("/".utf8))
        #expect(BrowsedPath.absolute("x/./y") == Array((try run(["pwd", "-P"]).output.split(separator: "\n")[0] + "/x/y").utf8))
    }
}

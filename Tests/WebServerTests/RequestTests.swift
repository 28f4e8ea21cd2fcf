import BackupCore
import SystemIO
import Testing

@testable import WebServer

/// What a request says, whatever a client sends.
struct RequestTests {
    @Test(arguments: [
        ("/", []), ("//", []), ("/snapshots/", ["snapshots"]), ("/a/b.txt", ["a", "b.txt"]),
        ("/a%20b/c%2Bd+e", ["a b", "c+d+e"]),
        ("//evil.example/x", ["evil.example", "x"]), ("/%E2%82%AC", ["€"]), ("/...", ["..."]),
    ])
    func `a path is the names in it`(text: String, names: [String]) {
        #expect(RequestPath(text)?.names == names.map { FileName($0) })
    }

    @Test(arguments: [
        "", "a", "http://x/", "*", "/..", "/a/../b", "/a/%2e%2E/b", "/.", "/a/./b", "/a%2Fb", "/a%00b", "/%", "/%2", "/%zz",
        "/a/%2f",
    ])
    func `a path that could lead elsewhere is refused`(text: String) { #expect(RequestPath(text) == nil) }

    @Test func `any bytes are a name, and its address leads to it`() {
        let name = FileName(bytes: [255, 10, 32, 35, 63, 38, 60, 34])
        let address = RequestPath.address([FileName("snapshots"), name], isFolder: true)
        #expect(address == "/snapshots/%FF%0A%20%23%3F%26%3C%22/")
        #expect(RequestPath(address)?.names == [FileName("snapshots"), name])
    }

    @Test(arguments: [
        (nil, ByteRange.whole), ("bytes=0-9", .part(0..<10)), ("bytes=5-", .part(5..<100)), ("bytes=-10", .part(90..<100)),
        ("bytes=-1000", .part(0..<100)), ("bytes=90-1000", .part(90..<100)), ("bytes=99-99", .part(99..<100)),
        ("bytes=100-", .unsatisfiable), ("bytes=18446744073709551615-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
        ("bytes=0-18446744073709551615", .part(0..<100)),
        // Not understood: the whole file, as the standard says.
        ("bytes=9-5", .whole), ("bytes=a-", .whole), ("bytes=", .whole), ("bytes=-", .whole), ("bytes=0-1,5-6", .whole),
        ("items=0-1", .whole), ("bytes=+1-2", .whole), ("bytes=18446744073709551616-", .whole), ("bytes=1", .whole),
    ])
    func `a range of bytes`(header: String?, range: ByteRange) { #expect(ByteRange(header, size: 100) == range) }

    @Test func `nothing of an empty file can be asked for`() {
        #expect(ByteRange("bytes=0-", size: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-5", size: 0) == .unsatisfiable)
        #expect(ByteRange(nil, size: 0) == .whole)
    }

    @Test func `times as date(1) writes them`() {
        #expect(HTTPDate.text(Timestamp(seconds: 1_795_688_043)) == "Thu, 26 Nov 2026 10:14:03 GMT")
        #expect(HTTPDate.internet(Timestamp(seconds: 1_795_688_043)) == "2026-11-26T10:14:03Z")
        #expect(HTTPDate.text(Timestamp(seconds: -1)) == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(HTTPDate.text(Timestamp(seconds: .max)) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.internet(Timestamp(seconds: .min)) == "0000-01-01T00:00:00Z")
    }

    @Test func `the token in each of its places, and no other one`() throws {
        let token = try #require(AccessToken("0123456789abcdef"))
        #expect(token.isIn(authorization: "Bearer 0123456789abcdef", cookie: nil))
        // printf 'me:0123456789abcdef' | base64
        #expect(token.isIn(authorization: "Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg==", cookie: nil))
        #expect(token.isIn(authorization: nil, cookie: "other=1; backupfs-9f9f5111f7b2=0123456789abcdef"))
        for wrong in [
            "Bearer 0123456789abcdeF", "Bearer ", "Bearer", "Basic 0123456789abcdef", "Basic !", "Digest 0123456789abcdef",
        ] {
            #expect(!token.isIn(authorization: wrong, cookie: "backupfs-9f9f5111f7b2=0123456789abcdef"), "\(wrong)")
        }
        #expect(!token.isIn(authorization: nil, cookie: "token=0123456789abcdef; backupfs-9f9f5111f7b2=0123456789abcde"))
        #expect(!token.isIn(authorization: nil, cookie: nil))
    }

    @Test(arguments: ["", "short", "0123456789abcde", "0123456789 abcdef", "0123456789;abcdef", "0123456789abcdeé"])
    func `a token that cannot be sent or could be guessed is refused`(text: String) { #expect(AccessToken(text) == nil) }

    @Test(arguments: [
        ("index.html", "text/html; charset=utf-8"), ("snapshots/one/index.html", "text/html; charset=utf-8"),
        ("reports/2026.html", "text/html; charset=utf-8"), ("live/media/index.html", "text/plain; charset=utf-8"),
        ("snapshots/one/media/index.html", "text/plain; charset=utf-8"), ("versions/media/a.html", "text/plain; charset=utf-8"),
        ("snapshots/one/media/x.HTM", "text/plain; charset=utf-8"), ("live/media/x.svg", "image/svg+xml"),
        ("live/media/x.JPG", "image/jpeg"), ("live/media/x", "application/octet-stream"),
        ("live/media/reports.html", "text/plain; charset=utf-8"), ("snapshots/one/export.json", "application/json"),
    ])
    func `only the program's own pages are pages`(path: String, type: String) {
        let names = path.split(separator: "/").map { FileName(String($0)) }
        #expect(ContentType.of(names) == type)
        #expect(ContentType.policy(names).contains("sandbox") == !type.hasPrefix("text/html"))
    }

    @Test(arguments: [
        ("127.0.0.1:0", ListeningAddress.version4("127.0.0.1", port: 0)), ("0.0.0.0:65535", .version4("0.0.0.0", port: 65_535)),
        ("[::1]:8080", .version6("::1", port: 8_080)),
    ])
    func `an address is a number and a port`(text: String, address: ListeningAddress) {
        #expect(ListeningAddress(text) == address)
    }

    @Test(arguments: [
        "", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "localhost:80", "::1:80", "[::1]", "127.1:80", "1.2.3.4:-1",
    ])
    func `anything else is none`(text: String) { #expect(ListeningAddress(text) == nil) }
}

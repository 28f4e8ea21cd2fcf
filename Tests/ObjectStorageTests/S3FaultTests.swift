import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// Servers and networks that fail, without a real server.
@Suite(.rotating(oneIn: 3)) struct S3FaultTests {
    private static let facts = [
        "ETag": "\"781e5e245d69b566979b86e28d23f2c7\"", "Last-Modified": "Thu, 26 Nov 2026 10:14:03 GMT",
    ]
    private static func facts(_ more: [String: String]) -> [String: String] { facts.merging(more) { _, new in new } }
    private static func error(_ code: String) -> String { "<Error><Code>\(code)</Code><Message>words</Message></Error>" }
    private static let emptyListing =
        "<ListBucketResult><Name>bucket</Name><Prefix>p/</Prefix><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>"

    private let pauses = Monitor<[Double]>([])
    private let log = RequestLog()

    /// Answers of a server that is not there.
    private func server(_ faults: FaultProxy.Fault..., certificateFile: String? = nil) throws -> FaultProxy {
        let proxy = try FaultProxy(target: "127.0.0.1:1", certificateFile: certificateFile)
        try proxy.set(faults)
        return proxy
    }

    private func storage(_ server: FaultProxy, http: HTTPSettings = HTTPSettings(), scheme: String = "http") throws -> S3Storage {
        let location = try S3Location("s3:\(scheme)://\(scheme == "https" ? "localhost" : "127.0.0.1"):\(server.port)/bucket/p")
        let credentials = S3CredentialSource(.fixed(try S3Credentials(accessKeyID: "KEY", secretAccessKey: "SECRET")))
        let pauses = pauses
        let client = S3Client(
            location: location, region: "us-east-1", http: try HTTPClient(settings: http), credentials: credentials,
            observer: log,
            random: { 1 }, sleep: { seconds in pauses.withLock { $0.append(seconds) } })
        return try S3Storage(client, options: S3Options(), capabilities: [.conditionalCreate, .rangedReads, .removal])
    }

    @Test func `an overloaded server is asked three times, with growing pauses`() throws {
        let busy = FaultProxy.Action.page(status: 503, headers: ["Retry-After": "7"], body: Self.error("SlowDown"))
        let server = try server(
            .init(.page(status: 500), method: "GET", path: "list-type"),
            .init(busy, method: "GET", path: "list-type", nth: 2, times: 9))
        let storage = try storage(server)
        #expect(errorCode { _ = try storage.list(prefix: "", after: nil) } == .offline)
        #expect(pauses.withLock { $0 } == [0.5, 7])
        #expect(try server.requests().count == 3)
        #expect(log.requests.map(\.tryCount) == [3])
        #expect(log.requests.map(\.status) == [503])
        // One connection for all.
        #expect(try Set(server.requests().map(\.connection)).count == 1)
    }

    @Test func `a server's clock is taken over once`() throws {
        let skewed = FaultProxy.Action.page(
            status: 403, headers: ["Date": "Tue, 01 Jan 2030 12:00:00 GMT"], body: Self.error("RequestTimeTooSkewed"))
        let server = try server(
            .init(skewed, method: "GET", path: "list-type"),
            .init(.page(body: Self.emptyListing), method: "GET", path: "list-type", nth: 2))
        #expect(try storage(server).list(prefix: "", after: nil).objects.isEmpty)
        #expect(try server.requests()[1].headers["x-amz-date"]?.hasPrefix("20300101T1") == true)
        let stubborn = try self.server(.init(skewed, method: "GET", path: "list-type", times: 9))
        #expect(errorCode { _ = try storage(stubborn).list(prefix: "", after: nil) } == .accessDenied)
        #expect(try stubborn.requests().count == 2)
    }

    @Test(arguments: [
        (2..<5 as Range<UInt64>?, "234"), (0..<10, "0123456789"), (8..<50, "89"), (10..<12, ""), (nil, "0123456789"),
    ])
    func `a server that ignores ranges costs time, not bytes`(range: Range<UInt64>?, expected: String) throws {
        let server = try server(
            .init(.page(headers: Self.facts, body: "0123456789"), method: "GET", path: "digits", times: 9))
        #expect(try storage(server).bytes(named("digits"), range) == Array(expected.utf8))
    }

    /// JuiceFS and rclone do so for an object that is stored or removed at this moment.
    @Test func `a listing with an entry that lacks its ETag is asked for again`() throws {
        func listing(_ tag: String) -> FaultProxy.Action {
            let entry = "<Key>p/a</Key><Size>1</Size><ETag>\(tag)</ETag><LastModified>2026-11-26T10:14:03Z</LastModified>"
            let contents = "<KeyCount>1</KeyCount><Contents>\(entry)</Contents>"
            return .page(body: Self.emptyListing.replacing("<KeyCount>0</KeyCount>", with: contents))
        }
        let server = try server(
            .init(listing(""), method: "GET", path: "list-type", times: 2),
            .init(listing("x"), method: "GET", path: "list-type", nth: 3))
        #expect(try storage(server).list(prefix: "", after: nil).objects.map(\.version.text) == ["x"])
        #expect(try server.requests().count == 3)
        #expect(pauses.withLock { $0.count } == 2)
        let never = try self.server(.init(listing(""), method: "GET", path: "list-type", times: 9))
        #expect(errorCode { _ = try storage(never).list(prefix: "", after: nil) } == .inputOutput)
        #expect(try never.requests().count == 5)
    }

    /// `rclone serve s3` does so.
    @Test func `a range that comes with status 200 is the range, if the server says so`() throws {
        let headers = Self.facts(["Content-Range": "bytes 2-4/10"])
        let server = try server(.init(.page(headers: headers, body: "234"), method: "GET", path: "digits", times: 9))
        #expect(try storage(server).bytes(named("digits"), 2..<5) == Array("234".utf8))
        for text in ["bytes 3-5/10", "bytes 2-3/10", "bytes 2-4"] {
            let other = FaultProxy.Action.page(headers: Self.facts(["Content-Range": text]), body: "234")
            let wrong = try self.server(.init(other, method: "GET", path: "digits", times: 9))
            #expect(errorCode { _ = try storage(wrong).bytes(named("digits"), 2..<5) } == .inputOutput, "\(text)")
        }
    }

    @Test func `a broken transfer is continued where it ended, and only of the same version`() throws {
        let partial = FaultProxy.Action.page(headers: Self.facts(["Content-Length": "10"]), body: "0123")
        let first = FaultProxy.Fault(partial, method: "GET", path: "digits")
        let rest = FaultProxy.Action.page(status: 206, headers: Self.facts(["Content-Range": "bytes 4-9/10"]), body: "456789")
        let server = try server(first, .init(rest, method: "GET", path: "digits", nth: 2))
        #expect(try storage(server).bytes(named("digits")) == Array("0123456789".utf8))
        #expect(try server.requests()[1].headers["range"] == "bytes=4-")
        let replaced = FaultProxy.Action.page(
            status: 206, headers: Self.facts(["Content-Range": "bytes 4-9/10", "ETag": "\"other\""]), body: "456789")
        let changed = try self.server(first, .init(replaced, method: "GET", path: "digits", nth: 2))
        #expect(errorCode { _ = try storage(changed).bytes(named("digits")) } == .conflict)
        let never = try self.server(first, .init(.page(status: 412), method: "GET", path: "digits", nth: 2, times: 9))
        #expect(errorCode { _ = try storage(never).bytes(named("digits")) } == .conflict)
    }

    @Test(arguments: [
        ["Content-Range": "bytes 3-5/10"], ["Content-Range": "bytes 2-9/10"], ["Content-Range": "bytes 2-4/x"], [:],
        ["Content-Range": "bytes 2-4/10", "ETag": ""],
    ])
    func `a range that was not asked for is an error`(headers: [String: String]) throws {
        let server = try server(
            .init(.page(status: 206, headers: Self.facts(headers), body: "234"), method: "GET", path: "digits", times: 9))
        var passed = 0
        let code = errorCode {
            _ = try storage(server).read(named("digits"), range: 2..<5) { (part) throws(BackupError) in passed += part.count }
        }
        #expect(code == .inputOutput)
        #expect(passed == 0)
    }

    @Test func `an upload is compared with its MD5 when the server gives no checksum any more`() throws {
        let checksum = ["x-amz-checksum-sha256": "hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII="]
        let server = try server(
            .init(.page(headers: Self.facts(checksum)), method: "PUT", path: "digits"),
            .init(.page(headers: Self.facts), method: "PUT", path: "digits", nth: 2),
            .init(.page(headers: Self.facts), method: "PUT", path: "letters"),
            .init(.page(headers: Self.facts, body: "0123456789"), method: "GET", path: "letters", times: 9),
            .init(.page(headers: Self.facts), method: "HEAD", path: "letters", times: 9))
        let storage = try storage(server)
        let version = ObjectVersion("781e5e245d69b566979b86e28d23f2c7")
        #expect(try storage.create(named("digits"), ObjectDraft(Array("0123456789".utf8))) == version)
        #expect(try storage.create(named("digits"), ObjectDraft(Array("0123456789".utf8))) == version)
        #expect(try server.requests().map(\.method) == ["PUT", "PUT"])
        // It says that it has the digits.
        #expect(errorCode { _ = try storage.create(named("letters"), ObjectDraft(Array("abcdefghij".utf8))) } == .conflict)
        #expect(try server.requests().dropFirst(2).map(\.method) == ["PUT", "GET", "HEAD"])
    }

    /// A draft can be read only once: the disk fails then, or the file was cut off.
    @Test(arguments: [true, false]) func `an upload whose draft cannot be read again is compared otherwise, or is an error`(
        fails: Bool
    ) throws {
        let checksum = ["x-amz-checksum-sha256": "hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII="]
        let server = try server(
            .init(.page(headers: Self.facts(checksum)), method: "PUT", path: "digits"),
            .init(.page(headers: Self.facts), method: "PUT", path: "digits", nth: 2),
            .init(.page(headers: Self.facts, body: "0123456789"), method: "GET", path: "digits", times: 9))
        let storage = try storage(server)
        let digits = Array("0123456789".utf8)
        let version = try storage.create(named("digits"), ObjectDraft(digits))
        let whole = ObjectDraft(digits)
        let draft = ObjectDraft(source: OnceReadable(digits, fails: fails), sizeBytes: 10, sha256: whole.sha256)
        if fails {
            #expect(errorCode { _ = try storage.create(named("digits"), draft) } == .inputOutput)
            #expect(try server.requests().map(\.method) == ["PUT", "PUT"])
        } else {
            #expect(try storage.create(named("digits"), draft) == version)
            #expect(try server.requests().map(\.method) == ["PUT", "PUT", "GET"])
        }
    }

    @Test func `an object that does not have its checksum is damaged`() throws {
        let headers = Self.facts(["x-amz-checksum-sha256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="])
        let wrong = try server(.init(.page(headers: headers, body: "hallo"), method: "GET", path: "x"))
        #expect(errorCode { _ = try storage(wrong).bytes(named("x")) } == .damagedContent)
        let right = try server(.init(.page(headers: headers, body: "hello"), method: "GET", path: "x"))
        #expect(try storage(right).bytes(named("x")) == Array("hello".utf8))
    }

    @Test func `a server that says nothing ends a request in time`() throws {
        let server = try server(.init(.delay(seconds: 600), method: "GET", times: 9))
        var http = HTTPSettings()
        http.stallSeconds = 0.5
        let storage = try storage(server, http: http)
        let start = SystemClock.monotonicNanoseconds()
        let error = failure { _ = try storage.bytes(named("x")) }
        #expect(error?.code == .offline)
        #expect(error?.message.contains("does not answer in time") == true)
        #expect(SystemClock.monotonicNanoseconds() - start < 60_000_000_000)
        #expect(log.requests.map(\.tryCount) == [3])
    }

    @Test func `no server is offline, never absence`() throws {
        let location = try S3Location("s3:http://127.0.0.1:1/bucket")
        let credentials = S3CredentialSource(.fixed(try S3Credentials(accessKeyID: "KEY", secretAccessKey: "SECRET")))
        let client = S3Client(
            location: location, region: "us-east-1", http: try HTTPClient(settings: HTTPSettings()), credentials: credentials,
            observer: log, sleep: { _ in })
        let storage = try S3Storage(client, options: S3Options(), capabilities: S3TestServer.allCapabilities)
        for code in [
            errorCode { _ = try storage.look(named("a")) }, errorCode { _ = try storage.bytes(named("a")) },
            errorCode { _ = try storage.list(prefix: "", after: nil) },
            errorCode { _ = try storage.create(named("a"), draft("a")) },
            errorCode { try storage.remove(named("a"), version: nil) },
        ] { #expect(code == .offline) }
    }

    @Test func `a page of another server is an error and never absence`() throws {
        let server = try server(.init(.page(status: 404, body: "<html>Not here</html>"), times: 99))
        let storage = try storage(server)
        #expect(errorCode { _ = try storage.look(named("a")) } == .inputOutput)
        #expect(errorCode { _ = try storage.bytes(named("a")) } == .inputOutput)
        #expect(errorCode { _ = try storage.list(prefix: "", after: nil) } == .inputOutput)
        #expect(errorCode { try storage.remove(named("a"), version: nil) } == .inputOutput)
        let welcome = try self.server(.init(.page(body: "<html>Log in</html>"), method: "GET", times: 99))
        #expect(errorCode { _ = try self.storage(welcome).list(prefix: "", after: nil) } == .inputOutput)
    }

    @Test func `a redirect is not followed`() throws {
        let target = try server(.init(.page(body: Self.emptyListing), method: "GET", times: 9))
        let server = try server(
            .init(.page(status: 307, headers: ["Location": "\(target.endpoint)/"]), method: "GET", times: 9))
        #expect(errorCode { _ = try storage(server).list(prefix: "", after: nil) } == .invalidArgument)
        #expect(try target.requests().isEmpty)
    }

    @Test func `an answer that never ends is refused`() throws {
        let server = try server(.init(.page(body: "<x>", count: 4_000_000), method: "GET", times: 9))
        #expect(errorCode { _ = try storage(server).list(prefix: "", after: nil) } == .inputOutput)
    }

    @Test func `TLS is checked against the system's authorities, or a file`() throws {
        let folder = try TemporaryFolder()
        let made = try Job(
            [
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder("key"), "-out",
                folder("certificate"),
                "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            ], scratch: folder("openssl")
        ).wait()
        try #require(made.exitCode == 0, "\(made.errors)")
        try folder.write(folder.read("key") + folder.read("certificate"), to: "both")
        let server = try server(
            .init(.page(body: Self.emptyListing), method: "GET", times: 9), certificateFile: folder("both"))
        let error = failure { _ = try storage(server, scheme: "https").list(prefix: "", after: nil) }
        #expect(error?.code == .accessDenied)
        #expect(error?.message == "the certificate of localhost:\(server.port) is not trusted")
        var http = HTTPSettings()
        http.certificateFile = folder("certificate")
        #expect(try storage(server, http: http, scheme: "https").list(prefix: "", after: nil).objects.isEmpty)
        http.certificateFile = folder("absent")
        #expect(errorCode { _ = try storage(server, http: http, scheme: "https") } == .invalidArgument)
    }

    @Test func `at most as many requests run as permitted`() throws {
        let server = try server(.init(.page(body: Self.emptyListing), method: "GET", times: 99))
        var http = HTTPSettings()
        http.parallelRequests = 2
        let storage = try storage(server, http: http)
        let threads = try (0..<8).map { _ in
            try SystemThread { for _ in 0..<3 { _ = try? storage.list(prefix: "", after: nil) } }
        }
        for thread in threads { thread.join() }
        #expect(try server.requests().count == 24)
        // Each of the two has kept its connection.
        #expect(try Set(server.requests().map(\.connection)).count <= 2)
    }
}

/// Bytes of which each can be read once.
private final class OnceReadable: ByteSource {
    private let bytes: [UInt8]
    private let fails: Bool
    private let readCount = Monitor(0)

    /// - Parameter fails: whether another read is an error. Otherwise nothing is there any more.
    init(_ bytes: [UInt8], fails: Bool) { (self.bytes, self.fails) = (bytes, fails) }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let rest = bytes[min(bytes.count, Int(offset))...].prefix(buffer.count)
        if !rest.isEmpty {
            let before = readCount.withLock { count in
                defer { count += rest.count }
                return count
            }
            guard before + rest.count <= bytes.count else {
                if fails { throw BackupError(.inputOutput, "the disk fails") }
                return 0
            }
        }
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

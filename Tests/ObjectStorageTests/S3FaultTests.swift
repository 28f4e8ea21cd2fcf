import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// Servers and networks that fail, without a real server.
@Suite struct S3FaultTests {
    private static let facts = [
        "ETag": "\"781e5e245d69b566979b86e28d23f2c7\"", "Last-Modified": "Thu, 26 Nov 2026 10:14:03 GMT",
    ]
    private static func facts(_ more: [String: String]) -> [String: String] { facts.merging(more) { _, new in new } }
    private static func error(_ code: String) -> String { "<Error><Code>\(code)</Code><Message>words</Message></Error>" }
    private static let emptyListing =
        "<ListBucketResult><Name>bucket</Name><Prefix>p/</Prefix><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>"

    private let pauses = Monitor<[Double]>([])
    private let log = RequestLog()

    private func storage(_ server: FaultServer, http: HTTPSettings = HTTPSettings(), scheme: String = "http") throws -> S3Storage
    {
        let location = try S3Location("s3:\(scheme)://\(scheme == "https" ? "localhost:\(server.port)" : server.host)/bucket/p")
        let credentials = S3CredentialSource(.fixed(try S3Credentials(accessKeyID: "KEY", secretAccessKey: "SECRET")))
        let pauses = pauses
        let client = S3Client(
            location: location, region: "us-east-1", http: try HTTPClient(settings: http), credentials: credentials,
            observer: log,
            random: { 1 }, sleep: { seconds in pauses.withLock { $0.append(seconds) } })
        return try S3Storage(client, options: S3Options(), capabilities: [.conditionalCreate, .rangedReads, .removal])
    }

    @Test func `an overloaded server is asked three times, with growing pauses`() throws {
        let busy = FaultServer.Rule.Fault.answer(503, headers: ["Retry-After": "7"], body: Self.error("SlowDown"))
        let server = try FaultServer([.init("GET", "list-type", .answer(500)), .init("GET", "list-type", times: 9, busy)])
        let storage = try storage(server)
        #expect(errorCode { _ = try storage.list(prefix: "", after: nil) } == .offline)
        #expect(pauses.withLock { $0 } == [0.5, 7])
        #expect(server.requests.count == 3)
        #expect(log.requests.map(\.tryCount) == [3])
        #expect(log.requests.map(\.status) == [503])
        // One connection for all.
        #expect(Set(server.requests.map { $0[4] }).count == 1)
    }

    @Test func `a server's clock is taken over once`() throws {
        let skewed = FaultServer.Rule.Fault.answer(
            403, headers: ["Date": "Tue, 01 Jan 2030 12:00:00 GMT"], body: Self.error("RequestTimeTooSkewed"))
        let server = try FaultServer([
            .init("GET", "list-type", skewed), .init("GET", "list-type", .answer(200, body: Self.emptyListing)),
        ])
        #expect(try storage(server).list(prefix: "", after: nil).objects.isEmpty)
        #expect(server.requests[1][2].hasPrefix("20300101T1"))
        let stubborn = try FaultServer([.init("GET", "list-type", times: 9, skewed)])
        #expect(errorCode { _ = try storage(stubborn).list(prefix: "", after: nil) } == .accessDenied)
        #expect(stubborn.requests.count == 2)
    }

    @Test(arguments: [
        (2..<5 as Range<UInt64>?, "234"), (0..<10, "0123456789"), (8..<50, "89"), (10..<12, ""), (nil, "0123456789"),
    ])
    func `a server that ignores ranges costs time, not bytes`(range: Range<UInt64>?, expected: String) throws {
        let server = try FaultServer([.init("GET", "digits", times: 9, .answer(200, headers: Self.facts, body: "0123456789"))])
        #expect(try storage(server).bytes(named("digits"), range) == Array(expected.utf8))
    }

    /// JuiceFS and rclone do so for an object that is stored or removed at this moment.
    @Test func `a listing with an entry that lacks its ETag is asked for again`() throws {
        func listing(_ tag: String) -> FaultServer.Rule.Fault {
            let entry = "<Key>p/a</Key><Size>1</Size><ETag>\(tag)</ETag><LastModified>2026-11-26T10:14:03Z</LastModified>"
            let contents = "<KeyCount>1</KeyCount><Contents>\(entry)</Contents>"
            return .answer(200, body: Self.emptyListing.replacing("<KeyCount>0</KeyCount>", with: contents))
        }
        let server = try FaultServer([.init("GET", "list-type", times: 2, listing("")), .init("GET", "list-type", listing("x"))])
        #expect(try storage(server).list(prefix: "", after: nil).objects.map(\.version.text) == ["x"])
        #expect(server.requests.count == 3)
        #expect(pauses.withLock { $0.count } == 2)
        let never = try FaultServer([.init("GET", "list-type", times: 9, listing(""))])
        #expect(errorCode { _ = try storage(never).list(prefix: "", after: nil) } == .inputOutput)
        #expect(never.requests.count == 5)
    }

    /// `rclone serve s3` does so.
    @Test func `a range that comes with status 200 is the range, if the server says so`() throws {
        let headers = Self.facts(["Content-Range": "bytes 2-4/10"])
        let server = try FaultServer([.init("GET", "digits", times: 9, .answer(200, headers: headers, body: "234"))])
        #expect(try storage(server).bytes(named("digits"), 2..<5) == Array("234".utf8))
        for text in ["bytes 3-5/10", "bytes 2-3/10", "bytes 2-4"] {
            let other = FaultServer.Rule.Fault.answer(200, headers: Self.facts(["Content-Range": text]), body: "234")
            let wrong = try FaultServer([.init("GET", "digits", times: 9, other)])
            #expect(errorCode { _ = try storage(wrong).bytes(named("digits"), 2..<5) } == .inputOutput, "\(text)")
        }
    }

    @Test func `a broken transfer is continued where it ended, and only of the same version`() throws {
        let first = FaultServer.Rule.Fault.answer(200, headers: Self.facts(["Content-Length": "10"]), body: "0123")
        let rest = FaultServer.Rule.Fault.answer(206, headers: Self.facts(["Content-Range": "bytes 4-9/10"]), body: "456789")
        let server = try FaultServer([.init("GET", "digits", first), .init("GET", "digits", rest)])
        #expect(try storage(server).bytes(named("digits")) == Array("0123456789".utf8))
        #expect(server.requests[1][3] == "bytes=4-")
        let replaced = FaultServer.Rule.Fault.answer(
            206, headers: Self.facts(["Content-Range": "bytes 4-9/10", "ETag": "\"other\""]), body: "456789")
        let changed = try FaultServer([.init("GET", "digits", first), .init("GET", "digits", replaced)])
        #expect(errorCode { _ = try storage(changed).bytes(named("digits")) } == .conflict)
        let never = try FaultServer([.init("GET", "digits", first), .init("GET", "digits", times: 9, .answer(412))])
        #expect(errorCode { _ = try storage(never).bytes(named("digits")) } == .conflict)
    }

    @Test(arguments: [
        ["Content-Range": "bytes 3-5/10"], ["Content-Range": "bytes 2-9/10"], ["Content-Range": "bytes 2-4/x"], [:],
        ["Content-Range": "bytes 2-4/10", "ETag": ""],
    ])
    func `a range that was not asked for is an error`(headers: [String: String]) throws {
        let server = try FaultServer([.init("GET", "digits", times: 9, .answer(206, headers: Self.facts(headers), body: "234"))])
        var passed = 0
        let code = errorCode {
            _ = try storage(server).read(named("digits"), range: 2..<5) { (part) throws(BackupError) in passed += part.count }
        }
        #expect(code == .inputOutput)
        #expect(passed == 0)
    }

    @Test func `an object that does not have its checksum is damaged`() throws {
        let headers = Self.facts(["x-amz-checksum-sha256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="])
        let wrong = try FaultServer([.init("GET", "x", .answer(200, headers: headers, body: "hallo"))])
        #expect(errorCode { _ = try storage(wrong).bytes(named("x")) } == .damagedContent)
        let right = try FaultServer([.init("GET", "x", .answer(200, headers: headers, body: "hello"))])
        #expect(try storage(right).bytes(named("x")) == Array("hello".utf8))
    }

    @Test func `a server that says nothing ends a request in time`() throws {
        let server = try FaultServer([.init("GET", "", times: 9, .stall)])
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
        let page = FaultServer.Rule.Fault.answer(404, body: "<html>Not here</html>")
        let server = try FaultServer(["HEAD", "GET", "DELETE"].map { .init($0, "", times: 99, page) })
        let storage = try storage(server)
        #expect(errorCode { _ = try storage.look(named("a")) } == .inputOutput)
        #expect(errorCode { _ = try storage.bytes(named("a")) } == .inputOutput)
        #expect(errorCode { _ = try storage.list(prefix: "", after: nil) } == .inputOutput)
        #expect(errorCode { try storage.remove(named("a"), version: nil) } == .inputOutput)
        let welcome = try FaultServer([.init("GET", "", times: 99, .answer(200, body: "<html>Log in</html>"))])
        #expect(errorCode { _ = try self.storage(welcome).list(prefix: "", after: nil) } == .inputOutput)
    }

    @Test func `a redirect is not followed`() throws {
        let target = try FaultServer([.init("GET", "", times: 9, .answer(200, body: Self.emptyListing))])
        let server = try FaultServer([.init("GET", "", times: 9, .answer(307, headers: ["Location": "http://\(target.host)/"]))])
        #expect(errorCode { _ = try storage(server).list(prefix: "", after: nil) } == .invalidArgument)
        #expect(target.requests.isEmpty)
    }

    @Test func `an answer that never ends is refused`() throws {
        let server = try FaultServer([.init("GET", "", times: 9, .endlessAnswer)])
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
        let rules: [FaultServer.Rule] = [.init("GET", "", times: 9, .answer(200, body: Self.emptyListing))]
        let server = try FaultServer(rules, certificateFile: folder("both"))
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
        let server = try FaultServer([.init("GET", "", times: 99, .answer(200, body: Self.emptyListing))])
        var http = HTTPSettings()
        http.parallelRequests = 2
        let storage = try storage(server, http: http)
        let threads = try (0..<8).map { _ in
            try SystemThread { for _ in 0..<3 { _ = try? storage.list(prefix: "", after: nil) } }
        }
        for thread in threads { thread.join() }
        #expect(server.requests.count == 24)
        // Each of the two has kept its connection.
        #expect(Set(server.requests.map { $0[4] }).count <= 2)
    }
}

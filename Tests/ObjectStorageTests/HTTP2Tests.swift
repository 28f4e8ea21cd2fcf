import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// A real server behind a front that speaks HTTP/2 alone, as the load balancers of providers do.
@Suite(.enabled(if: ServerFront.isPossible, Comment(rawValue: ServerFront.whyNot))) struct HTTP2Tests {
    private let server: S3TestServer
    private let prefix = "tests/" + RandomToken.make()
    private let log = RequestLog()

    init() throws { server = try S3TestServer() }

    /// - Parameter front: in front of the server, or of a proxy before it.
    private func storage(
        _ front: ServerFront, options: S3Options = S3Options(),
        sleep: @escaping @Sendable (Double) throws(BackupError) -> Void = { _ in }
    ) throws -> S3Storage {
        var http = HTTPSettings()
        http.certificateFile = front.certificatePath
        return try server.storage(prefix, through: front.endpoint, options: options, http: http, observer: log, sleep: sleep)
    }

    private static var smallParts: S3Options {
        var options = S3Options()
        options.multipartThresholdBytes = 5 << 20
        options.partSizeBytes = 5 << 20
        return options
    }

    /// As boto3 reads it from the server itself.
    private func digest(_ name: String) throws -> String {
        try server.boto3(
            "print(hashlib.sha256(s3.get_object(Bucket=bucket, Key=sys.argv[1])['Body'].read()).hexdigest())",
            ["\(prefix)/\(name)"])
    }

    @Test func `all requests go over one connection, with HTTP version 2`() throws {
        let front = try ServerFront(target: server.host)
        let storage = try storage(front, options: Self.smallParts)
        let large = try SecureRandom.bytes(count: 12_000_000)
        #expect(try storage.look(named("small")) == nil)
        let version = try storage.create(named("small"), draft("hello"))
        #expect(errorCode { _ = try storage.create(named("small"), draft("other")) } == .alreadyExists)
        #expect(try storage.create(named("odd ä+%&'*~/x"), draft("odd")).text == "a2b6f2a6066ed8700d83335fc50a2b8e")
        _ = try storage.create(named("empty"), draft(""))
        #expect(try storage.bytes(named("empty")) == [])
        #expect(try storage.create(named("large"), draft(large)).text.hasSuffix("-3"))
        #expect(SHA256Hasher.hash(try storage.bytes(named("large"))) == SHA256Hasher.hash(large))
        #expect(try digest("large") == SHA256Hasher.hash(large).hexadecimal)
        #expect(try storage.bytes(named("large"), 5_000_000..<5_000_010) == Array(large[5_000_000..<5_000_010]))
        _ = try storage.replace(named("small"), version: version, draft("again"))
        #expect(try storage.bytes(named("small")) == Array("again".utf8))
        #expect(
            try storage.list(prefix: "", after: nil).objects.map(\.name.text) == ["empty", "large", "odd ä+%&'*~/x", "small"])
        try storage.remove(named("small"), version: nil)
        #expect(try storage.look(named("small")) == nil)

        // Apache can log the last streams of a connection that stays open a minute late.
        let requests = try front.requests(atLeast: log.requests.count / 2)
        #expect(requests.count <= log.requests.count)
        #expect(Set(requests.map(\.version)) == ["HTTP/2.0"])
        #expect(Set(requests.map(\.port)).count == 1)
        #expect(log.requests.count { $0.method == "PUT" && $0.kind == .uploadPart } == 3)
        #expect(log.requests.allSatisfy { $0.tryCount == 1 })
        #expect(log.requests.reduce(0) { $0 + $1.connectionCount } == 1)
    }

    /// The first connection ends in the middle of a body, the second one is made to the front that has started again.
    @Test(arguments: [100_000, 12_000_000]) func `a front that ends in the middle of an upload costs another try`(
        sizeBytes: Int
    ) throws {
        let proxy = try FaultProxy(target: server.host)
        let front = try ServerFront(target: "127.0.0.1:\(proxy.port)")
        try proxy.set(FaultProxy.Fault(.stallRequest(afterBytes: 50_000), method: "PUT", path: "large"))
        let hasStarted = Monitor(false)
        let storage = try storage(front, options: Self.smallParts) { _ throws(BackupError) in
            _ = hasStarted.wait(until: { $0 }, forNanoseconds: 60_000_000_000)
        }
        let bytes = try SecureRandom.bytes(count: sizeBytes)
        let outcome = Monitor<BackupError.Code?>(.busy)
        let thread = try SystemThread {
            let code = errorCode { _ = try storage.create(named("large"), draft(bytes)) }
            outcome.withLock { $0 = code }
        }
        try proxy.wait(for: "stall-request")
        try front.stop()
        try proxy.release()
        try front.start()
        hasStarted.changeWakingAll { $0 = true }
        thread.join()
        #expect(outcome.withLock { $0 } == nil)
        #expect(try digest("large") == SHA256Hasher.hash(bytes).hexadecimal)
        #expect(log.requests.contains { $0.method == "PUT" && $0.tryCount > 1 })
        #expect(try server.boto3("print(s3.list_multipart_uploads(Bucket=bucket).get('Uploads', []))") == "[]")
    }

    /// It says so with GOAWAY, and ends the connection after the requests that run.
    @Test func `a front that loads its settings again breaks no request`() throws {
        let front = try ServerFront(target: server.host)
        let storage = try storage(front)
        let end = SystemClock.monotonicSeconds() + 60
        var count = 0
        func createNext() throws {
            _ = try storage.create(named("n\(count)"), draft("number \(count)"))
            count += 1
        }
        for reloads in 0..<3 {
            // The old connection may serve some more.
            while try Set(front.requests().map(\.port)).count <= reloads, SystemClock.monotonicSeconds() < end {
                try createNext()
            }
            try front.reload()
        }
        for _ in 0..<20 { try createNext() }
        #expect(try Set(front.requests().map(\.port)).count >= 3)
        for index in 0..<count { #expect(try storage.bytes(named("n\(index)")) == Array("number \(index)".utf8)) }
        #expect(try storage.list(prefix: "", after: nil).objects.count == count)
    }

    /// The front resets the stream (RST_STREAM) when the server behind it ends an answer too early.
    @Test func `a stream that is reset is continued where it ended`() throws {
        let proxy = try FaultProxy(target: server.host)
        let front = try ServerFront(target: "127.0.0.1:\(proxy.port)")
        let storage = try storage(front)
        let bytes = try SecureRandom.bytes(count: 1_000_003)
        _ = try storage.create(named("large"), draft(bytes))
        try proxy.set(FaultProxy.Fault(.cutAnswer(afterBytes: 300_000), method: "GET", path: "large"))
        #expect(SHA256Hasher.hash(try storage.bytes(named("large"))) == SHA256Hasher.hash(bytes))
        let ranges = try proxy.requests().filter { $0.method == "GET" }.map { $0.headers["range"] }
        // A reset can overtake the first bytes: then there is another try from the start.
        #expect(ranges.count > 1 && ranges[0] == nil, "\(ranges)")
        // Other streams of the connection are not affected.
        #expect(try Set(front.requests().map(\.port)).count == 1)
    }

    @Test func `a lost answer of a change does not become an error`() throws {
        let proxy = try FaultProxy(target: server.host)
        let front = try ServerFront(target: "127.0.0.1:\(proxy.port)")
        try proxy.set(
            FaultProxy.Fault(.dropAnswer, method: "PUT", path: "label"),
            FaultProxy.Fault(.dropAnswer, method: "DELETE", path: "label"))
        let storage = try storage(front)
        let version = try storage.create(named("label"), draft("hello"))
        #expect(version.text == "5d41402abc4b2a76b9719d911017c592")
        #expect(errorCode { _ = try storage.create(named("label"), draft("hello")) } == .alreadyExists)
        try storage.remove(named("label"), version: version)
        #expect(try storage.look(named("label")) == nil)
    }

    @Test func `the certificate of another authority is refused`() throws {
        let front = try ServerFront(target: server.host)
        let other = try ObjectServer.shared(usesTLS: true)
        var http = HTTPSettings()
        http.certificateFile = other.certificatePath
        let storage = try server.storage(prefix, through: front.endpoint, http: http, observer: log)
        let error = failure { _ = try storage.list(prefix: "", after: nil) }
        #expect(error?.code == .accessDenied)
        #expect(error?.message.english == "the certificate of \(front.endpoint.dropFirst(8)) is not trusted")
        #expect(log.requests.map(\.tryCount) == [1])
        #expect(try front.requests().isEmpty)
    }
}

import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// A real server behind a network that fails.
@Suite struct S3ProxyTests {
    private let server: S3TestServer
    private let prefix = "tests/" + RandomToken.make()

    init() throws { server = try S3TestServer() }

    private func storage(_ faults: FaultProxy.Fault..., options: S3Options = S3Options()) throws -> (S3Storage, FaultProxy) {
        let proxy = try FaultProxy(target: server.host)
        try proxy.set(faults)
        return (try server.storage(prefix, through: "127.0.0.1:\(proxy.port)", options: options), proxy)
    }

    @Test(arguments: [1, 3]) func `a lost answer of a change does not become an error`(times: Int) throws {
        let (storage, proxy) = try storage(
            .init(.dropAnswer, method: "PUT", path: "label", times: times),
            .init(.dropAnswer, method: "DELETE", path: "label", times: times))
        let name = try named("label")
        let first = try storage.create(name, draft("hello"))
        #expect(first.text == "5d41402abc4b2a76b9719d911017c592")
        #expect(errorCode { _ = try storage.create(name, draft("hello")) } == .alreadyExists)
        try storage.remove(name, version: first)
        #expect(try storage.look(name) == nil)
        _ = proxy
    }

    @Test func `a lost answer of a replacement does not become a conflict`() throws {
        let (storage, proxy) = try storage(
            .init(.page(status: 503), method: "PUT", path: "lost"), .init(.dropAnswer, method: "PUT", path: "lost", nth: 2))
        let direct = try server.storage(prefix)
        let name = try named("lost")
        let first = try direct.create(name, draft("a"))
        let second = try storage.replace(name, version: first, draft("b"))
        #expect(try direct.look(name)?.version == second)
        #expect(try direct.bytes(name) == Array("b".utf8))
        _ = proxy
    }

    @Test func `a try of ours is not taken for another client's object, and the other way round`() throws {
        let direct = try server.storage(prefix)
        let name = try named("lock")
        _ = try direct.create(name, draft("same bytes"))
        // The server gets nothing of it, and the object with the same bytes is another client's.
        let (storage, proxy) = try storage(.init(.page(status: 500), method: "PUT", path: "lock"))
        #expect(errorCode { _ = try storage.create(name, draft("same bytes")) } == .alreadyExists)
        #expect(try proxy.requests().filter { $0.method == "PUT" }.count == 2)
    }

    @Test func `a read that is cut twice has all bytes`() throws {
        let (storage, proxy) = try storage(
            .init(.cutAnswer(afterBytes: 300_000), method: "GET", path: "large"),
            .init(.cutAnswer(afterBytes: 1), method: "GET", path: "large", nth: 2))
        let bytes = try SecureRandom.bytes(count: 1_000_003)
        let name = try named("large")
        _ = try storage.create(name, draft(bytes))
        #expect(SHA256Hasher.hash(try storage.bytes(name)) == SHA256Hasher.hash(bytes))
        #expect(
            try proxy.requests().filter { $0.method == "GET" }.map { $0.headers["range"] }
                == [nil, "bytes=300000-", "bytes=300001-"])
    }

    @Test func `a wrong ETag has the object read back`() throws {
        let headers: [String: String?] = [
            "ETag": "\"00000000000000000000000000000000\"", "x-amz-checksum-sha256": nil, "x-amz-checksum-crc64nvme": nil,
            "x-amz-checksum-type": nil,
        ]
        let (storage, proxy) = try storage(.init(.replaceHeaders(headers), method: "PUT", path: "tagged"))
        let version = try storage.create(named("tagged"), draft("hello"))
        #expect(version.text == "5d41402abc4b2a76b9719d911017c592")
        #expect(try proxy.requests().map(\.method) == ["PUT", "GET"])
    }

    @Test func `bytes that change on their way are refused, and nothing is stored`() throws {
        let (storage, proxy) = try storage(.init(.flipRequest(offset: 0), method: "PUT", path: "changed", times: 3))
        #expect(errorCode { _ = try storage.create(named("changed"), draft("hello")) } == .damagedContent)
        #expect(try storage.look(named("changed")) == nil)
        #expect(try proxy.requests().filter { $0.method == "PUT" }.count == 3)
    }

    @Test func `an upload in parts survives lost answers, and leaves nothing behind when it fails`() throws {
        var options = S3Options()
        options.multipartThresholdBytes = 5 << 20
        options.partSizeBytes = 5 << 20
        let bytes = [UInt8](repeating: 5, count: 6 << 20)
        let (storage, losing) = try storage(
            .init(.dropAnswer, method: "PUT", path: "partNumber=2"), .init(.dropAnswer, method: "POST", path: "uploadId"),
            options: options)
        let version = try storage.create(named("large"), draft(bytes))
        #expect(version.text.hasSuffix("-2"))
        #expect(try storage.look(named("large"))?.sizeBytes == 6 << 20)
        #expect(try losing.requests().filter { $0.method == "POST" }.count == 3)
        let (failing, proxy) = try self.storage(
            .init(.page(status: 500), method: "PUT", path: "partNumber=2", times: 3), options: options)
        #expect(errorCode { _ = try failing.create(named("failed"), draft(bytes)) } == .offline)
        #expect(try storage.look(named("failed")) == nil)
        #expect(try proxy.requests().last?.method == "DELETE")
        let uploads = try server.boto3(
            "print(s3.list_multipart_uploads(Bucket=bucket, Prefix=sys.argv[1]).get('Uploads', []))", [prefix])
        #expect(uploads == "[]")
    }
}

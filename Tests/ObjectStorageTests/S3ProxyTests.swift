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

    private func storage(_ rules: [FaultServer.Rule], options: S3Options = S3Options()) throws -> (S3Storage, FaultServer) {
        let proxy = try FaultServer(rules, upstream: server.host)
        return (try server.storage(prefix, through: proxy.host, options: options), proxy)
    }

    @Test(arguments: [1, 3]) func `a lost answer of a change does not become an error`(times: Int) throws {
        let (storage, proxy) = try storage([
            .init("PUT", "label", times: times, .loseAnswer), .init("DELETE", "label", times: times, .loseAnswer),
        ])
        let name = try named("label")
        let first = try storage.create(name, draft("hello"))
        #expect(first.text == "5d41402abc4b2a76b9719d911017c592")
        #expect(errorCode { _ = try storage.create(name, draft("hello")) } == .alreadyExists)
        try storage.remove(name, version: first)
        #expect(try storage.look(name) == nil)
        _ = proxy
    }

    @Test func `a lost answer of a replacement does not become a conflict`() throws {
        let (storage, proxy) = try storage([.init("PUT", "lost", .answer(503)), .init("PUT", "lost", .loseAnswer)])
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
        let (storage, proxy) = try storage([.init("PUT", "lock", .answer(500))])
        #expect(errorCode { _ = try storage.create(name, draft("same bytes")) } == .alreadyExists)
        #expect(proxy.requests.filter { $0[0] == "PUT" }.count == 2)
    }

    @Test func `a read that is cut twice has all bytes`() throws {
        let (storage, proxy) = try storage([.init("GET", "large", .cut(bytes: 300_000)), .init("GET", "large", .cut(bytes: 1))])
        let bytes = try SecureRandom.bytes(count: 1_000_003)
        let name = try named("large")
        _ = try storage.create(name, draft(bytes))
        #expect(SHA256Hasher.hash(try storage.bytes(name)) == SHA256Hasher.hash(bytes))
        #expect(proxy.requests.filter { $0[0] == "GET" }.map { $0[3] } == ["None", "bytes=300000-", "bytes=300001-"])
    }

    @Test func `a wrong ETag has the object read back`() throws {
        let (storage, proxy) = try storage([.init("PUT", "tagged", .wrongTag)])
        let version = try storage.create(named("tagged"), draft("hello"))
        #expect(version.text == "5d41402abc4b2a76b9719d911017c592")
        #expect(proxy.requests.map { $0[0] } == ["PUT", "GET"])
    }

    @Test func `bytes that change on their way are refused, and nothing is stored`() throws {
        let (storage, proxy) = try storage([.init("PUT", "changed", times: 3, .changeUpload)])
        #expect(errorCode { _ = try storage.create(named("changed"), draft("hello")) } == .damagedContent)
        #expect(try storage.look(named("changed")) == nil)
        #expect(proxy.requests.filter { $0[0] == "PUT" }.count == 3)
    }

    @Test func `an upload in parts survives lost answers, and leaves nothing behind when it fails`() throws {
        var options = S3Options()
        options.multipartThresholdBytes = 5 << 20
        options.partSizeBytes = 5 << 20
        let bytes = [UInt8](repeating: 5, count: 6 << 20)
        let (storage, losing) = try storage(
            [.init("PUT", "partNumber=2", .loseAnswer), .init("POST", "uploadId", .loseAnswer)], options: options)
        let version = try storage.create(named("large"), draft(bytes))
        #expect(version.text.hasSuffix("-2"))
        #expect(try storage.look(named("large"))?.sizeBytes == 6 << 20)
        #expect(losing.requests.filter { $0[0] == "POST" }.count == 3)
        let (failing, proxy) = try self.storage([.init("PUT", "partNumber=2", times: 3, .answer(500))], options: options)
        #expect(errorCode { _ = try failing.create(named("failed"), draft(bytes)) } == .offline)
        #expect(try storage.look(named("failed")) == nil)
        #expect(proxy.requests.last?[0] == "DELETE")
        let uploads = try server.boto3(
            "print(s3.list_multipart_uploads(Bucket=bucket, Prefix=sys.argv[1]).get('Uploads', []))", [prefix])
        #expect(uploads == "[]")
    }
}

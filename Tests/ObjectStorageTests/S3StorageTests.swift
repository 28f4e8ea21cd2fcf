import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// Against a real server.
@Suite struct S3StorageTests {
    private let server: S3TestServer
    private let prefix = "tests/" + RandomToken.make()

    init() throws { server = try S3TestServer() }

    @Test func `an object is created, looked at, read and removed`() throws {
        let log = RequestLog()
        let storage = try server.storage(prefix, observer: log)
        let name = try named("packs/ab/0.pack")
        #expect(try storage.look(name) == nil)
        #expect(errorCode { _ = try storage.bytes(name) } == .notFound)
        let version = try storage.create(name, draft("hello"))
        let facts = try #require(try storage.look(name))
        #expect(facts.sizeBytes == 5)
        // The MD5 of hello.
        #expect(facts.version.text == "5d41402abc4b2a76b9719d911017c592")
        #expect(version == facts.version)
        #expect(abs(facts.storedAt.secondsSince(SystemClock.systemTime())) < 60)
        #expect(try storage.bytes(name) == Array("hello".utf8))
        try storage.remove(name, version: nil)
        #expect(try storage.look(name) == nil)
        #expect(errorCode { try storage.remove(name, version: nil) } == .notFound)
        #expect(log.requests.allSatisfy { $0.tryCount == 1 })
        #expect(log.requests.reduce(0) { $0 + $1.connectionCount } == 1)
        #expect(log.requests.map(\.kind).contains(.create))
    }

    @Test func `an object that exists is not created again`() throws {
        let storage = try server.storage(prefix)
        let name = try named("config")
        _ = try storage.create(name, draft("first"))
        let error = failure { _ = try storage.create(name, draft("second")) }
        #expect(error?.code == .alreadyExists)
        #expect(error?.path == "s3:http://\(server.host)/\(server.bucket)/\(prefix)/config")
        #expect(try storage.bytes(name) == Array("first".utf8))
    }

    @Test(arguments: [S3TestServer.allCapabilities, [.removal]])
    func `a replacement and a removal need the version`(capabilities: StorageCapabilities) throws {
        let storage = try server.storage(prefix, capabilities: capabilities)
        let name = try named("label")
        #expect(errorCode { _ = try storage.replace(name, version: ObjectVersion("0"), draft("b")) } == .notFound)
        let first = try storage.create(name, draft("a"))
        #expect(errorCode { _ = try storage.create(name, draft("a")) } == .alreadyExists)
        let second = try storage.replace(name, version: first, draft("b"))
        #expect(errorCode { _ = try storage.replace(name, version: first, draft("c")) } == .conflict)
        #expect(errorCode { try storage.remove(name, version: first) } == .conflict)
        #expect(try storage.bytes(name) == Array("b".utf8))
        try storage.remove(name, version: second)
        #expect(try storage.look(name) == nil)
    }

    @Test func `odd names are one object each, also for boto3`() throws {
        let storage = try server.storage(prefix)
        let texts = [
            "a b", "a+b", "100%", "%41", "ä/ö ü", "cafe\u{301}", "caf\u{E9}", "日本/語", "~tilde", "a&b=c?d#e", "quote'\"<>",
            "a:b;c,d@e!$*()",
        ]
        let names = try texts.map(named)
        for name in names { _ = try storage.create(name, draft("odd \(name)")) }
        for name in names { #expect(try storage.bytes(name) == Array("odd \(name)".utf8)) }
        #expect(try storage.list(prefix: "", after: nil).objects.map(\.name) == names.sorted())
        let read = try server.boto3(
            """
            for name in sys.argv[2:]:
                print(s3.get_object(Bucket=bucket, Key=f"{sys.argv[1]}/{name}")["Body"].read().decode())
            """, [prefix] + texts)
        #expect(read.split(separator: "\n").map(String.init) == texts.map { "odd \($0)" })
    }

    @Test func `boto3 reads what was stored, and the other way round`() throws {
        let bytes = try SecureRandom.bytes(count: 3_000_000)
        let storage = try server.storage(prefix)
        _ = try storage.create(named("ours"), draft(bytes))
        let digest = try server.boto3(
            "print(hashlib.sha256(s3.get_object(Bucket=bucket, Key=sys.argv[1])['Body'].read()).hexdigest())", ["\(prefix)/ours"])
        #expect(digest == SHA256Hasher.hash(bytes).hexadecimal)
        let theirs = try server.boto3(
            """
            data = os.urandom(3000001)
            s3.put_object(Bucket=bucket, Key=sys.argv[1], Body=data)
            print(hashlib.sha256(data).hexdigest())
            """, ["\(prefix)/theirs"])
        #expect(SHA256Hasher.hash(try storage.bytes(named("theirs"))).hexadecimal == theirs)
    }

    @Test(arguments: [
        (0..<10 as Range<UInt64>?, "0123456789"), (2..<4, "23"), (9..<10, "9"), (8..<100, "89"), (10..<20, ""), (50..<60, ""),
        (3..<3, ""), (nil, "0123456789"),
    ])
    func `a range has exactly its bytes`(range: Range<UInt64>?, expected: String) throws {
        let storage = try server.storage(prefix)
        let name = try named("digits")
        _ = try storage.create(name, draft("0123456789"))
        var bytes: [UInt8] = []
        let facts = try storage.read(name, range: range) { (part) throws(BackupError) in bytes.append(contentsOf: part) }
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
        #expect(facts.sizeBytes == 10)
        #expect(facts.version.text == "781e5e245d69b566979b86e28d23f2c7")
    }

    @Test func `an empty object has no bytes, also in a range`() throws {
        let storage = try server.storage(prefix)
        let name = try named("empty")
        _ = try storage.create(name, draft(""))
        #expect(try storage.bytes(name) == [])
        #expect(try storage.bytes(name, 0..<10) == [])
        #expect(try storage.look(name)?.sizeBytes == 0)
        // The connection can be used again.
        _ = try storage.create(named("empty-2"), draft(""))
        _ = try storage.create(named("full"), draft("x"))
        #expect(try storage.list(prefix: "", after: nil).objects.map(\.sizeBytes) == [0, 0, 1])
    }

    @Test func `an error of the consumer ends a read and comes back`() throws {
        let storage = try server.storage(prefix)
        let name = try named("large")
        _ = try storage.create(name, draft([UInt8](repeating: 7, count: 4 << 20)))
        var count = 0
        let error = failure {
            _ = try storage.read(name, range: nil) { (part) throws(BackupError) in
                count += part.count
                throw BackupError(.noSpace, "the cache is full", path: "/cache")
            }
        }
        #expect(error?.code == .noSpace)
        #expect(error?.path == "/cache")
        #expect(count < 4 << 20)
        #expect(try storage.bytes(name).count == 4 << 20)
    }

    @Test func `bytes that do not have their checksum are not stored`() throws {
        let storage = try server.storage(prefix)
        let wrong = ObjectDraft(source: MemorySource("actual"), sizeBytes: 6, sha256: SHA256Hasher.hash(Array("stated".utf8)))
        let short = ObjectDraft(source: MemorySource("act"), sizeBytes: 6, sha256: SHA256Hasher.hash(Array("actual".utf8)))
        #expect(errorCode { _ = try storage.create(named("wrong"), wrong) } == .damagedContent)
        #expect(errorCode { _ = try storage.create(named("short"), short) } == .inputOutput)
        #expect(try storage.list(prefix: "", after: nil) == ObjectPage(objects: [], hasMore: false))
    }

    /// Into the same file.
    private func write(_ text: String, to path: String) throws {
        try OwnedDescriptor.open(path, O_WRONLY | O_CREAT, permissions: 0o600).writeAll(Array(text.utf8))
    }

    @Test func `a file that has changed since its checksum was computed is not stored`() throws {
        let storage = try server.storage(prefix)
        let folder = try TemporaryFolder()
        let path = folder("draft")
        // This server returns checksums, which the first upload shows.
        for name in ["first", "second"] {
            try write("digits 0123456789", to: path)
            let draft = try ObjectDraft(SharedFile(path: path))
            #expect(draft.crc32 == 0x3c87_5dc4)
            try write("digits 0123456780", to: path)
            #expect(errorCode { _ = try storage.create(named(name), draft) } == .damagedContent)
            try write("digits 0123456789", to: path)
            _ = try storage.create(named(name), draft)
            #expect(try storage.bytes(named(name)) == Array("digits 0123456789".utf8))
        }
    }

    @Test func `a listing goes through more than one page in the order of bytes`() throws {
        _ = try server.boto3(
            """
            for i in range(23): s3.put_object(Bucket=bucket, Key=f"{sys.argv[1]}/many/{i:05d}", Body=b"x" * (i % 3 + 1))
            s3.put_object(Bucket=bucket, Key=f"{sys.argv[1]}/other", Body=b"x")
            """, [prefix])
        let storage = try server.storage(prefix, pageLimit: 10)
        let first = try storage.list(prefix: "many/", after: nil)
        #expect(first.objects.count == 10)
        #expect(first.hasMore)
        #expect(first.objects[9].name.text == "many/00009")
        let last = try storage.list(prefix: "many/", after: named("many/00019"))
        #expect(last.objects.map(\.name.text) == ["many/00020", "many/00021", "many/00022"])
        #expect(!last.hasMore)
        #expect(last.objects.map(\.sizeBytes) == [3, 1, 2])
        #expect(try storage.list(prefix: "many/0000", after: nil).objects.count == 10)
        #expect(try storage.list(prefix: "none/", after: nil).objects.isEmpty)
        // Before and behind all names with the prefix.
        #expect(try storage.list(prefix: "many/", after: named("many")).objects.count == 10)
        #expect(try storage.list(prefix: "many/", after: named("other")).objects.isEmpty)
    }

    @Test func `a server that lists folder by folder still gives the order of bytes`() throws {
        let storage = try server.storage(prefix)
        let texts = ["a!", "a", "a-b", "a.b", "a/x", "a/y", "ab"]
        for text in texts where text != "a" { _ = try storage.create(named(text), draft(text)) }
        let names = try storage.list(prefix: "", after: nil).objects.map(\.name.text)
        #expect(names == ["a!", "a-b", "a.b", "a/x", "a/y", "ab"])
        #expect(try storage.list(prefix: "", after: named("a.b")).objects.map(\.name.text) == ["a/x", "a/y", "ab"])
        // In pages: the order is wrong between two of them, which the first listing can only report.
        let small = try server.storage(prefix, pageLimit: 2)
        var pages: [[String]] = []
        var previous: ObjectName?
        var failures: [BackupError] = []
        var hasMore = true
        while hasMore {
            var page = ObjectPage(objects: [], hasMore: true)
            if let error = failure({ page = try small.list(prefix: "a", after: previous) }) {
                failures.append(error)
                pages = []
                previous = nil
                continue
            }
            pages.append(page.objects.map(\.name.text))
            previous = page.objects.last?.name
            hasMore = page.hasMore
        }
        #expect(pages == [["a!", "a-b"], ["a.b", "a/x"], ["a/y", "ab"]])
        #expect(failures.map(\.message.english) == ["the server does not list names in their order"])
    }

    @Test func `markers of folders are left out of listings`() throws {
        let storage = try server.storage(prefix)
        _ = try server.boto3("s3.put_object(Bucket=bucket, Key=sys.argv[1] + '/folder/', Body=b'')", [prefix])
        _ = try storage.create(named("folder/file"), draft("x"))
        #expect(try storage.list(prefix: "", after: nil).objects.map(\.name.text) == ["folder/file"])
    }

    @Test func `a bucket that is not there is an error and never an empty storage`() throws {
        let location = try S3Location("s3:http://\(server.host)/bucket-that-is-not-there")
        let storage = try S3Storage(location, credentials: server.credentials(), capabilities: S3TestServer.allCapabilities)
        for error in [
            failure { _ = try storage.look(named("a")) }, failure { _ = try storage.bytes(named("a")) },
            failure { _ = try storage.list(prefix: "", after: nil) }, failure { try storage.remove(named("a"), version: nil) },
        ] {
            #expect(error?.code == .inputOutput)
            #expect(error?.message == "there is no bucket bucket-that-is-not-there")
        }
    }

    @Test func `wrong credentials are denied, never absence, and no error shows a secret`() throws {
        let secret = "wrongSecretThatMustNotShow"
        for (key, expected) in [(server.accessKeyID, "signature"), ("UNKNOWNKEY", "access key")] {
            let credentials = try S3Credentials(accessKeyID: key, secretAccessKey: secret)
            let location = try S3Location("s3:http://\(server.host)/\(server.bucket)/\(prefix)")
            let storage = try S3Storage(
                location, credentials: S3CredentialSource(.fixed(credentials)), capabilities: S3TestServer.allCapabilities)
            for error in [
                failure { _ = try storage.look(named("a")) }, failure { _ = try storage.bytes(named("a")) },
                failure { _ = try storage.list(prefix: "", after: nil) },
                failure { _ = try storage.create(named("a"), draft("a")) },
            ] {
                #expect(error?.code == .accessDenied)
                #expect(error?.message.contains(expected) == true)
                #expect(error.map { "\($0) \(String(reflecting: $0))".contains(secret) } == false)
            }
            #expect(!"\(credentials)".contains(secret))
            #expect(!String(reflecting: credentials).contains(secret))
        }
    }

    @Test func `an upload in parts is one object`() throws {
        let log = RequestLog()
        var options = S3Options()
        options.multipartThresholdBytes = 5 << 20
        options.partSizeBytes = 5 << 20
        let storage = try server.storage(prefix, options: options, observer: log)
        let bytes = try SecureRandom.bytes(count: 12_000_000)
        let name = try named("large")
        let version = try storage.create(name, draft(bytes))
        #expect(log.requests.filter { $0.kind == .uploadPart }.count == 3)
        #expect(version.text.hasSuffix("-3"))
        #expect(try storage.look(name)?.sizeBytes == 12_000_000)
        #expect(SHA256Hasher.hash(try storage.bytes(name)) == SHA256Hasher.hash(bytes))
        let digest = try server.boto3(
            "print(hashlib.sha256(s3.get_object(Bucket=bucket, Key=sys.argv[1])['Body'].read()).hexdigest())", ["\(prefix)/large"]
        )
        #expect(digest == SHA256Hasher.hash(bytes).hexadecimal)
        #expect(errorCode { _ = try storage.create(name, draft(bytes)) } == .alreadyExists)
        let replaced = try storage.replace(name, version: version, draft([UInt8](repeating: 1, count: 6 << 20)))
        #expect(errorCode { _ = try storage.replace(name, version: version, draft(bytes)) } == .conflict)
        #expect(try storage.look(name)?.version == replaced)
        let wrong = ObjectDraft(source: MemorySource(bytes), sizeBytes: 12_000_000, sha256: SHA256Hasher.hash([1]))
        #expect(errorCode { _ = try storage.create(named("wrong"), wrong) } == .damagedContent)
        #expect(try storage.look(named("wrong")) == nil)
        let uploads = try server.boto3(
            "print(s3.list_multipart_uploads(Bucket=bucket, Prefix=sys.argv[1]).get('Uploads', []))", [prefix])
        #expect(uploads == "[]")
    }

    @Test func `of several clients that create one name, one succeeds`() throws {
        let name = try named("lock")
        let results = Monitor<[BackupError.Code?]>([])
        let server = server
        let prefix = prefix
        var threads: [SystemThread] = []
        for client in 0..<6 {
            threads.append(
                try SystemThread {
                    let code = errorCode { _ = try server.storage(prefix).create(name, draft("client \(client)")) }
                    results.withLock { $0.append(code) }
                })
        }
        for thread in threads { thread.join() }
        let codes = results.withLock { $0 }
        #expect(codes.filter { $0 == nil }.count == 1)
        #expect(codes.filter { $0 == .alreadyExists }.count == 5)
    }

    @Test func `a trial finds what the server keeps, and leaves nothing behind`() throws {
        let storage = try server.storage(prefix, capabilities: [])
        let report = try S3Probe.run(on: storage)
        let kept = report.findings.filter(\.isKept).map(\.question.english)
        #expect(kept.contains("of several clients that create one object, one succeeds"))
        #expect(kept.contains("of several clients that replace one object, one succeeds"))
        #expect(kept.contains("bytes that do not fit their checksum are refused"))
        #expect(report.capabilities == S3TestServer.allCapabilities, "\(report.lines)")
        #expect(report.leftovers.isEmpty)
        #expect(try storage.list(prefix: "", after: nil).objects.isEmpty)
    }

    @Test func `a cancelled operation ends its request`() throws {
        var settings = HTTPSettings()
        settings.uploadBytesPerSecond = 100_000
        let storage = try server.storage(prefix, http: settings)
        let name = try named("slow")
        let large = draft([UInt8](repeating: 1, count: 5_000_000))
        let cancellation = Cancellation()
        let start = SystemClock.monotonicNanoseconds()
        let thread = try SystemThread {
            while SystemClock.monotonicNanoseconds() < start + 300_000_000 { usleep(10_000) }
            cancellation.request()
        }
        let code = errorCode {
            try cancellation.run { () throws(BackupError) in
                _ = try storage.create(name, large)
            }
        }
        thread.join()
        #expect(code == .interrupted)
        #expect(SystemClock.monotonicNanoseconds() - start < 5_000_000_000)
        #expect(try storage.look(name) == nil)
    }

    @Test func `transfers keep the bandwidth limit, and a new one`() throws {
        var settings = HTTPSettings()
        settings.uploadBytesPerSecond = 1_000_000
        let storage = try server.storage(prefix, http: settings)
        let start = SystemClock.monotonicNanoseconds()
        _ = try storage.create(named("limited"), draft([UInt8](repeating: 1, count: 1_500_000)))
        let seconds = Double(SystemClock.monotonicNanoseconds() - start) / 1e9
        // A fifth of a second's bytes are free.
        #expect(seconds > 1.2)
        #expect(seconds < 5)
        storage.limitBandwidth(uploadBytesPerSecond: nil, downloadBytesPerSecond: 2_000_000)
        let second = SystemClock.monotonicNanoseconds()
        #expect(try storage.bytes(named("limited")).count == 1_500_000)
        #expect(Double(SystemClock.monotonicNanoseconds() - second) / 1e9 > 0.5)
    }

    /// As a mount reads while a backup uploads, each with connections of its own.
    @Test func `two storages of one remote keep its limit together`() throws {
        var settings = HTTPSettings()
        settings.downloadBytesPerSecond = 1_000_000
        settings.limitGroup = prefix
        let (one, two) = (try server.storage(prefix, http: settings), try server.storage(prefix, http: settings))
        _ = try one.create(named("limited"), draft([UInt8](repeating: 1, count: 1_000_000)))
        let start = SystemClock.monotonicNanoseconds()
        let other = try SystemThread { #expect(throws: Never.self) { _ = try two.bytes(named("limited")) } }
        #expect(try one.bytes(named("limited")).count == 1_000_000)
        other.join()
        // A fifth of a second's bytes are free; by themselves, each would take less than a second.
        #expect(Double(SystemClock.monotonicNanoseconds() - start) / 1e9 > 1.6)
    }
}

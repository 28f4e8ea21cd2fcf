import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// The storage class, the server's encryption and object lock: with which requests they go, and what a real server makes of them.
@Suite struct S3OptionsTests {
    private let prefix = "tests/" + RandomToken.make()

    private static func options(
        storageClass: String? = nil, encryption: S3Options.Encryption? = nil, objectLock: S3Options.ObjectLock? = nil
    ) -> S3Options {
        var options = S3Options()
        options.storageClass = storageClass
        options.encryption = encryption
        options.objectLock = objectLock
        options.multipartThresholdBytes = 5 << 20
        options.partSizeBytes = 5 << 20
        return options
    }

    /// All that a storage does.
    private func useAll(_ storage: S3Storage, _ large: [UInt8]) throws {
        let version = try storage.create(named("small"), draft("hello"))
        _ = try storage.replace(named("small"), version: version, draft("again"))
        #expect(try storage.bytes(named("small")) == Array("again".utf8))
        _ = try storage.create(named("large"), draft(large))
        #expect(SHA256Hasher.hash(try storage.bytes(named("large"))) == SHA256Hasher.hash(large))
        #expect(try storage.bytes(named("large"), 5_242_870..<5_242_890) == Array(large[5_242_870..<5_242_890]))
        #expect(try storage.look(named("large"))?.sizeBytes == UInt64(large.count))
        #expect(try storage.list(prefix: "", after: nil).objects.map(\.name.text) == ["large", "small"])
    }

    private static let optionHeaders = [
        "x-amz-storage-class", "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id",
        "x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date",
    ]

    @Test(arguments: [
        (S3Options.Encryption.managed, "AES256", nil as String?), (.keyService(keyID: "backup-key"), "aws:kms", "backup-key"),
    ])
    func `they go with each new object, the lock not with a replacement, and none with a request that stores no object`(
        encryption: S3Options.Encryption, algorithm: String, key: String?
    ) throws {
        let server = try S3TestServer(.seaweedfs, locksObjects: true)
        let proxy = try FaultProxy(target: server.host)
        let lock = S3Options.ObjectLock(mode: .governance, days: 2)
        let storage = try server.storage(
            prefix, through: "127.0.0.1:\(proxy.port)",
            options: Self.options(storageClass: "STANDARD_IA", encryption: encryption, objectLock: lock))
        let before = SystemClock.systemTime()
        try useAll(storage, SecureRandom.bytes(count: 6_000_000))
        try storage.remove(named("small"), version: nil)
        let after = SystemClock.systemTime()

        var storing: [String] = []
        for request in try proxy.requests() {
            let isPart = request.path.contains("uploadId=")
            let sent = request.headers.filter { Self.optionHeaders.contains($0.key) }
            guard request.method == "PUT" && !isPart || request.path.contains("?uploads") else {
                #expect(sent.isEmpty, "\(request.method) \(request.path)")
                continue
            }
            let isReplacement = request.headers["if-match"] != nil
            storing.append("\(request.method)\(isReplacement ? " again" : "")")
            #expect(sent["x-amz-storage-class"] == "STANDARD_IA")
            #expect(sent["x-amz-server-side-encryption"] == algorithm)
            #expect(sent["x-amz-server-side-encryption-aws-kms-key-id"] == key)
            #expect(sent["x-amz-object-lock-mode"] == (isReplacement ? nil : "GOVERNANCE"))
            if isReplacement {
                #expect(sent["x-amz-object-lock-retain-until-date"] == nil)
            } else {
                let end = try #require(sent["x-amz-object-lock-retain-until-date"].flatMap { ISO8601.parse($0) })
                #expect(end >= before.adding(seconds: 172_799) && end <= after.adding(seconds: 172_801), "\(end)")
            }
        }
        #expect(storing == ["PUT", "PUT again", "POST"])
    }

    /// What the server says of an object, asked by boto3.
    private func facts(_ server: S3TestServer, _ name: String, _ fields: [String]) throws -> [String] {
        try server.boto3(
            """
            head = s3.head_object(Bucket=bucket, Key=sys.argv[1])
            for field in sys.argv[2:]: print(head.get(field))
            """, ["\(prefix)/\(name)"] + fields
        ).split(separator: "\n").map(String.init)
    }

    @Test(arguments: [
        (S3Options.Encryption.managed, ["AES256", "None"]), (.keyService(keyID: "backup-key"), ["aws:kms", "backup-key"]),
    ])
    func `a server that encrypts gives back the same bytes`(encryption: S3Options.Encryption, expected: [String]) throws {
        let server = try S3TestServer(.seaweedfs)
        let storage = try server.storage(prefix, options: Self.options(encryption: encryption))
        let large = try SecureRandom.bytes(count: 12_000_000)
        try useAll(storage, large)
        for name in ["small", "large"] {
            #expect(try facts(server, name, ["ServerSideEncryption", "SSEKMSKeyId"]) == expected, "\(name)")
        }
        let digest = try server.boto3(
            "print(hashlib.sha256(s3.get_object(Bucket=bucket, Key=sys.argv[1])['Body'].read()).hexdigest())",
            ["\(prefix)/large"])
        #expect(digest == SHA256Hasher.hash(large).hexadecimal)
    }

    /// A removal only hides it: the server keeps that version, and refuses to remove it.
    @Test func `a locked object stays on the server, whatever is removed`() throws {
        let server = try S3TestServer(.seaweedfs, locksObjects: true)
        let storage = try server.storage(
            prefix, options: Self.options(objectLock: S3Options.ObjectLock(mode: .governance, days: 1)))
        try useAll(storage, SecureRandom.bytes(count: 6_000_000))
        for name in ["small", "large"] { try storage.remove(named(name), version: nil) }
        #expect(try storage.look(named("large")) == nil)
        #expect(try storage.list(prefix: "", after: nil).objects.isEmpty)
        let kept = try server.boto3(
            """
            for entry in s3.list_object_versions(Bucket=bucket, Prefix=sys.argv[1])["Versions"]:
                key, version = entry["Key"], entry["VersionId"]
                mode = s3.head_object(Bucket=bucket, Key=key, VersionId=version).get("ObjectLockMode")
                try:
                    s3.delete_object(Bucket=bucket, Key=key, VersionId=version)
                    print(key.split("/")[-1], mode, "removed")
                except s3.exceptions.ClientError as error:
                    print(key.split("/")[-1], mode, error.response["Error"]["Code"])
            """, [prefix])
        #expect(
            Set(kept.split(separator: "\n")) == [
                "large GOVERNANCE AccessDenied", "small GOVERNANCE AccessDenied", "small None removed",
            ])
    }
}

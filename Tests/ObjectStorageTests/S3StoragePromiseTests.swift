import SystemIO
import TestSupport
import Testing

@testable import ObjectStorage

/// The promises of a storage, kept on real servers: SeaweedFS in each run, the others when `BACKUPFS_REMOTE_SERVERS` names them.
@Suite struct S3StoragePromiseTests {
    /// What each server keeps of S3's promises, which `Docs/explanation/object-storage-servers.md` explains.
    private static func capabilities(of kind: ObjectServer.Kind) -> StorageCapabilities {
        switch kind {
        case .seaweedfs: [.conditionalCreate, .compareAndSwap, .conditionalRemove, .rangedReads, .removal]
        case .radosgw: [.conditionalCreate, .rangedReads, .removal]
        case .swift: [.conditionalRemove, .rangedReads, .removal]
        case .juicefs: [.rangedReads, .removal]
        case .rclone: [.rangedReads, .removal]
        }
    }

    private static func check(_ promise: StoragePromises.Promise, _ kind: ObjectServer.Kind) throws {
        let server = try S3TestServer(kind)
        var promises = StoragePromises { count in
            let prefix = RandomToken.make()
            return try (0..<count).map { _ in try server.storage(prefix, capabilities: capabilities(of: kind)) }
        }
        promises.historySeeds = Rounds.seeds(4, oneIn: 2)
        promises.tellsEqualStatesApart = false
        if kind == .juicefs { promises.refusedPrefixes = [".."] }
        promises.tellsNormalFormsApart = kind != .rclone
        promises.timeToleranceSeconds = kind == .rclone ? 1 : 0
        try promise.check(promises)
    }

    @Test(arguments: StoragePromises.all) func `SeaweedFS keeps the promise`(promise: StoragePromises.Promise) throws {
        try Self.check(promise, .seaweedfs)
    }

    @Test(arguments: ObjectServer.Kind.chosen, StoragePromises.all)
    func `another server keeps the promise`(kind: ObjectServer.Kind, promise: StoragePromises.Promise) throws {
        try Self.check(promise, kind)
    }

    /// A server that is called safe and is not would be one on which two machines lose each other's changes.
    @Test(arguments: ObjectServer.Kind.chosen) func `each of several trials finds what a server keeps`(kind: ObjectServer.Kind)
        throws
    {
        let server = try S3TestServer(kind)
        for round in 0..<5 {
            let storage = try server.storage("trial-\(round)", capabilities: [])
            let report = try S3Probe.run(on: storage)
            #expect(report.capabilities == Self.capabilities(of: kind), "\(report.lines)")
            #expect(report.leftovers.isEmpty)
            #expect(try storage.list(prefix: "", after: nil).objects.isEmpty)
        }
    }

    /// Backups store nothing in parts: a pack is smaller. Other objects may be larger.
    @Test(arguments: ObjectServer.Kind.chosen) func `an upload in parts is one object`(kind: ObjectServer.Kind) throws {
        let server = try S3TestServer(kind)
        var options = S3Options()
        (options.multipartThresholdBytes, options.partSizeBytes) = (5 << 20, 5 << 20)
        let storage = try server.storage("parts", options: options, capabilities: Self.capabilities(of: kind))
        let bytes = try SecureRandom.bytes(count: 12_000_001)
        let name = try named("large")
        _ = try storage.create(name, draft(bytes))
        let digest = try server.boto3(
            "print(hashlib.sha256(s3.get_object(Bucket=bucket, Key='parts/large')['Body'].read()).hexdigest())")
        #expect(digest == SHA256Hasher.hash(bytes).hexadecimal)
        #expect(errorCode { _ = try storage.create(name, draft(bytes)) } == .alreadyExists)
        let wrong = ObjectDraft(source: MemorySource(bytes), sizeBytes: 12_000_001, sha256: SHA256Hasher.hash([1]))
        #expect(errorCode { _ = try storage.create(named("wrong"), wrong) } == .damagedContent)
        #expect(try storage.list(prefix: "", after: nil).objects.map(\.name.text) == ["large"])
    }
}

import BackupCore
import Foundation
import Glibc
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// The cache of a copy knows what this machine has uploaded to it.
@Suite struct UploadedObjectsTests {
    private let folder: TemporaryFolder
    private let server = SimulatedServer()
    private let storage: SimulatedStorage

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        storage = SimulatedStorage(server)
    }

    private func makeOriginal(isEncrypted: Bool = false) throws -> Repository {
        let repository = try Repository.create(
            at: folder("original-\(RandomToken.make())"), password: isEncrypted ? EncryptionTests.secret("horse") : nil,
            cost: EncryptionTests.cheap)
        for (number, name) in (["one", "two"] as [FileName]).enumerated() {
            try RecordedHistory.backUp(name, in: repository, seconds: Int64(1_000 + number))
        }
        try repository.setPinned(#require(repository.snapshot(named: "one")).id, true)
        return repository
    }

    private func upload(_ original: Repository, keepingIn remote: RemoteRepository) throws {
        var state = MirrorState()
        _ = try RepositoryMirror(of: original, in: storage, keeping: remote.uploads(from: original)).update(&state)
    }

    private func requests(_ kind: SimulatedRequestKind) -> Int { storage.traffic[kind].requestCount }

    @Test(arguments: [false, true]) func `what was uploaded is not transferred back`(isEncrypted: Bool) throws {
        let original = try makeOriginal(isEncrypted: isEncrypted)
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
        try upload(original, keepingIn: remote)
        // It was never compared with the storage.
        #expect(!remote.isCached)
        let (reads, lists) = (requests(.read), requests(.list))
        try remote.refresh()
        // The configuration and the register. The records are known, so one listing is enough.
        #expect(requests(.read) - reads == 2 && requests(.list) - lists == 1)
        let copy = try remote.open(sharingKeysOf: original, catalogHome: .folder(folder("catalogs")))
        #expect(copy.snapshots().map(\.name) == ["one", "two"] && copy.snapshots().map(\.isPinned) == [true, false])
        for snapshot in copy.snapshots() {
            let root = try copy.rootDirectory(of: snapshot)
            _ = try copy.directory(of: #require(root.entry(named: "album")))
        }
        #expect(requests(.read) - reads == 2)
        for name in ["one", "two"] as [FileName] { #expect(try RecordedHistory.flaw(of: name, in: copy) == nil) }
        // Files come from the copy.
        #expect(requests(.read) - reads > 2)
        #expect(copy.registerError == nil && copy.snapshotsWithoutLabel().isEmpty)
    }

    @Test func `a later upload adds to a cache that is in use`() throws {
        let original = try makeOriginal()
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
        try upload(original, keepingIn: remote)
        try remote.refresh()
        let copy = try remote.open(catalogHome: .folder(folder("catalogs")))
        try RecordedHistory.backUp("next", in: original, seconds: 2_000)
        try upload(original, keepingIn: remote)
        let reads = requests(.read)
        try remote.refresh()
        try copy.refresh()
        #expect(copy.snapshots().map(\.name) == ["one", "two", "next"])
        let next = try #require(copy.snapshot(named: "next"))
        #expect(try copy.rootDirectory(of: next).entry(named: "new") != nil)
        // The register.
        #expect(requests(.read) == reads + 1)
        #expect(try RecordedHistory.flaw(of: "next", in: copy) == nil)
    }

    @Test func `a damaged copy of a pack in the cache is read again`() throws {
        let original = try makeOriginal()
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
        try upload(original, keepingIn: remote)
        try remote.refresh()
        let layout = RepositoryLayout(path: remote.repositoryPath)
        var damagedCount = 0
        for pack in try original.packs() where FileSystem.statusIfPresent(layout.packPath(of: pack))?.allocatedBytes ?? 0 > 0 {
            let path = layout.packPath(of: pack)
            // Into the same file, whose blocks count as present.
            try OwnedDescriptor.open(path, O_WRONLY).writeAll([UInt8](repeating: 0x5a, count: readFile(path).count))
            damagedCount += 1
        }
        #expect(damagedCount > 0)
        let copy = try remote.open(catalogHome: .folder(folder("catalogs")))
        for name in ["one", "two"] as [FileName] { #expect(try RecordedHistory.flaw(of: name, in: copy) == nil) }
    }

    /// Another machine has stored a backup that is not in the cache, and the register names it.
    @Test func `a cache that was not refreshed since reports no loss`() throws {
        let original = try makeOriginal()
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
        try upload(original, keepingIn: remote)
        try remote.refresh()
        try RecordedHistory.backUp("three", in: original, seconds: 2_000)
        var state = MirrorState()
        _ = try RepositoryMirror(of: original, in: storage).update(&state)
        try RecordedHistory.backUp("next", in: original, seconds: 2_001)
        try upload(original, keepingIn: remote)
        let copy = try remote.open(catalogHome: .folder(folder("catalogs")))
        #expect(copy.registerError == nil && copy.snapshotsWithoutLabel().isEmpty)
        #expect(try copy.snapshotStore.missingSnapshots().isEmpty)
        #expect(copy.snapshots().map(\.name) == ["one", "two", "next"])
        try remote.refresh()
        try copy.refresh()
        #expect(copy.snapshots().map(\.name) == ["one", "two", "three", "next"])
    }

    /// A check of a copy is about the bytes of the copy.
    @Test func `a check reads what was kept in the storage`() throws {
        let original = try makeOriginal()
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
        try upload(original, keepingIn: remote)
        try remote.refresh()
        let copy = try remote.open(catalogHome: .folder(folder("catalogs")))
        for pack in try original.packs() {
            let name = MirrorObject.pack(pack).name
            let (bytes, version) = try #require(try storage.contents(of: name, limitBytes: 1 << 20))
            guard StoredPackIndex.isMetadata(Array(bytes.prefix(16))) else { continue }
            var damaged = bytes
            for index in 16..<32 { damaged[index] ^= 0xff }
            _ = try storage.replace(name, version: version, ObjectDraft(damaged))
        }
        for name in ["one", "two"] as [FileName] { #expect(try RecordedHistory.flaw(of: name, in: copy) == nil) }
        var findings = 0
        // Another process: this one has the folders in memory.
        let other = try RemoteRepository(in: storage, cacheFolder: folder("cache")).open(catalogHome: .folder(folder("catalogs")))
        var check = RepositoryCheck(other, readData: nil) { if case .finding = $0 { findings += 1 } }
        _ = try check.run()
        #expect(findings > 0)
    }

    @Test func `the repository here stays as it is when the cache is filled`() throws {
        let original = try makeOriginal()
        let before = try DiskTree(readingFrom: original.path)
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
        try upload(original, keepingIn: remote)
        try remote.refresh()
        let copy = try remote.open(catalogHome: .folder(folder("catalogs")))
        #expect(try RecordedHistory.flaw(of: "one", in: copy) == nil)
        let after = try DiskTree(readingFrom: original.path)
        let packs = after.files.keys.filter { $0.contains("packs/") }
        #expect(!packs.isEmpty && packs.allSatisfy { before.files[$0] == after.files[$0] })
    }

    @Test func `a cache of something else gets nothing`() throws {
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
        try upload(makeOriginal(), keepingIn: remote)
        try remote.refresh()
        #expect(try remote.uploads(from: makeOriginal()) == nil)
        #expect(try remote.uploads(from: makeOriginal(isEncrypted: true)) == nil)
    }
}

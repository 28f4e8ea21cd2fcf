import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A repository in an object storage is read like a local one, through a cache that may lose or damage anything.
@Suite struct RemoteRepositoryTests {
    private static let names: [FileName] = ["one", "two", "three"]

    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// Three backups in a mirror.
    private func make(isEncrypted: Bool = false) throws -> Repository {
        let repository = try Repository.create(
            at: folder("original"), password: isEncrypted ? EncryptionTests.secret("horse") : nil, cost: EncryptionTests.cheap)
        for (number, name) in Self.names.enumerated() {
            try RecordedHistory.backUp(name, in: repository, seconds: Int64(1_000 + number))
        }
        try update(repository)
        return repository
    }

    private func update(_ repository: Repository) throws {
        var state = MirrorState()
        _ = try RepositoryMirror(of: repository, in: SimulatedStorage(server)).update(&state)
    }

    private func remote(
        _ storage: SimulatedStorage, cache: String = "cache", cacheBytes: UInt64 = RemoteRepository.standardCacheBytes
    ) throws -> RemoteRepository {
        try RemoteRepository(in: storage, cacheFolder: folder(cache), cacheBytes: cacheBytes)
    }

    private func open(_ remote: RemoteRepository) throws -> Repository {
        try remote.open(
            secret: { (_) throws(BackupError) in .password(EncryptionTests.secret("horse")) },
            catalogHome: .folder(folder("catalogs")))
    }

    private func opened(_ storage: SimulatedStorage) throws -> Repository {
        let remote = try remote(storage)
        try remote.refresh()
        return try open(remote)
    }

    private func flaw(of repository: Repository) throws -> String? {
        for name in Self.names {
            if let flaw = try RecordedHistory.flaw(of: name, in: repository) { return "\(name): \(flaw)" }
        }
        return nil
    }

    /// Small packs are transferred as a whole at the beginning.
    private func discardAll(in repository: Repository) throws {
        for pack in try repository.packs() { try repository.layout.packSource?.discard(pack) }
    }

    /// Flips a bit in every pack of a folder, in the middle of its chunks.
    private func damage(_ packs: [PackID], in layout: RepositoryLayout) throws {
        for pack in packs { try Damage.flip(layout.packPath(of: pack), at: 40) }
    }

    @Test(arguments: [false, true]) func `every backup reads as in the original`(isEncrypted: Bool) throws {
        let original = try make(isEncrypted: isEncrypted)
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        #expect(repository.id == original.id)
        #expect(Set(repository.snapshots().map(\.name)) == Set(Self.names))
        #expect(try flaw(of: repository) == nil)
        // All of it is in the cache now: another process asks for nothing.
        let before = storage.requestCount
        let other = SimulatedStorage(server)
        #expect(try flaw(of: open(remote(other))) == nil)
        #expect(other.requestCount == 0)
        #expect(storage.requestCount == before)
        // Also a refresh asks for nothing but the list.
        try remote(other).refresh()
        #expect(other.requestCount == 1)
        let foreign = try run(["find", folder("cache"), "-not", "-perm", "/077", "-prune", "-o", "-print"])
        #expect(foreign.output == "", "only the owner may read the cache")
    }

    /// Opening needs no data, and a small read little of it.
    @Test func `only what is read is transferred`() throws {
        let repository = try Repository.create(at: folder("original"))
        let bytes = TestData.random(24 << 20, seed: 5)
        let writer = try repository.makeWriter()
        let content = try writer.store(bytes, policy: .media)
        try writer.commit(
            named: "large",
            entries: [.file(name: "film", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: content)], seconds: 1_000)
        try update(repository)
        let storage = SimulatedStorage(server)
        let cached = try opened(storage)
        #expect(storage.traffic.total.bytesDown < 1 << 20)
        let snapshot = try #require(cached.snapshot(named: "large"))
        let table = try cached.extents(of: #require(cached.rootDirectory(of: snapshot).entry(named: "film")).content)
        var part = [UInt8](repeating: 0, count: 4_096)
        let before = storage.traffic.total
        let count = try part.withUnsafeMutableBytes { try cached.read(table, at: 20 << 20, into: $0) }
        #expect(count == 4_096)
        #expect(part == Array(bytes[20 << 20..<(20 << 20) + 4_096]))
        #expect(storage.traffic.total.bytesDown - before.bytesDown < 10 << 20)
        #expect(storage.traffic.total.requestCount - before.requestCount <= 3)
        // From one end to the other, in requests of megabytes.
        #expect(try cached.readAll(table) == bytes)
        #expect(storage.traffic.total.requestCount - before.requestCount <= 30)
        #expect(storage.traffic.total.bytesDown < 30 << 20)
    }

    @Test func `what was read can be read offline, and the rest is a clear error`() throws {
        _ = try make()
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        try discardAll(in: repository)
        #expect(try RecordedHistory.flaw(of: "one", in: repository) == nil)
        storage.network.chances = [(.lostRequest, 1)]
        #expect(try RecordedHistory.flaw(of: "one", in: repository) == nil)
        let before = storage.requestCount
        for _ in 0..<5 { #expect(errorCode { _ = try flaw(of: repository) } == .offline) }
        #expect(storage.requestCount == before + 1, "after the first failure, reads fail at once for some seconds")
        #expect(errorCode { try remote(storage).refresh() } == .offline)
        #expect(try open(remote(storage)).snapshots().count == 3)
        storage.network = .good
        try remote(storage).refresh()
        #expect(try flaw(of: open(remote(storage))) == nil)
    }

    @Test func `a storage without a copy is not one`() throws {
        let storage = SimulatedStorage(server)
        #expect(errorCode { try remote(storage).refresh() } == .noRepository)
        #expect(try !remote(storage).isCached)
        #expect(errorCode { _ = try open(remote(storage)) } == .noRepository)
    }

    @Test func `new backups appear and removed ones disappear`() throws {
        let original = try make()
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        try RecordedHistory.backUp("next", in: original, seconds: 3_000)
        try original.setPinned(try #require(original.snapshot(named: "two")).id, true)
        try update(original)
        #expect(repository.snapshots().count == 3)
        try remote(storage).refresh()
        try repository.refresh()
        #expect(Set(repository.snapshots().map(\.name)) == Set(Self.names + ["next"]))
        #expect(repository.snapshots().filter(\.isPinned).map(\.name) == ["two"])
        #expect(try RecordedHistory.flaw(of: "next", in: repository) == nil)
        let one = MirrorObject.snapshot(try #require(original.snapshot(named: "one")).id).name
        try storage.remove(one, version: nil)
        try remote(storage).refresh()
        try repository.refresh()
        #expect(Set(repository.snapshots().map(\.name)) == ["two", "three", "next"])
    }

    @Test(arguments: [false, true]) func `damage of the cache is read again`(isEncrypted: Bool) throws {
        _ = try make(isEncrypted: isEncrypted)
        let storage = SimulatedStorage(server)
        var repository = try opened(storage)
        #expect(try flaw(of: repository) == nil)
        try damage(repository.packs(), in: repository.layout)
        repository = try open(remote(storage))
        #expect(try flaw(of: repository) == nil)
        // The index, too: without the catalog it is needed.
        for pack in try repository.packs() {
            let path = repository.layout.packPath(of: pack)
            try Damage.flip(path, at: Int(FileSystem.status(path).size) - 60)
        }
        for path in [folder("catalogs"), folder("cache/repository/catalog.sqlite")] {
            try? FileManager.default.removeItem(atPath: path)
        }
        repository = try open(remote(storage))
        #expect(try flaw(of: repository) == nil)
    }

    @Test(arguments: [false, true]) func `damage on the way is read again`(isEncrypted: Bool) throws {
        _ = try make(isEncrypted: isEncrypted)
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        try discardAll(in: repository)
        let next = storage.requestCount + 1
        storage.network.scheduled = [next: .wrongBytes, next + 3: .wrongBytes]
        #expect(try flaw(of: repository) == nil)
        #expect(storage.requestCount > next + 3)
    }

    @Test func `damage in the storage is an error, and never served`() throws {
        let original = try make()
        let good = SimulatedStorage(server)
        let packs = try original.packs()
        for pack in packs {
            let name = MirrorObject.pack(pack).name
            let (bytes, version) = try #require(try good.contents(of: name, limitBytes: 1 << 30))
            var damaged = bytes
            damaged[40] ^= 4
            _ = try good.replace(name, version: version, ObjectDraft(damaged))
        }
        let repository = try opened(SimulatedStorage(server))
        #expect(errorCode { _ = try flaw(of: repository) } == .repositoryDamaged)
        var findings = 0
        var check = RepositoryCheck(repository, readData: .all) { event in if case .finding = event { findings += 1 } }
        _ = try check.run()
        #expect(findings >= packs.count)
    }

    @Test func `a check reads what the storage has, not what the cache has`() throws {
        let original = try make()
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        #expect(try flaw(of: repository) == nil)
        let name = MirrorObject.pack(try #require(original.packs().first)).name
        let (bytes, version) = try #require(try storage.contents(of: name, limitBytes: 1 << 30))
        var damaged = bytes
        damaged[40] ^= 4
        _ = try storage.replace(name, version: version, ObjectDraft(damaged))
        var findings: [BackupError] = []
        var check = RepositoryCheck(repository, readData: .all) { event in
            if case .finding(let finding) = event { findings.append(finding.error) }
        }
        _ = try check.run()
        #expect(findings.contains { $0.code == .repositoryDamaged })
    }

    @Test func `a check finds a pack that the storage has lost since the last refresh`() throws {
        let original = try make()
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        #expect(try flaw(of: repository) == nil)
        for pack in try original.packs() { try storage.remove(MirrorObject.pack(pack).name, version: nil) }
        var findings = 0
        // By another process: this one still has in memory what it has read.
        let other = try open(remote(storage))
        var check = RepositoryCheck(other, readData: .all) { event in if case .finding = event { findings += 1 } }
        _ = try check.run()
        #expect(findings > 0)
    }

    /// An outage is no damage, and what was read before it stays readable.
    @Test(arguments: [nil, DataSubset.all]) func `a check without a connection finds no damage`(data: DataSubset?) throws {
        _ = try make()
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        #expect(try flaw(of: repository) == nil)
        if data == nil { try discardAll(in: repository) }
        storage.network.chances = [(.lostRequest, 1)]
        let events = LockedArray<String>()
        var check = RepositoryCheck(repository, readData: data) { events.append("\($0)") }
        #expect(errorCode { _ = try check.run() } == .offline)
        #expect(events.values == [])
        if data != nil { #expect(try flaw(of: repository) == nil) }
    }

    @Test func `a pack that was cut off in the storage is damage`() throws {
        let original = try make()
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        try discardAll(in: repository)
        let name = MirrorObject.pack(try #require(original.packs().first)).name
        let version = try #require(try storage.look(name)).version
        _ = try storage.replace(name, version: version, ObjectDraft([1, 2, 3]))
        #expect(errorCode { _ = try flaw(of: repository) } == .repositoryDamaged)
        try remote(storage).refresh()
        #expect(errorCode { _ = try flaw(of: open(remote(storage))) } == .repositoryDamaged)
        // The next update of the mirror puts it right.
        try update(original)
        try remote(storage).refresh()
        #expect(try flaw(of: open(remote(storage))) == nil)
    }

    @Test(arguments: ["cache", "cache/repository/packs", "cache/maps"])
    func `a cache that disappears while it is used comes back`(removed: String) throws {
        _ = try make()
        let storage = SimulatedStorage(server)
        let cache = try remote(storage)
        try cache.refresh()
        let repository = try open(cache)
        try FileManager.default.removeItem(atPath: folder(removed))
        try cache.refresh()
        try repository.refresh()
        #expect(repository.snapshots().count == 3)
        #expect(try flaw(of: repository) == nil)
    }

    @Test func `packs that disappear from the cache are read again without a refresh`() throws {
        _ = try make()
        let repository = try opened(SimulatedStorage(server))
        for removed in ["cache/repository/packs", "cache/repository/tmp", "cache/maps"] {
            try FileManager.default.removeItem(atPath: folder(removed))
        }
        #expect(try flaw(of: repository) == nil)
    }

    /// Each command transfers too little to sweep by itself.
    @Test func `programs that read a little each keep the cache at its size`() throws {
        _ = try make()
        let storage = SimulatedStorage(server)
        let repository = try opened(storage)
        #expect(try flaw(of: repository) == nil)
        let packs = try repository.packs()
        let allocated = { (id: PackID) throws in
            try FileSystem.status(RepositoryLayout(path: self.folder("cache/repository")).packPath(of: id)).allocatedBytes
        }
        #expect(try packs.map(allocated).reduce(0, +) > 60_000)
        _ = try open(remote(storage, cacheBytes: 60_000))
        #expect(try packs.map(allocated).reduce(0, +) <= 60_000)
        #expect(try flaw(of: open(remote(storage, cacheBytes: 60_000))) == nil)
    }

    @Test func `nothing can be changed from here`() throws {
        _ = try make()
        let repository = try opened(SimulatedStorage(server))
        let one = try #require(repository.snapshot(named: "one")).id
        let objectCount = server.objectCount
        #expect(errorCode { try RecordedHistory.backUp("next", in: repository, seconds: 3_000) } == .readOnly)
        #expect(errorCode { try repository.removeSnapshot(one) } == .readOnly)
        #expect(errorCode { try repository.setPinned(one, true) } == .readOnly)
        #expect(errorCode { try repository.renameSnapshot(one, to: "other") } == .readOnly)
        #expect(errorCode { _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run() } == .readOnly)
        #expect(server.objectCount == objectCount)
        #expect(try flaw(of: repository) == nil)
    }

    /// Readers with caches that are far too small, in several clients of one folder, and a network that fails now and then.
    @Test func `readers at the same time, with a small cache, read right`() throws {
        let original = try make()
        let expected = Dictionary(
            uniqueKeysWithValues: try Self.names.flatMap { name in
                let snapshot = try #require(original.snapshot(named: name))
                return try original.rootDirectory(of: snapshot).entries.filter { $0.storedDirectory == nil }.map { entry in
                    ("\(name)/\(entry.name)", try original.readAll(original.extents(of: entry.content)))
                }
            })
        let errors = LockedArray<String>()
        var network = SimulatedNetwork.good
        network.chances = [(.truncated, 0.02), (.wrongBytes, 0.01), (.serverError, 0.02)]
        let clients = try (0..<3).map { number in
            let storage = SimulatedStorage(server, seed: UInt64(number))
            try remote(storage).refresh()
            storage.network = network
            return try remote(storage, cacheBytes: 60_000)
        }
        DispatchQueue.concurrentPerform(iterations: 6) { number in
            var generator = SeededGenerator(seed: UInt64(number))
            do {
                let repository = try open(clients[number % clients.count])
                for _ in 0..<60 {
                    let (path, bytes) = try #require(expected.randomElement(using: &generator))
                    let parts = path.split(separator: "/").map(String.init)
                    let snapshot = try #require(repository.snapshot(named: FileName(parts[0])))
                    let start = Int.random(in: 0..<bytes.count, using: &generator)
                    let count = Int.random(in: 1...bytes.count - start, using: &generator)
                    var part = [UInt8](repeating: 0, count: count)
                    do {
                        let entry = try #require(repository.rootDirectory(of: snapshot).entry(named: FileName(parts[1])))
                        let table = try repository.extents(of: entry.content)
                        let read = try part.withUnsafeMutableBytes { try repository.read(table, at: UInt64(start), into: $0) }
                        if read != count || part != Array(bytes[start..<start + count]) {
                            errors.append("\(path) differs from \(start) on, \(count) bytes")
                        }
                    } catch let error as BackupError where [.offline, .inputOutput].contains(error.code) {
                        // The simulated network: an error is right, a wrong byte is not.
                    }
                    if Int.random(in: 0..<20, using: &generator) == 0 { clients[number % clients.count].sweep() }
                }
            } catch {
                errors.append("\(error)")
            }
        }
        #expect(errors.values == [])
    }
}

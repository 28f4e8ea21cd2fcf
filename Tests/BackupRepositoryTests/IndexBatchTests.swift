import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Copies of indexes save requests, and nothing depends on them.
@Suite(.rotating(oneIn: 3)) struct IndexBatchTests {
    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// A file that is nowhere else, in several packs.
    private static func content(_ number: Int) -> [UInt8] { TestData.random(120_000, seed: UInt64(1_000 + number)) }

    private func backUp(_ number: Int, in repository: Repository) throws {
        let writer = try repository.makeWriter(packSizeBytes: 24_000)
        let stored = try writer.store(Self.content(number), policy: .structuredText)
        try writer.commit(
            named: FileName("backup-\(number)"),
            entries: [.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)],
            seconds: Int64(1_000 + number))
    }

    private func requireContents(_ numbers: some Sequence<Int>, in repository: Repository) throws {
        for number in numbers {
            let snapshot = try #require(repository.snapshot(named: FileName("backup-\(number)")))
            let entry = try #require(try repository.rootDirectory(of: snapshot).entry(named: "file"))
            #expect(try repository.bytes(of: entry.content, limitBytes: 1 << 20) == Self.content(number))
        }
    }

    private var batches: [ObjectName] { get throws { try names(under: "indexes/") } }

    private func names(under prefix: String) throws -> [ObjectName] {
        var names: [ObjectName] = []
        try SimulatedStorage(server).forEachObject(prefix: prefix) { names.append($0.name) }
        return names
    }

    private func open(_ cache: String) throws -> StoredRepository { try StoredRepository.open(on: server, folder(cache)) }

    private func remove(_ names: some Sequence<ObjectName>) throws {
        for name in names { try SimulatedStorage(server).remove(name, version: nil) }
    }

    private func put(_ bytes: [UInt8], as name: ObjectName) throws {
        try remove([name])
        _ = try SimulatedStorage(server).create(name, ObjectDraft(bytes))
    }

    // MARK: Requests

    @Test(arguments: [false, true]) func `another machine reads no pack to know what is in it`(isEncrypted: Bool) throws {
        let stored = try StoredRepository.create(on: server, folder("a"), isEncrypted: isEncrypted)
        for number in 0..<4 { try backUp(number, in: stored.repository) }
        #expect(try names(under: "packs/").count > 20)
        let other = try open("b")
        #expect(other.repository.snapshots().count == 4)
        // Configuration, key, register and four records; the records of the first three are in batches, which are four.
        #expect(other.storage.traffic[.read].requestCount <= 16)
        #expect(other.storage.traffic[.list].requestCount == 2)
        // Its catalog knows all chunks without another request.
        let before = other.storage.requestCount
        let entries = try other.repository.packs().flatMap { try other.repository.packIndex(of: $0).entries }
        #expect(try other.repository.catalog.locate(entries.map(\.id)).count == entries.count)
        #expect(other.storage.requestCount == before)
        try requireContents(0..<4, in: other.repository)
        // One that has seen it asks for what is new alone.
        try backUp(4, in: stored.repository)
        let reads = other.storage.traffic[.read].requestCount
        try other.refresh()
        // The register, the record, its batch and perhaps a label.
        #expect(other.storage.traffic[.read].requestCount - reads <= 5)
        try requireContents([4], in: other.repository)
    }

    @Test func `many small batches become one`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        var most = 0
        for number in 0..<40 {
            try backUp(number, in: stored.repository)
            most = max(most, try batches.count)
        }
        #expect(most == 15)
        let other = try open("b")
        // The packs of forty backups, which are not listed one by one.
        #expect(other.storage.traffic[.read].requestCount < 70)
        #expect(Set(try other.repository.packs()) == Set(try stored.repository.packs()))
        try requireContents(0..<40, in: other.repository)
        #expect(try flaw(other) == [])
    }

    @Test func `credentials that may only add leave what was replaced, and it is not read`() throws {
        var options = SimulatedServer.Options()
        let first = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<14 { try backUp(number, in: first.repository) }
        options.capabilities.remove(.removal)
        let appending = SimulatedServer(options)
        for name in try names(under: "") where !name.text.hasPrefix("locks/") {
            let (bytes, _) = try #require(try SimulatedStorage(server).contents(of: name, limitBytes: 1 << 20))
            _ = try SimulatedStorage(appending).create(name, ObjectDraft(bytes))
        }
        let stored = try StoredRepository.open(on: appending, folder("b"))
        for number in 14..<18 { try backUp(number, in: stored.repository) }
        var count = 0
        try SimulatedStorage(appending).forEachObject(prefix: "indexes/") { _ in count += 1 }
        #expect(count == 18, "14 that were replaced, the one that replaces them, and 3")
        let other = try StoredRepository.open(on: appending, folder("c"))
        try requireContents(0..<18, in: other.repository)
        let reads = other.storage.traffic[.read].requestCount
        try other.refresh()
        #expect(other.storage.traffic[.read].requestCount == reads)
    }

    // MARK: Batches that are missing, damaged or wrong

    @Test func `without batches, the packs are listed`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<3 { try backUp(number, in: stored.repository) }
        try remove(batches)
        let other = try open("b")
        try requireContents(0..<3, in: other.repository)
        // The next backup, of any machine, makes them again.
        try backUp(3, in: other.repository)
        #expect(try batches.count == 1)
        let third = try open("c")
        #expect(third.storage.traffic[.read].requestCount <= 16)
        try requireContents(0..<4, in: third.repository)
    }

    /// As older programs leave them: the first backup has a batch, the second one has none.
    @Test func `a record whose packs are in no batch is read all the same`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        try backUp(0, in: stored.repository)
        let first = try batches
        try backUp(1, in: stored.repository)
        try remove(batches.filter { !first.contains($0) })
        let other = try open("b")
        try requireContents(0..<2, in: other.repository)
        #expect(try flaw(other) == [])
        // Where nothing can be reached, that is no damage.
        let offline = try StoredRepository.open(on: server, folder("c"))
        var network = SimulatedNetwork.good
        network.chances = [(.lostRequest, 1)]
        offline.storage.network = network
        let snapshot = try #require(offline.repository.snapshot(named: "backup-1"))
        #expect(errorCode { _ = try offline.repository.rootDirectory(of: snapshot) } == .offline)
    }

    @Test(arguments: ["flipped", "cut", "empty", "other", "newer"])
    func `a damaged batch costs requests, and no data`(damage: String) throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<3 { try backUp(number, in: stored.repository) }
        let name = try #require(try batches.first)
        var (bytes, _) = try #require(try SimulatedStorage(server).contents(of: name, limitBytes: 1 << 20))
        switch damage {
        case "flipped": bytes[bytes.count / 2] ^= 1
        case "cut": bytes.removeLast(100)
        case "empty": bytes = []
        case "other": bytes = Array("something else".utf8)
        default: bytes[8] = 2
        }
        // A batch of a later version has a name that fits it.
        let hash = IndexBatchID(SHA256Hasher.hash(bytes))
        let isNewer = damage == "newer"
        let target = isNewer ? MirrorObject.indexBatch(hash).name : name
        if isNewer { try remove([name]) }
        if isNewer { _ = try SimulatedStorage(server).create(target, ObjectDraft(bytes)) } else { try put(bytes, as: target) }
        let other = try open("b")
        try requireContents(0..<3, in: other.repository)
        #expect(try flaw(other) == [])
        // It is not transferred again and again.
        let reads = other.storage.traffic[.read].requestCount
        try other.refresh()
        #expect(other.storage.traffic[.read].requestCount == reads)
        // The next backup stores what it held, and removes it; but not what a later program has stored.
        try backUp(3, in: other.repository)
        #expect(try batches.contains(target) == isNewer)
        let third = try open("c")
        try requireContents(0..<4, in: third.repository)
        #expect(third.storage.traffic[.list].requestCount == 2, "no pack was searched for")
    }

    /// A foreign program, or a damaged one, may store a batch whose name fits and whose contents do not.
    @Test(arguments: ["packs", "lengths", "replaces all", "records"])
    func `a batch that lies costs requests, and no data`(lie: String) throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<3 { try backUp(number, in: stored.repository) }
        var draft = IndexBatchDraft()
        var replaced: [IndexBatchID] = []
        for pack in try stored.repository.packs() {
            let file = try stored.repository.layout.openPack(pack)
            let index = try StoredPackIndex(in: file, pack: pack)
            switch lie {
            case "packs": draft.add(PackID(SHA256Hasher.hash(Array(pack.hexadecimal.utf8))), index)
            case "lengths":
                let wrong = try #require(
                    StoredPackIndex(
                        headerBytes: index.headerBytes, indexBytes: index.indexBytes, pack: pack, packSizeBytes: file.size + 1))
                draft.add(pack, wrong)
            default: break
            }
        }
        if lie == "replaces all" {
            replaced = try batches.map {
                IndexBatchID(try #require(SHA256Digest(hexadecimal: String($0.text.dropFirst(8).prefix(64)))))
            }
        }
        for snapshot in lie == "records" ? stored.repository.snapshots() : [] { draft.add(snapshot.id, [1, 2, 3]) }
        let bytes = draft.encoded(replacing: replaced)
        _ = try SimulatedStorage(server).create(
            MirrorObject.indexBatch(IndexBatchID(SHA256Hasher.hash(bytes))).name, ObjectDraft(bytes))
        let other = try open("b")
        try requireContents(0..<3, in: other.repository)
        #expect(try flaw(other) == [])
        try backUp(3, in: other.repository)
        try requireContents(0..<4, in: open("c").repository)
    }

    /// A refresh in the background may list before a backup stores its batch, and look at the cache after that.
    @Test func `a batch that is stored during a refresh stays`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<15 { try backUp(number, in: stored.repository) }
        let writer = try stored.repository.makeWriter(packSizeBytes: 24_000)
        let file = try writer.store(Self.content(15), policy: .structuredText)
        try writer.publishChunks()
        let calls = LockedArray<Int>()
        let upstream = try #require(stored.repository.layout.upstream)
        let slow = AlteredListing(SimulatedStorage(server)) { _ in
            calls.append(1)
            // One batch replaces all.
            if calls.values.count == 1 { try upstream.storeIndexes(isCompacting: false) {} }
        }
        try RemoteRepository(in: slow, cacheFolder: folder("a")).refresh()
        #expect(try batches.count == 1)
        let before = stored.storage.traffic[.read].requestCount
        try requireContents(0..<15, in: stored.repository)
        #expect(stored.storage.traffic[.read].requestCount == before, "everything is still in the cache")
        try writer.commit(
            named: "backup-15",
            entries: [.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: file)], seconds: 1_015)
        try requireContents(0..<16, in: open("b").repository)
    }

    /// Many readers miss the same pack.
    @Test func `one listing serves all that miss a pack`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<2 { try backUp(number, in: stored.repository) }
        let first = try #require(try batches.first)
        try remove(batches.filter { $0 != first })
        let other = try open("b")
        let snapshots = other.repository.snapshots()
        let before = other.storage.traffic[.list].requestCount
        let threads = try (0..<8).map { _ in
            try SystemThread { for snapshot in snapshots { _ = try? other.repository.rootDirectory(of: snapshot) } }
        }
        for thread in threads { thread.join() }
        #expect(other.storage.traffic[.list].requestCount - before <= 3)
        try requireContents(0..<2, in: other.repository)
    }

    /// Its backups can be read, since a batch has a copy, but a check says what the storage has.
    @Test func `a check reads records that are known from copies`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<2 { try backUp(number, in: stored.repository) }
        let name = MirrorObject.snapshot(try stored.id(of: "backup-0")).name
        var (bytes, _) = try #require(try SimulatedStorage(server).contents(of: name, limitBytes: 1 << 20))
        bytes[40] ^= 1
        try put(bytes, as: name)
        let other = try open("b")
        try requireContents(0..<2, in: other.repository)
        let found = try flaw(other)
        #expect(found.count == 1 && found[0].contains("does not fit its name"), "\(found)")
    }

    private func flaw(_ stored: StoredRepository) throws -> [String] {
        var found: [String] = []
        var check = RepositoryCheck(stored.repository, readData: .all) { event in
            if case .finding(let finding) = event { found.append("\(finding.error)") }
        }
        _ = try check.run()
        return found
    }

    // MARK: Removals

    @Test func `removed packs leave the batches, and no machine relies on them`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<6 { try backUp(number, in: stored.repository) }
        let other = try open("b")
        try requireContents(0..<6, in: other.repository)
        for number in 0..<5 {
            try stored.repository.removeSnapshot(try stored.id(of: FileName("backup-\(number)")))
        }
        _ = try RepositoryPrune(stored.repository, maxUnused: .bytes(0)).run()
        server.advance(seconds: 86_401)
        let before = try names(under: "packs/").count
        _ = try RepositoryPrune(stored.repository, maxUnused: .bytes(0)).run()
        let packs = try names(under: "packs/")
        #expect(packs.count < before / 2)
        var named = Set<ObjectName>()
        for name in try batches {
            let (bytes, _) = try #require(try SimulatedStorage(server).contents(of: name, limitBytes: 1 << 20))
            let batch = try IndexBatch(decodingHead: bytes, sizeBytes: bytes.count)
            named.formUnion(batch.packs.map { MirrorObject.pack($0.id).name })
        }
        #expect(named == Set(packs))
        // A machine that knows the old packs stores again what it needs of them.
        try backUp(2, in: other.repository)
        let third = try open("c")
        #expect(third.names == ["backup-5", "backup-2"])
        try requireContents([2, 5], in: third.repository)
        #expect(try flaw(third) == [])
    }

    // MARK: Copies

    @Test(arguments: [false, true]) func `a copy has batches, too`(keepsState: Bool) throws {
        let original = try Repository.create(at: folder("original"))
        let storage = SimulatedStorage(server)
        for number in 0..<20 {
            try backUp(number, in: original)
            var state = MirrorState()
            _ = try RepositoryMirror(of: original, in: storage, stateFolder: keepsState ? folder("state") : nil).update(&state)
        }
        #expect(try batches.count < 16)
        let heads = try FileSystem.names(in: keepsState ? folder("state") : folder.path).count { "\($0)".hasSuffix(".head") }
        #expect(heads == (keepsState ? try batches.count : 0))
        let reader = SimulatedStorage(server)
        let remote = try RemoteRepository(in: reader, cacheFolder: folder("cache"))
        try remote.refresh()
        #expect(reader.traffic[.read].requestCount < 45)
        let copy = try remote.open(catalogHome: .folder(folder("catalogs")))
        try requireContents(0..<20, in: copy)
        // A plain copy of all objects is a repository; and so is what is fetched.
        _ = try MirrorFetch(from: SimulatedStorage(server), to: folder("fetched")).run()
        try requireContents(0..<20, in: Repository.open(at: folder("fetched"), catalogHome: .memory))
    }

    // MARK: The format

    /// By another program, as the format's page says.
    @Test func `an independent program reads a batch`() throws {
        let stored = try StoredRepository.create(on: server, folder("a"))
        for number in 0..<2 { try backUp(number, in: stored.repository) }
        var wanted: [String] = []
        for pack in try stored.repository.packs() {
            let file = try stored.repository.layout.openPack(pack)
            let index = try PackIndex.read(file, pack: pack, protection: stored.repository.protection)
            wanted.append("\(pack) \(file.size) \(index.entries.count)")
        }
        var found: [String] = []
        var records: [String] = []
        for (number, name) in try batches.enumerated() {
            let (bytes, _) = try #require(try SimulatedStorage(server).contents(of: name, limitBytes: 1 << 20))
            let path = folder("batch-\(number)")
            try FileSystem.writeFileAtomically(path, bytes)
            let result = try run(["python3", "-c", Self.reader, path, name.text])
            #expect(result.status == 0, "\(result.output)")
            for line in result.output.split(separator: "\n").map(String.init) {
                if line.hasPrefix("record ") { records.append(line) } else { found.append(line) }
            }
        }
        #expect(found.sorted() == wanted.sorted())
        #expect(records == ["record \(try stored.id(of: "backup-0")) bfssnap"])
    }

    private static let reader = """
        import hashlib, struct, sys
        data = open(sys.argv[1], "rb").read()
        assert "indexes/" + hashlib.sha256(data).hexdigest() + ".indexes" == sys.argv[2]
        assert data[:8] == b"bfsbatc\\n" and struct.unpack_from("<HH", data, 8) == (1, 0)
        replaced, packs, records = struct.unpack_from("<III", data, 12)
        table = 24 + 32 * replaced
        body = table + 44 * packs + 36 * records
        for _ in range(packs):
            name, size, length = data[table:table + 32], *struct.unpack_from("<QI", data, table + 32)
            header, index = data[body:body + 16], data[body + 16:body + length]
            assert header[:8] == b"bfspack\\n" and hashlib.sha256(index).digest() == name
            print(name.hex(), size, struct.unpack_from("<I", index, 4)[0])
            table += 44
            body += length
        for _ in range(records):
            name, length = data[table:table + 32], struct.unpack_from("<I", data, table + 32)[0]
            assert hashlib.sha256(data[body:body + length]).digest() == name
            print("record", name.hex(), data[body:body + 7].decode())
            table += 36
            body += length
        assert body == len(data)
        """
}

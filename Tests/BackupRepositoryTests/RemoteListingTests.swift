import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// What a list of a repository in an object storage says may be wrong, or change while it is read.
@Suite struct RemoteListingTests {
    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// Three backups in a mirror.
    private func make() throws -> Repository {
        let repository = try Repository.create(at: folder("original"))
        for (number, name) in ["one", "two", "three"].enumerated() {
            try RecordedHistory.backUp(FileName(name), in: repository, seconds: Int64(1_000 + number))
        }
        try update(repository)
        return repository
    }

    private func update(_ repository: Repository) throws {
        var state = MirrorState()
        _ = try RepositoryMirror(of: repository, in: SimulatedStorage(server)).update(&state)
    }

    private func open(_ remote: RemoteRepository) throws -> Repository {
        try remote.open(catalogHome: .folder(folder("catalogs")))
    }

    /// Sizes are what the server says.
    @Test(arguments: [0, 1 << 50, UInt64(Int64.max), .max])
    func `an object of an impossible size is no pack`(sizeBytes: UInt64) throws {
        let original = try make()
        let pack = try #require(try original.packs().first)
        let other = MirrorObject.pack(PackID(SHA256Hasher.hash([1]))).name
        for name in [other, MirrorObject.pack(pack).name] {
            let lying = AlteredListing(SimulatedStorage(server)) { objects in
                let version = objects.first?.version ?? ObjectVersion("1")
                let facts = ObjectFacts(name: name, sizeBytes: sizeBytes, version: version, storedAt: Timestamp(seconds: 5))
                objects = (objects.filter { $0.name != name } + [facts]).sorted { $0.name < $1.name }
            }
            let cache = try RemoteRepository(in: lying, cacheFolder: folder("cache-\(name.text.suffix(20))"))
            try cache.refresh()
            #expect(try open(cache).snapshots().count == 3)
        }
    }

    @Test func `an object that is too large hides no other`() throws {
        let original = try make()
        let storage = SimulatedStorage(server)
        let (label, record) = (SnapshotID(SHA256Hasher.hash([2])), SnapshotID(SHA256Hasher.hash([3])))
        let names = [MirrorObject.register, .label(label), .snapshot(record)].map(\.name)
        let lying = AlteredListing(storage) { objects in
            let version = ObjectVersion("other")
            let large = names.map {
                ObjectFacts(name: $0, sizeBytes: 1 << 40, version: version, storedAt: Timestamp(seconds: 5))
            }
            objects = (objects.filter { !names.contains($0.name) } + large).sorted { $0.name < $1.name }
        }
        let cache = try RemoteRepository(in: lying, cacheFolder: folder("cache"))
        try cache.refresh()
        let repository = try open(cache)
        #expect(repository.snapshots().count == original.snapshots().count)
        #expect(try RecordedHistory.flaw(of: "one", in: repository) == nil)
    }

    /// Another machine uploads while pages of the list are read.
    @Test(arguments: ["cache", "fetch"]) func `a record that is listed has its packs`(reader: String) throws {
        let original = try make()
        let uploads = LockedArray<String>()
        let storage = AlteredListing(SimulatedStorage(server)) { objects in
            guard uploads.values.isEmpty else { return }
            uploads.append("done")
            let packs = objects.filter { $0.name.text < "q" }
            try RecordedHistory.backUp("next", in: original, seconds: 3_000)
            try update(original)
            objects = packs + (try SimulatedStorage(server).list(prefix: "", after: nil).objects.filter { $0.name.text > "q" })
        }
        let repository: Repository
        if reader == "fetch" {
            _ = try MirrorFetch(from: storage, to: folder("fetched")).run()
            repository = try Repository.open(at: folder("fetched"))
        } else {
            let cache = try RemoteRepository(in: storage, cacheFolder: folder("cache"))
            try cache.refresh()
            repository = try open(cache)
        }
        #expect(uploads.values == ["done"])
        #expect(repository.snapshot(named: "next") != nil)
        #expect(try RecordedHistory.flaw(of: "next", in: repository) == nil)
    }
}

/// A storage whose lists are changed on the way.
final class AlteredListing: ObjectStorage {
    private let storage: SimulatedStorage
    private let prefix: String
    private let willList: @Sendable () throws -> Void
    private let alter: @Sendable (inout [ObjectFacts]) throws -> Void

    /// - Parameters:
    ///   - prefix: of the lists that are changed; "" for those of everything.
    ///   - willList: called before each of these lists.
    ///   - alter: changes the objects of a list.
    init(
        _ storage: SimulatedStorage, prefix: String = "", willList: @escaping @Sendable () throws -> Void = {},
        alter: @escaping @Sendable (inout [ObjectFacts]) throws -> Void
    ) {
        self.willList = willList
        self.storage = storage
        self.prefix = prefix
        self.alter = alter
    }

    var location: String { storage.location }
    var capabilities: StorageCapabilities { storage.capabilities }

    func list(prefix: String, after previous: ObjectName?, limit: Int) throws(BackupError) -> ObjectPage {
        guard prefix == self.prefix else { return try storage.list(prefix: prefix, after: previous, limit: limit) }
        do {
            try willList()
            let page = try storage.list(prefix: prefix, after: previous, limit: limit)
            var objects = page.objects
            try alter(&objects)
            // A list never has what comes before it.
            if let previous { objects.removeAll { $0.name <= previous } }
            return ObjectPage(objects: objects, hasMore: page.hasMore)
        } catch {
            throw error as? BackupError ?? BackupError(.inputOutput, "\(String(describing: error))")
        }
    }

    func look(_ name: ObjectName) throws(BackupError) -> ObjectFacts? { try storage.look(name) }

    func read(
        _ name: ObjectName, range: Range<UInt64>?, _ consume: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) -> ObjectFacts { try storage.read(name, range: range, consume) }

    func create(_ name: ObjectName, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try storage.create(name, draft)
    }

    func replace(_ name: ObjectName, version: ObjectVersion, _ draft: ObjectDraft) throws(BackupError) -> ObjectVersion {
        try storage.replace(name, version: version, draft)
    }

    func remove(_ name: ObjectName, version: ObjectVersion?) throws(BackupError) {
        try storage.remove(name, version: version)
    }
}

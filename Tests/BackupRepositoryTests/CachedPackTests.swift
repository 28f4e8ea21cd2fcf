import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// What is read of a pack in a storage, and in how many requests.
@Suite struct CachedPackTests {
    private static let sizeBytes: UInt64 = 255 * CachedPack.blockSizeBytes

    private let folder: TemporaryFolder
    private let storage: SimulatedStorage
    private let cache: PackCache
    private let pack: CachedPack

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        storage = SimulatedStorage(SimulatedServer())
        let layout = RepositoryLayout(path: folder("repository"))
        cache = PackCache(storage, layout: layout, folder: folder.path, limitBytes: 1 << 30)
        try cache.makeFolders()
        let id = PackID(SHA256Hasher.hash([1]))
        _ = try storage.create(
            MirrorObject.pack(id).name,
            ObjectDraft(
                (0..<UInt8(255)).reduce(into: []) { $0 += [UInt8](repeating: $1, count: Int(CachedPack.blockSizeBytes)) }))
        try cache.addEmpty(id, sizeBytes: Self.sizeBytes)
        pack = try cache.cached(id)
    }

    private var readCount: Int { storage.traffic[.read].requestCount }

    private func read(_ block: UInt64) throws {
        let start = block * CachedPack.blockSizeBytes
        try pack.fill(start..<start + CachedPack.blockSizeBytes)
        #expect(try pack.reader().bytes(at: start, upTo: 1) == [UInt8(block)])
    }

    @Test func `one reader from one end to the other needs few requests`() throws {
        for block in 0..<(Self.sizeBytes / CachedPack.blockSizeBytes) { try read(block) }
        // 2, 4, 8, 16 and 32 blocks, then 64 at once, and the last one.
        #expect(readCount == 9)
        #expect(storage.traffic[.read].bytesDown == Self.sizeBytes)
    }

    @Test func `several readers at different places do not disturb each other`() throws {
        let part: UInt64 = 62
        for block in 0..<part {
            for reader in 0..<4 { try read(UInt64(reader) * part + block) }
        }
        // 2, 4, 8, 16 and 32 blocks, which are all 62 of a part.
        #expect(readCount == 5 + 5 + 5 + 5)
    }

    @Test func `reads at random places transfer little more than they need`() throws {
        for block in stride(from: UInt64(0), to: 250, by: 25).reversed() { try read(block) }
        #expect(readCount == 10)
        #expect(storage.traffic[.read].bytesDown <= 22 * CachedPack.blockSizeBytes)
    }
}

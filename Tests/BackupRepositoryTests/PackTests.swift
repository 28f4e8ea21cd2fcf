import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

@Suite struct PackTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
    }

    /// The last 32 KiB of the base are the dictionary: also of one that is longer.
    @Test(arguments: [20_000, 60_000]) func chunksStoredAgainstABaseAreRead(count: Int) throws {
        let base = TestData.random(count, seed: 1)
        var near = base
        near[count - 100] ^= 1
        let baseID = ChunkID(SHA256Hasher.hash(base))
        let nearID = ChunkID(SHA256Hasher.hash(near))
        let stored = near.withUnsafeBytes { plain in
            base.suffix(32768).withUnsafeBytes { dictionary in
                var deflater = Deflater(level: 6)
                var output: [UInt8] = []
                deflater.compress(plain, dictionary: dictionary, into: &output)
                return output
            }
        }
        if count < 32768 { #expect(stored.count < 1_000) }
        let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: .none)
        for (id, plain, bytes, reference) in [(baseID, base, base, nil), (nearID, near, stored, baseID)] {
            let entry = PackEntry(
                id: id, codec: reference == nil ? .raw : .deflateAgainstBase, storedLength: UInt32(bytes.count),
                plainLength: UInt32(plain.count), plainCRC32: CRC32.of(plain), storedCRC32: CRC32.of(bytes), base: reference)
            try bytes.withUnsafeBytes { try writer.append(entry, $0) }
        }
        let finished = try writer.finish(packsFolder: repository.layout.packs)
        #expect(try repository.plainBytes(of: nearID) == near)
        #expect(repository.verifyPack(finished.id).isEmpty)
        #expect(try run(["python3", Fixtures.reader, "packs", folder("repository")]).status == 0)
    }

    /// A base that is itself stored against a base: nothing writes it, nothing follows it.
    @Test func basesOfBasesAreRefused() throws {
        let plain = TestData.random(500, seed: 1)
        let first = ChunkID(SHA256Hasher.hash([1]))
        let second = ChunkID(SHA256Hasher.hash([2]))
        let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: .none)
        for (id, base) in [(first, second), (second, first)] {
            let entry = PackEntry(
                id: id, codec: .deflateAgainstBase, storedLength: 500, plainLength: 500, plainCRC32: 1, storedCRC32: 2, base: base
            )
            try plain.withUnsafeBytes { try writer.append(entry, $0) }
        }
        _ = try writer.finish(packsFolder: repository.layout.packs)
        #expect(errorCode { _ = try repository.plainBytes(of: first) } == .repositoryDamaged)
    }

    @Test func aCodecOfALaterVersionIsNamed() throws {
        var writer = ByteWriter()
        let entry = PackEntry(
            id: ChunkID(SHA256Hasher.hash([1])), codec: .raw, storedLength: 1, plainLength: 1, plainCRC32: 1, storedCRC32: 1,
            base: nil)
        entry.encode(into: &writer)
        var bytes = writer.bytes
        bytes[32] = 4
        var reader = ByteReader(bytes)
        do {
            _ = try PackEntry(decoding: &reader)
            Issue.record("an unknown codec was accepted")
        } catch {
            #expect(error.code == .unsupportedVersion && error.message.contains("codec 4"))
        }
    }

    /// Another host that took over the lock of a suspended one has removed its temporary files: the lock is what the user must
    /// learn of.
    @Test func `a writer whose lock and files another host has taken says that it lost the lock`() throws {
        for isHeld in [true, false] {
            let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: .none)
            for name in try FileManager.default.contentsOfDirectory(atPath: repository.layout.temporary) {
                try FileManager.default.removeItem(atPath: repository.layout.temporary + "/" + name)
            }
            let error = errorCode {
                _ = try writer.publish(in: repository.layout, repository.catalog) { () throws(BackupError) in
                    if !isHeld { throw BackupError(.locked, "the lock was lost") }
                }
            }
            #expect(error == (isHeld ? .notFound : .locked))
        }
    }

    @Test func aWriterRefusesUseAfterItsEnd() throws {
        let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: .none)
        let bytes: [UInt8] = [1, 2, 3]
        let entry = PackEntry(
            id: ChunkID(SHA256Hasher.hash(bytes)), codec: .raw, storedLength: 3, plainLength: 3, plainCRC32: CRC32.of(bytes),
            storedCRC32: CRC32.of(bytes), base: nil)
        try bytes.withUnsafeBytes { try writer.append(entry, $0) }
        _ = try writer.finish(packsFolder: repository.layout.packs)
        #expect(errorCode { try bytes.withUnsafeBytes { try writer.append(entry, $0) } } == .invalidArgument)
        #expect(errorCode { _ = try writer.finish(packsFolder: repository.layout.packs) } == .invalidArgument)
    }

    /// Of several threads, any may be the one whose error is reported: those that come later get the first one's.
    @Test func `a pack that failed says why to all who come later (U-A6)`() throws {
        let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: .none)
        let bytes = TestData.random(2 << 20, seed: 1)
        let entry = PackEntry(
            id: ChunkID(SHA256Hasher.hash(bytes)), codec: .raw, storedLength: UInt32(bytes.count),
            plainLength: UInt32(bytes.count), plainCRC32: CRC32.of(bytes), storedCRC32: CRC32.of(bytes), base: nil)
        let disk = FullDisk(failing: 1, duration: .once)
        FileObservation.observing(below: repository.layout.temporary, by: disk) {
            #expect(errorCode { try bytes.withUnsafeBytes { try writer.append(entry, $0) } } == .noSpace)
        }
        #expect(errorCode { try bytes.withUnsafeBytes { try writer.append(entry, $0) } } == .noSpace)
        #expect(errorCode { _ = try writer.finish(packsFolder: repository.layout.packs) } == .noSpace)
    }

    @Test func aFailedBackupRefusesToGoOn() throws {
        let writer = try repository.makeWriter(packSizeBytes: 1000)
        // The folder for packs is a file: nothing can be published.
        try FileManager.default.removeItem(atPath: folder("repository/packs"))
        try writeFile(folder("repository/packs"), [])
        #expect(throws: BackupError.self) {
            try writer.store(TestData.random(100_000, seed: 1), policy: .database(pageSizeBytes: 512))
        }
        try FileManager.default.removeItem(atPath: folder("repository/packs"))
        try FileManager.default.createDirectory(atPath: folder("repository/packs"), withIntermediateDirectories: false)
        #expect(errorCode { _ = try writer.store(TestData.random(100, seed: 2), policy: .media) } == .notADirectory)
        #expect(errorCode { _ = try writer.commit(named: "a", entries: []) } == .notADirectory)
        #expect(repository.snapshots().isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("repository/tmp")).isEmpty)
        try repository.makeWriter().commit(named: "a", files: [("x", TestData.random(100, seed: 2), .media)])
        #expect(try repository.file("x", in: "a") == TestData.random(100, seed: 2))
    }
}

import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// What a large repository on a server costs in requests, bytes, time and memory. `make test` has a small one, whose requests
/// must stay few. With BACKUPFS_SCALE_PACKS=100000, the figures of Docs/explanation/large-repositories.md are printed.
@Suite(.rotating(oneIn: 3)) struct StorageScaleTests {
    private static let packCount = Int(Machine.environment("BACKUPFS_SCALE_PACKS") ?? "") ?? 1_200
    private static let isMeasured = Machine.environment("BACKUPFS_SCALE_PACKS") != nil
    private static let chunksInPack = isMeasured ? 100 : 5
    private static let snapshotCount = packCount / 10
    private static let filesInFolder = 1_000

    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder() }

    /// A pack whose chunks are zeros, and have invented names: only the index is computed.
    private final class GeneratedPack: ByteSource {
        static let chunkSizeBytes = 320 << 10
        private static let zeroCRC32 = CRC32.of([UInt8](repeating: 0, count: chunkSizeBytes))

        private let number: Int
        let id: PackID
        let sizeBytes: UInt64

        init(_ number: Int) {
            self.number = number
            let index = Self.index(number).encode()
            id = PackID(SHA256Hasher.hash(index))
            sizeBytes =
                UInt64(StoredPackIndex.headerByteCount + StoredPackIndex.footerByteCount + index.count)
                + Self.chunkByteCount
        }

        /// As a batch has it.
        var stored: StoredPackIndex? {
            StoredPackIndex(
                headerBytes: StoredPackIndex.header(kind: .data, isSealed: false), indexBytes: Self.index(number).encode(),
                pack: id,
                packSizeBytes: sizeBytes)
        }

        static func chunk(_ number: Int) -> ChunkID { ChunkID(SHA256Hasher.hash(Array("chunk \(number)".utf8))) }

        private static var chunkByteCount: UInt64 { UInt64(chunksInPack * chunkSizeBytes) }

        private static func index(_ number: Int) -> PackIndex {
            let entries = (0..<chunksInPack).map { position in
                PackEntry(
                    id: chunk(number * chunksInPack + position), codec: .raw, storedLength: UInt32(chunkSizeBytes),
                    plainLength: UInt32(chunkSizeBytes), plainCRC32: zeroCRC32, storedCRC32: zeroCRC32, base: nil)
            }
            return PackIndex(kind: .data, entries: entries, isSealed: false)
        }

        func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
            let index = Self.index(number).encode()
            let footer = StoredPackIndex.footer(chunkByteCount: Self.chunkByteCount, indexByteCount: index.count)
            let parts: [(start: UInt64, bytes: [UInt8])] = [
                (0, StoredPackIndex.header(kind: .data, isSealed: false)),
                (UInt64(StoredPackIndex.headerByteCount) + Self.chunkByteCount, index + footer),
            ]
            let end = min(offset + UInt64(buffer.count), sizeBytes)
            guard offset < end else { return 0 }
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            for part in parts {
                let range =
                    max(offset, part.start)..<max(max(offset, part.start), min(end, part.start + UInt64(part.bytes.count)))
                guard !range.isEmpty else { continue }
                let source = part.bytes[Int(range.lowerBound - part.start)..<Int(range.upperBound - part.start)]
                UnsafeMutableRawBufferPointer(rebasing: buffer[Int(range.lowerBound - offset)...]).copyBytes(from: source)
            }
            return Int(end - offset)
        }
    }

    /// Counts what a step costs.
    private func measure(_ title: String, _ storage: SimulatedStorage, _ body: () throws -> Void) throws -> SimulatedTraffic.Count
    {
        let (before, begin) = (storage.traffic.total, SystemClock.monotonicNanoseconds())
        try body()
        let seconds = Double(SystemClock.monotonicNanoseconds() - begin) / 1e9
        let after = storage.traffic.total
        let count = SimulatedTraffic.Count(
            requestCount: after.requestCount - before.requestCount, bytesUp: after.bytesUp - before.bytesUp,
            bytesDown: after.bytesDown - before.bytesDown, seconds: after.seconds - before.seconds)
        if Self.isMeasured {
            print(
                "scale: | \(title) | \(count.requestCount) | \(count.bytesUp >> 10) | \(count.bytesDown >> 10) | "
                    + "\(String(format: "%.2f | %.2f", count.seconds, seconds)) | \(try Self.residentBytes() >> 20) |")
        }
        return count
    }

    private static func residentBytes() throws -> UInt64 {
        let pages = String(decoding: try readFile("/proc/self/statm"), as: UTF8.self).split(separator: " ")[1]
        return try #require(UInt64(pages)) * 4_096
    }

    private func open(_ cache: String) throws -> (storage: SimulatedStorage, remote: RemoteRepository) {
        let storage = SimulatedStorage(server)
        return (storage, try RemoteRepository(in: storage, cacheFolder: folder(cache), writingTo: storage))
    }

    /// A tree that needs every chunk.
    private func storeTree(_ writer: BackupWriter) throws -> StoredDirectory {
        let checksums = try writer.store([], policy: .media).checksums
        var folders: [TreeEntry] = []
        let chunkCount = Self.packCount * Self.chunksInPack
        let chunksInFile = 1_000
        for first in stride(from: 0, to: chunkCount, by: chunksInFile * Self.filesInFolder) {
            var files: [TreeEntry] = []
            for start in stride(from: first, to: min(first + chunksInFile * Self.filesInFolder, chunkCount), by: chunksInFile) {
                let elements = (start..<min(start + chunksInFile, chunkCount)).map {
                    FileContent.Element.chunk(GeneratedPack.chunk($0), plainLength: UInt32(GeneratedPack.chunkSizeBytes))
                }
                files.append(
                    .file(
                        name: FileName("file-\(start)"), mode: 0o600, modificationTime: Timestamp(seconds: 5),
                        stored: StoredFile(content: FileContent(elements: elements), checksums: checksums)))
            }
            folders.append(
                .directory(
                    name: FileName("folder-\(first)"), mode: 0o700, modificationTime: Timestamp(seconds: 5),
                    stored: try writer.store(files)))
        }
        return try writer.store(folders)
    }

    private func record(_ name: String, _ root: StoredDirectory, seconds: Int) -> SnapshotRecord {
        SnapshotRecord(
            kind: .snapshot, name: FileName(name), creationTime: Timestamp(seconds: Int64(seconds)), parent: nil, root: root,
            archiveSizeBytes: 0, archiveLayout: [:], attributes: ["app": "scale"])
    }

    @Test func `a large repository costs few requests`() throws {
        let (makerStorage, makerRemote) = try open("maker")
        let maker = try makerRemote.create(catalogHome: .folder(folder("maker/catalogs")))
        let others = SimulatedStorage(server)
        var batch = IndexBatchDraft()
        for number in 0..<Self.packCount {
            let pack = GeneratedPack(number)
            server.place(MirrorObject.pack(pack.id).name, sizeBytes: pack.sizeBytes, source: pack)
            // A smaller repository has none, as one of an older program.
            guard Self.isMeasured else { continue }
            batch.add(pack.id, try #require(pack.stored))
            guard batch.sizeBytes >= IndexBatchUpdate.fullSizeBytes || number == Self.packCount - 1 else { continue }
            let bytes = batch.encoded(replacing: [])
            let name = MirrorObject.indexBatch(IndexBatchID(SHA256Hasher.hash(bytes))).name
            _ = try others.create(name, ObjectDraft(bytes))
            batch = IndexBatchDraft()
        }
        var root: StoredDirectory?
        _ = try measure("first backup by a machine that knows nothing yet", makerStorage) {
            let writer = try maker.makeWriter()
            let tree = try storeTree(writer)
            root = tree
            _ = try writer.commit(record("first", tree, seconds: 1_000))
        }
        let tree = try #require(root)
        let records = SimulatedStorage(server)
        for number in 1..<Self.snapshotCount {
            let bytes = record("snapshot-\(number)", tree, seconds: 1_000 + number).encode()
            _ = try records.create(MirrorObject.snapshot(SnapshotID(SHA256Hasher.hash(bytes))).name, ObjectDraft(bytes))
        }
        _ = try measure("backup after \(Self.snapshotCount) by others", makerStorage) {
            let writer = try maker.makeWriter()
            _ = try writer.commit(record("second", tree, seconds: 100_000))
        }
        // Another machine.
        let (storage, remote) = try open("other")
        let pages = { (count: Int) in count / 1_000 + 1 }
        var cost = try measure("first look from a machine", storage) { try remote.refresh() }
        // A batch has the indexes of eight MiB.
        let indexBytes = Self.packCount * (Self.chunksInPack * 49 + 8 + 16 + 44)
        #expect(cost.requestCount <= pages(Self.snapshotCount) + indexBytes >> 23 + 16)
        var opened: Repository?
        cost = try measure("open, which makes the catalog", storage) {
            opened = try remote.open(catalogHome: .folder(folder("other/catalogs")))
        }
        #expect(cost.requestCount == 0)
        let repository = try #require(opened)
        #expect(repository.snapshots().count == Self.snapshotCount + 1)
        #expect(try repository.totals().chunkCount >= UInt64(Self.packCount * Self.chunksInPack))
        cost = try measure("look again", storage) {
            try remote.refresh()
            try repository.refresh()
        }
        #expect(cost.requestCount <= 2 * pages(Self.snapshotCount) - 1 + 4)
        if Self.isMeasured { #expect(cost.requestCount <= 20) }
        var file: TreeEntry?
        cost = try measure("`ls` of a folder of \(Self.filesInFolder) files", storage) {
            let snapshot = try #require(repository.snapshots().last)
            let folder = try #require(try repository.rootDirectory(of: snapshot).entries.first?.storedDirectory)
            file = try repository.directory(folder).entries.last
        }
        #expect(cost.requestCount <= 12)
        let entry = try #require(file)
        cost = try measure("first byte of a read of 4 KiB", storage) {
            var bytes = [UInt8](repeating: 1, count: 4_096)
            let table = try repository.extents(of: entry.content)
            let count = try bytes.withUnsafeMutableBytes { try repository.read(table, at: table.size / 2, into: $0) }
            #expect(count == 4_096 && bytes.allSatisfy { $0 == 0 })
        }
        #expect(cost.requestCount <= 12)
        cost = try measure("unchanged backup", storage) {
            let writer = try repository.makeWriter()
            _ = try writer.commit(record("unchanged", tree, seconds: 100_001))
        }
        // Two listings of everything, and of the records under the lock on names.
        let listed = pages(Self.packCount) + 2 * pages(Self.snapshotCount)
        #expect(cost.requestCount <= 2 * listed + 40)
        let newBytes = Self.isMeasured ? 1 << 30 : 8 << 20
        cost = try measure("backup with \(newBytes >> 20) MiB new", storage) {
            let writer = try repository.makeWriter()
            let stored = try writer.store(RandomSource(sizeBytes: newBytes), policy: .media)
            let new = try writer.store([
                .file(name: "new", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored),
                .directory(name: "old", mode: 0o700, modificationTime: Timestamp(seconds: 5), stored: tree),
            ])
            _ = try writer.commit(record("new", new, seconds: 100_002))
        }
        #expect(cost.requestCount <= 2 * listed + 40 + newBytes >> 24)
        #expect(cost.bytesUp < UInt64(newBytes + 4 << 20))
        // A prune reads all folders and content lists.
        cost = try measure("prune, which finds nothing unneeded", storage) {
            _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
        }
        #expect(cost.requestCount <= 2 * listed + 100)
        let new = try #require(repository.snapshot(named: "new"))
        try repository.removeSnapshot(new.id)
        cost = try measure("prune after a removal, first step", storage) {
            let summary = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
            #expect(summary.waitingByteCount >= UInt64(newBytes))
        }
        server.advance(seconds: 86_401)
        cost = try measure("prune after a day, second step", storage) {
            let summary = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
            #expect(summary.freedByteCount >= UInt64(newBytes))
        }
        #expect(cost.requestCount <= 2 * listed + 100 + newBytes >> 24)
    }

    /// Bytes that do not repeat, without memory for them.
    private final class RandomSource: ByteSource {
        let sizeBytes: Int

        init(sizeBytes: Int) { self.sizeBytes = sizeBytes }

        func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
            let count = min(buffer.count, sizeBytes - Int(offset))
            var position = 0
            while position < count {
                var generator = SeededGenerator(seed: offset + UInt64(position))
                for byte in position..<min(position + 65_536, count) where byte % 8 == 0 {
                    let word = generator.next()
                    let end = min(8, count - byte)
                    for index in 0..<end { buffer[byte + index] = UInt8(truncatingIfNeeded: word >> (8 * UInt64(index))) }
                }
                position += 65_536
            }
            return max(0, count)
        }
    }
}

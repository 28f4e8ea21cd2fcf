import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// Cached results for generated files: the extent tables of the newest archives, their sizes, and every checksum.
final class ArchiveCache: Sendable {
    struct Key: Hashable, Sendable {
        let snapshot: SnapshotID
        let format: ArchiveFormat
    }

    private struct State {
        var tables: [(key: Key, table: ExtentTable)] = []
        var sizes: [Key: UInt64] = [:]
        var checksums: [InodeNumber: Checksums] = [:]
    }

    /// A table of 100,000 files takes tens of megabytes, so only the last few are kept. Open files hold their own.
    private static let tableCountLimit = 2
    /// Tables with more extents than this release memory after their creation.
    private static let largeTableCount = 10_000
    private static let sizeCountLimit = 10_000
    private static let checksumCountLimit = 10_000

    private let state = Mutex(State())

    func table(of key: Key, make: () throws(BackupError) -> ExtentTable) throws(BackupError) -> ExtentTable {
        if let known = state.withLock({ state in state.tables.first { $0.key == key }?.table }) { return known }
        // Created without the lock: two readers may both create it, which only costs time.
        let table = try make()
        // Creating the table took much more memory than the table itself.
        if table.count > Self.largeTableCount { Malloc.trim() }
        state.withLock { state in
            state.tables.removeAll { $0.key == key }
            if state.tables.count >= Self.tableCountLimit { state.tables.removeFirst() }
            state.tables.append((key, table))
        }
        return table
    }

    /// An archive's size in bytes.
    func size(of key: Key, make: () throws(BackupError) -> UInt64) throws(BackupError) -> UInt64 {
        if let known = state.withLock({ $0.sizes[key] }) { return known }
        let size = try make()
        state.withLock { state in
            if state.sizes.count >= Self.sizeCountLimit { state.sizes.removeAll() }
            state.sizes[key] = size
        }
        return size
    }

    func hasChecksums(of inode: InodeNumber) -> Bool { state.withLock { $0.checksums[inode] != nil } }

    /// - Parameter make: also returns whether the checksums stay valid; others are not kept.
    func checksums(
        of inode: InodeNumber, make: () throws(BackupError) -> (checksums: Checksums, isLasting: Bool)
    ) throws(BackupError) -> Checksums {
        if let known = state.withLock({ $0.checksums[inode] }) { return known }
        let (checksums, isLasting) = try make()
        guard isLasting else { return checksums }
        state.withLock { state in
            if state.checksums.count >= Self.checksumCountLimit { state.checksums.removeAll() }
            state.checksums[inode] = checksums
        }
        return checksums
    }
}

/// The places of small files' bytes, looked up in the catalog for several neighbours at a time: programs read a folder's files
/// one after the other, and a query for sixty-four costs little more than a query for one.
final class ChunkLocationCache: Sendable {
    private struct Block: Sendable {
        let folder: InodeNumber
        let number: Int
        let expiryNanoseconds: UInt64
        let pieces: [[ContentPiece]]
    }

    private static let fileCount = 64
    private static let blockCountLimit = 16
    /// Packs may be rewritten meanwhile; an outdated place is noticed, but costs a search for each read.
    private static let lifetimeNanoseconds: UInt64 = 10_000_000_000
    /// A larger file is worth its own query.
    private static let smallFileBytes: UInt64 = 1 << 20

    private let blocks = Mutex<[Block]>([])

    /// - Throws: `repositoryDamaged` when a chunk of this file is missing; damage to its neighbours is not reported.
    func pieces(
        of index: Int, in directory: Directory, folder: InodeNumber, repository: Repository
    ) throws(BackupError) -> [ContentPiece] {
        let content = directory.entries[index].content
        guard Self.isSmall(content) else { return try repository.pieces(of: content) }
        let number = index / Self.fileCount
        let now = SystemClock.monotonicNanoseconds()
        if let known = blocks.withLock({ blocks in
            blocks.first { $0.folder == folder && $0.number == number && now < $0.expiryNanoseconds }?.pieces
        }) {
            return known[index % Self.fileCount]
        }
        let neighbours = directory.entries[(number * Self.fileCount)...].prefix(Self.fileCount).map { entry in
            entry.kind == .file && Self.isSmall(entry.content) ? entry.content : .empty
        }
        guard let pieces = try? repository.pieces(of: neighbours) else { return try repository.pieces(of: content) }
        let block = Block(
            folder: folder, number: number, expiryNanoseconds: now + Self.lifetimeNanoseconds, pieces: pieces)
        blocks.withLock { blocks in
            blocks.removeAll { $0.expiryNanoseconds <= now || $0.folder == folder && $0.number == number }
            if blocks.count >= Self.blockCountLimit { blocks.removeFirst() }
            blocks.append(block)
        }
        return pieces[index % Self.fileCount]
    }

    private static func isSmall(_ content: FileContent) -> Bool { content.size <= smallFileBytes && !content.hasLists }
}

/// A value derived from the list of snapshots, computed once for each list: with 10,000 backups, a listing uses the same one
/// 10,000 times.
final class SnapshotListCache<Value: Sendable>: Sendable {
    private let known = Mutex<(list: [Snapshot], value: Value)?>(nil)

    func value(for list: [Snapshot], _ make: ([Snapshot]) -> Value) -> Value {
        if let known = known.withLock({ $0 }), known.list.sharesStorage(with: list) { return known.value }
        let value = make(list)
        known.withLock { $0 = (list, value) }
        return value
    }
}

/// The files that show snapshots as one flat file each: `exports/` and `safety/`.
struct FlatFiles: Sendable {
    struct File: Sendable {
        let name: FileName
        let isArchive: Bool
        let snapshot: Snapshot
    }

    let files: [File]
    private let indices: [FileName: Int]

    /// - Parameter file: the name of a snapshot's file, which need not be unique, and whether it is the archive.
    init(_ snapshots: [Snapshot], _ file: (Snapshot) -> (name: String, isArchive: Bool)) {
        let described = snapshots.map(file)
        let names = UniqueFileNames.make(described.map(\.name))
        let files = snapshots.indices.map {
            File(name: FileName(names[$0]), isArchive: described[$0].isArchive, snapshot: snapshots[$0])
        }
        self.files = files
        indices = Dictionary(files.indices.map { (files[$0].name, $0) }) { first, _ in first }
    }

    func file(named name: FileName) -> File? {
        // File managers and shells probe for dozens of hidden names; no file has one.
        guard name.bytes.first != UInt8(ascii: "."), let index = indices[name] else { return nil }
        return files[index]
    }
}

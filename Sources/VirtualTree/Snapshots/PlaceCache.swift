import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// The places of small files' bytes, looked up in the catalog for several neighbours at a time: programs read a folder's files one after the other, and a query
/// for sixty-four costs little more than a query for one.
final class PlaceCache: Sendable {
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

import BackupCore
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
        if table.count > Self.largeTableCount { MemoryHeaps.giveBack() }
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

    func checksums(of inode: InodeNumber, make: () throws(BackupError) -> Checksums) throws(BackupError) -> Checksums {
        if let known = state.withLock({ $0.checksums[inode] }) { return known }
        let checksums = try make()
        state.withLock { state in
            if state.checksums.count >= Self.checksumCountLimit { state.checksums.removeAll() }
            state.checksums[inode] = checksums
        }
        return checksums
    }
}

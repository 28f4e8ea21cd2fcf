import BackupCore
import Synchronization

/// What was computed for generated files and is worth keeping: the newest archives' extent tables, and every checksum.
final class ArchiveCache: Sendable {
    private struct State {
        var tables: [(id: SnapshotID, table: ExtentTable)] = []
        var checksums: [InodeNumber: Checksums] = [:]
    }

    /// A table of 100,000 files takes tens of megabytes: only the last few are kept. Open files hold their own.
    private static let tableCountLimit = 2
    private static let checksumCountLimit = 10_000

    private let state = Mutex(State())

    func table(of id: SnapshotID, make: () throws(BackupError) -> ExtentTable) throws(BackupError) -> ExtentTable {
        if let known = state.withLock({ state in state.tables.first { $0.id == id }?.table }) { return known }
        // Made without the lock: two readers may both make it, which costs time and nothing else.
        let table = try make()
        state.withLock { state in
            state.tables.removeAll { $0.id == id }
            if state.tables.count >= Self.tableCountLimit { state.tables.removeFirst() }
            state.tables.append((id, table))
        }
        return table
    }

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

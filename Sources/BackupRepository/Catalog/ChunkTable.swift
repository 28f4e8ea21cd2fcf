import BackupCore
import Synchronization

/// All rows of a small catalog's table of chunks, for a backup that looks up many of them: reading the table once takes less time
/// than a query for every eighth of its rows.
///
/// It shows the catalog of one moment. A writer's lock keeps rows from being removed, and what the writer adds itself is not in
/// it: what is not found here has to be looked up in the catalog.
final class ChunkTable: Sendable {
    /// Of rows: about 5 MB of memory.
    static let rowLimit = 32 << 10

    /// By their names, as the catalog sorts them.
    private let rows: [(key: DigestKey, chunk: StoredChunk)]

    private init(_ rows: [(key: DigestKey, chunk: StoredChunk)]) { self.rows = rows }

    /// Calls `body` for each place where the chunk is stored.
    func run(_ id: ChunkID, _ body: (StoredChunk) throws(BackupError) -> Void) throws(BackupError) {
        let key = DigestKey(id.digest)
        var index = rows.partitioningIndex { $0.key.words >= key.words }
        while index < rows.count, rows[index].key.words == key.words {
            try body(rows[index].chunk)
            index += 1
        }
    }

    /// - Returns: `nil` for a catalog with more rows than the limit.
    static func read(_ catalog: Catalog) throws(BackupError) -> ChunkTable? {
        var rows: [(key: DigestKey, chunk: StoredChunk)] = []
        try catalog.forEachChunk { (key, chunk) in
            rows.append((key, chunk))
            return rows.count <= rowLimit
        }
        return rows.count <= rowLimit ? ChunkTable(rows) : nil
    }
}

/// Decides when a writer reads the table.
final class ChunkTableReading: Sendable {
    private struct State {
        var lookupCount = 0
        /// Of the catalog when the writer began; `nil` until it is needed.
        var rowCount: Int?
        var isBegun = false
        var table: ChunkTable?
    }

    /// One row is read in about this part of the time of a lookup.
    private static let rowsForLookup = 8
    private let state = Mutex(State())

    /// The table, once it pays for the lookups of a writer.
    /// - Parameter count: how many lookups come now.
    func table(for count: Int, _ catalog: Catalog) throws(BackupError) -> ChunkTable? {
        let (lookupCount, known, isBegun, table) = state.withLock { state in
            state.lookupCount += count
            return (state.lookupCount, state.rowCount, state.isBegun, state.table)
        }
        if isBegun { return table }
        let rowCount: Int
        if let known {
            rowCount = known
        } else {
            rowCount = Int(clamping: try catalog.totals().chunkCount)
            state.withLock { $0.rowCount = rowCount }
        }
        // The packs' rows, which this number is from, may say less than there is.
        guard rowCount <= ChunkTable.rowLimit, lookupCount * Self.rowsForLookup > rowCount else { return nil }
        // Of several threads, one reads it; the others look up what they need meanwhile.
        let isFirst = state.withLock { state in
            defer { state.isBegun = true }
            return !state.isBegun
        }
        guard isFirst else { return nil }
        let found = try ChunkTable.read(catalog)
        state.withLock { $0.table = found }
        return found
    }
}

import AppData
import BackupCore
import Synchronization
import SystemIO

/// Caches the statistics of the records in the newest state: computing them reads all records, and `ls -l` of the mountpoint asks each time.
final class StatisticsCache: Sendable {
    private struct Known {
        let state: DatabaseChangeState
        let mediaState: String?
        let collections: [CollectionStatistics]
    }

    /// Larger databases are not read for a status, which must be available immediately.
    static let databaseLimitBytes: UInt64 = 4 << 20

    private let known = Mutex<Known?>(nil)

    /// - Returns: `nil` for a database that is too large.
    func collections(of database: AppDatabase) throws(BackupError) -> [CollectionStatistics]? {
        let size = FileSystem.statusIfPresent(database.path)?.size ?? 0
        guard size <= Self.databaseLimitBytes else { return nil }
        let state = database.changeState()
        let countsFiles = database.definition.collections.contains { $0.source == .files }
        let mediaState = countsFiles ? try database.media?.state() : nil
        if let known = known.withLock({ $0 }), known.state == state, known.mediaState == mediaState { return known.collections }
        let collections = try RecordStatisticsDocument.collections(of: database)
        known.withLock { $0 = Known(state: state, mediaState: mediaState, collections: collections) }
        return collections
    }
}

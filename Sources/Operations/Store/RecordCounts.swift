import AppData
import BackupCore
import Synchronization

/// The number of records in a collection.
public struct RecordCount: Sendable, Equatable {
    /// The collection's name on the wire.
    public let name: String
    /// For display: "cars".
    public let plural: String
    public let count: Int
}

extension AppDatabase {
    /// The number of records of each collection, in the definition's order, as of one instant.
    public func counts() throws(BackupError) -> [RecordCount] {
        try readSnapshot { (snapshot) throws(BackupError) in try snapshot.counts() }
    }
}

extension DatabaseSnapshot {
    func counts() throws(BackupError) -> [RecordCount] {
        var counts: [RecordCount] = []
        // A manifest lists files, and counts nothing that the others do not.
        for (index, collection) in definition.collections.enumerated() where collection.source != .manifest {
            counts.append(
                RecordCount(name: collection.name, plural: collection.plural, count: try count(of: index)))
        }
        return counts
    }
}

/// Caches the counts of the newest state: SQLite walks a whole table to count it, and `ls -l` of the mountpoint asks each time.
final class RecordCountCache: Sendable {
    private struct Known {
        let state: DatabaseChangeState
        /// The state of the media folder, if files are records.
        let mediaState: String?
        let counts: [RecordCount]
    }

    private let known = Mutex<Known?>(nil)

    func counts(of database: AppDatabase) throws(BackupError) -> [RecordCount] {
        let state = database.changeState()
        let countsFiles = database.definition.collections.contains { $0.source == .files }
        let mediaState = countsFiles ? try database.media?.state() : nil
        if let known = known.withLock({ $0 }), known.state == state, known.mediaState == mediaState { return known.counts }
        let counts = try database.counts()
        known.withLock { $0 = Known(state: state, mediaState: mediaState, counts: counts) }
        return counts
    }
}

import BackupCore
import SystemIO

/// The connections of this process to one database with a write-ahead log: one that writes, and a few that read concurrently with
/// it and with each other.
package final class ConnectionPool: Sendable {
    private struct Readers {
        var idle: [DatabaseConnection] = []
        var openCount = 0
    }

    private let writer: Monitor<DatabaseConnection>
    private let readers = Monitor(Readers())
    private let readerLimit: Int
    private let openReader: (@Sendable () throws(BackupError) -> DatabaseConnection)?

    /// - Parameters:
    ///   - readerLimit: further readers wait.
    ///   - openReader: `nil` if all use the writer's connection: a database in memory has no other.
    package init(
        writer: sending DatabaseConnection, readerLimit: Int,
        openReader: (@Sendable () throws(BackupError) -> DatabaseConnection)?
    ) {
        self.writer = Monitor(writer)
        self.readerLimit = readerLimit
        self.openReader = openReader
    }

    /// The writer is the last to close the database: it can clean up the log.
    deinit { readers.withLock { $0.idle = [] } }

    /// Reads with single statements. Each of them sees a consistent state, so no transaction is needed.
    package func read<Result>(_ body: (DatabaseConnection) throws(BackupError) -> Result) throws(BackupError) -> Result {
        guard let openReader else { return try withWriter(body) }
        let idle = readers.wait(until: { !$0.idle.isEmpty || $0.openCount < readerLimit }) { readers in
            if readers.idle.isEmpty { readers.openCount += 1 }
            return readers.idle.popLast()
        }
        let reader: DatabaseConnection
        do throws(BackupError) {
            if let idle { reader = idle } else { reader = try openReader() }
        } catch {
            readers.changeWakingOne { $0.openCount -= 1 }
            throw error
        }
        defer { readers.changeWakingOne { $0.idle.append(reader) } }
        return try body(reader)
    }

    /// Reads in one transaction: all of it is of one moment.
    package func readTogether<Result>(
        _ body: (DatabaseConnection) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try read { (reader) throws(BackupError) in
            try reader.transaction(.deferred) { () throws(BackupError) in try body(reader) }
        }
    }

    /// Writes in one transaction, which takes the write lock at its start.
    package func write<Result>(_ body: (DatabaseConnection) throws(BackupError) -> Result) throws(BackupError) -> Result {
        try withWriter { (writer) throws(BackupError) in
            try writer.transaction(.immediate) { () throws(BackupError) in try body(writer) }
        }
    }

    /// The connection that writes, outside a transaction.
    package func withWriter<Result>(
        _ body: (DatabaseConnection) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try writer.withLock { writer in
            Swift.Result { () throws(BackupError) in try body(writer) }
        }.get()
    }
}

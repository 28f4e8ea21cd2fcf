import AppData
import BackupCore
import BackupRepository
import Export
import SystemIO

/// The store's state: `status.json` and `backupfs status`.
public struct StatusDocument: Sendable {
    public let json: OrderedJSON
    /// For people, a line each.
    public let lines: [String]

    public init(of store: Store) throws(BackupError) {
        try store.repository.refresh()
        let snapshots = store.repository.snapshots(kind: .snapshot)
        let safety = store.repository.snapshots(kind: .safety)
        let newest = snapshots.last
        let isRunning = store.isOperationRunning
        let operation = isRunning ? store.monitor.currentOperation() ?? Self.recorded(store.monitor.recordedText()) : nil
        let failure = Self.recorded(store.monitor.lastFailureText())
        // A database that is lost or locked is part of the state, and no reason to tell none.
        let counts: [RecordCount]?
        var problem: BackupError?
        do {
            counts = try store.counts()
        } catch {
            counts = nil
            problem = error
        }
        let retention = store.definition.retention

        json = .members([
            "app": .text(store.definition.name),
            "title": .text(store.definition.title),
            "store": .text(store.paths.root),
            "state": .text(isRunning ? "running" : "idle"),
            "operation": operation ?? .null,
            "lastBackup": newest.map(Self.describe) ?? .null,
            "nextBackup": .null,
            "snapshotCount": .integer(snapshots.count),
            "safetyBackupCount": .integer(safety.count),
            "records": counts.map { .object($0.map { .init($0.name, .integer($0.count)) }) } ?? .null,
            "databaseError": .optional(problem?.description),
            "retention": .members([
                "keepLast": retention.keepLast.map { .integer($0) } ?? .null,
                "keepWithinDays": retention.keepWithinDays.map { .integer($0) } ?? .null,
                "safetyKeepLast": .integer(retention.safetyKeepLast),
            ]),
            "remote": .null,
            "lastError": failure ?? .null,
        ])
        var lines = ["\(store.definition.title) (\(store.definition.name))", "Store: \(store.paths.root)"]
        if let newest {
            lines.append("Last backup: \(SystemClock.localText(newest.creationTime)) (\(newest.name))")
        } else {
            lines.append("Last backup: never")
        }
        lines.append("Backups: \(snapshots.count)")
        lines.append("Safety backups: \(safety.count)")
        if let counts { lines.append("Records: " + counts.map { "\($0.count) \($0.plural)" }.joined(separator: ", ")) }
        if let problem { lines.append("Records: cannot be read: \(problem)") }
        lines.append(isRunning ? "Running: \(store.monitor.recordedOperation() ?? "an operation")" : "Nothing is running.")
        self.lines = lines
    }

    private static func describe(_ snapshot: Snapshot) -> OrderedJSON {
        .members([
            "name": .text(snapshot.name.description), "createdAt": .text(ISO8601.format(snapshot.creationTime.wholeSeconds)),
            "id": .text(snapshot.id.hexadecimal), "sizeBytes": .integer(snapshot.record.root.totals.byteCount),
        ])
    }

    /// A document that this program wrote, as it is.
    private static func recorded(_ text: [UInt8]?) -> OrderedJSON? {
        text.flatMap { OrderedJSON.verbatim($0) }
    }
}

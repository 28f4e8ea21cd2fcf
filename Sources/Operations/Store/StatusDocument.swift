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
        let next = AutomaticBackup(store: store).next(now: SystemClock.now())

        json = .members([
            "app": .text(store.definition.name),
            "title": .text(store.definition.title),
            "store": .text(store.paths.root),
            "state": .text(isRunning ? "running" : "idle"),
            "operation": operation ?? .null,
            "lastBackup": newest.map(Self.describe) ?? .null,
            "schedule": .text(store.schedule.text),
            "nextBackup": .optional(next.map { ISO8601.format($0.wholeSeconds) }),
            "snapshotCount": .integer(snapshots.count),
            "safetyBackupCount": .integer(safety.count),
            "records": counts.map { .object($0.map { .init($0.name, .integer($0.count)) }) } ?? .null,
            "databaseError": .optional(problem?.description),
            "retention": Self.retention(store),
            "remote": .null,
            "lastError": failure ?? .null,
            "history": .array(OperationHistory.latest(of: store).map(\.historyJSON)),
        ])
        var lines = ["\(store.definition.title) (\(store.definition.name))", "Store: \(store.paths.root)"]
        if let newest {
            lines.append("Last backup: \(SystemClock.localText(newest.creationTime)) (\(newest.name))")
        } else {
            lines.append("Last backup: never")
        }
        if let next { lines.append("Next backup: \(SystemClock.localText(next)) (\(store.schedule.text))") }
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
    /// What is kept: by the settings if they say, else by the definition.
    private static func retention(_ store: Store) -> OrderedJSON {
        let settings = store.settings.retention
        let definition = store.definition.retention
        let isOwn = !settings.policy.isEmpty
        let rule = settings.policy.description.map { OrderedJSON.Member($0.name, .text($0.value)) }
        return .members([
            "on": .boolean(settings.isOn), "counts": .text((settings.counted ?? definition.counted).rawValue),
            "keepLast": isOwn ? .null : definition.keepLast.map { .integer($0) } ?? .null,
            "keepWithinDays": isOwn ? .null : definition.keepWithinDays.map { .integer($0) } ?? .null,
            "settings": isOwn ? .object(rule) : .null, "safetyKeepLast": .integer(definition.safetyKeepLast),
        ])
    }

    private static func recorded(_ text: [UInt8]?) -> OrderedJSON? {
        text.flatMap { OrderedJSON.verbatim($0) }
    }
}

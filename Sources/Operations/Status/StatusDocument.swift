import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// The store's state for programs: `status.json` and `backupfs status --json`.
public struct StatusDocument: Sendable {
    public let json: OrderedJSON

    /// - Parameter isPatient: as for `StoreState`.
    public init(of store: Store, isPatient: Bool = true) throws(BackupError) {
        self.init(try StoreState(of: store, isPatient: isPatient), of: store)
    }

    /// - Parameter state: of this store, from a moment ago.
    public init(_ state: StoreState, of store: Store) {
        let history = state.history.map(\.historyJSON)
        let records = state.counts.map { counts -> OrderedJSON in
            .object(counts.map { OrderedJSON.Member($0.name, .integer($0.count)) })
        }
        let removedCount: OrderedJSON = state.removedBackupCount.map { .integer($0) } ?? .null
        json = .members([
            "app": .text(store.definition.name),
            "title": .text(store.definition.title),
            "store": .text(store.paths.root),
            "state": .text(state.isRunning ? "running" : "idle"),
            "operation": state.operation?.json ?? .null,
            "lastBackup": state.newest.map { Self.describe($0, state.warnings) } ?? .null,
            "schedule": .text(state.schedule),
            "scheduleSwitchedOffBy": .optional(state.scheduleSwitchedOffBy),
            "nextBackup": .optional(state.nextBackup.map { ISO8601.format($0.wholeSeconds) }),
            "snapshotCount": .integer(state.snapshots.count),
            "otherSnapshotCount": .integer(state.otherSnapshotCount),
            "source": .text(state.source.hexadecimal),
            "adopted": .boolean(state.isQuiet),
            "successor": .optional(state.successorNotice?.english),
            "safetyBackupCount": .integer(state.safetyBackupCount),
            "removedBackupCount": removedCount,
            "repositoryError": .optional(state.repositoryError?.description),
            "repositoryAsOf": .optional(state.repositoryError.map { _ in ISO8601.format(state.repositoryTime.wholeSeconds) }),
            "leftFileCount": .integer(state.leftFileCount),
            "records": records ?? .null,
            "statistics": state.statistics?.json ?? .null,
            "databaseError": .optional(state.databaseError?.description),
            "retention": Self.retention(store),
            "remote": .null,
            "lastError": state.failure?.json ?? .null,
            "history": .array(history),
        ])
    }

    private static func describe(_ snapshot: Snapshot, _ warnings: [Message]) -> OrderedJSON {
        .members([
            "name": .text(snapshot.name.description), "createdAt": .text(ISO8601.format(snapshot.creationTime.wholeSeconds)),
            "id": .text(snapshot.id.hexadecimal), "sizeBytes": .integer(snapshot.record.root.totals.byteCount),
            "warnings": .array(warnings.map { .text($0.english) }),
        ])
    }

    /// The retention rule: from the settings if they have one, else from the definition.
    private static func retention(_ store: Store) -> OrderedJSON {
        let settings = store.settings.retention
        let definition = store.definition.retention
        let isOwn = !settings.policy.isEmpty
        let rule = settings.policy.description.map { OrderedJSON.Member($0.name, .text($0.value)) }
        return .members([
            "on": .boolean(settings.isOn), "counts": .text((settings.counted ?? definition.counted).rawValue),
            "keepLast": isOwn ? .null : definition.keepLast.map { .integer($0) } ?? .null,
            "keepWithinDays": isOwn ? .null : definition.keepWithinDays.map { .integer($0) } ?? .null,
            "undeleteDays": .integer(settings.undeleteDays),
            "settings": isOwn ? .object(rule) : .null, "safetyKeepLast": .integer(definition.safetyKeepLast),
        ])
    }
}

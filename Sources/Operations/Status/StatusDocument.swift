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
            .object(counts.map { OrderedJSON.Member($0.name, $0.count) })
        }
        json = [
            "app": store.definition.name, "title": store.definition.title, "store": store.paths.root,
            "state": state.isRunning ? "running" : "idle", "operation": state.operation,
            "lastBackup": state.newest.map { Self.describe($0, state.warnings) }, "schedule": state.schedule,
            "scheduleSwitchedOffBy": state.scheduleSwitchedOffBy,
            "schedulePausedUntil": state.schedulePausedUntil?.wholeSeconds, "nextBackup": state.nextBackup?.wholeSeconds,
            "snapshotCount": state.snapshots.count, "otherSnapshotCount": state.otherSnapshotCount,
            "source": state.source.hexadecimal, "adopted": state.isQuiet, "successor": state.successorNotice,
            "safetyBackupCount": state.safetyBackupCount, "removedBackupCount": state.removedBackupCount,
            "repositoryError": state.repositoryError?.description,
            "repositoryAsOf": state.repositoryError.map { _ in state.repositoryTime.wholeSeconds },
            "leftFileCount": state.leftFileCount, "records": records, "statistics": state.statistics,
            "databaseError": state.databaseError?.description, "retention": Self.retention(store), "remotes": state.remotes,
            "deviceSync": state.deviceSync, "photos": state.photos,
            "lastError": state.failure, "history": history,
        ]
    }

    private static func describe(_ snapshot: Snapshot, _ warnings: [Message]) -> OrderedJSON {
        [
            "name": snapshot.name, "createdAt": snapshot.creationTime.wholeSeconds, "id": snapshot.id,
            "sizeBytes": snapshot.dataSizeBytes, "warnings": warnings,
        ]
    }

    /// The retention rule: from the settings if they have one, else from the definition.
    private static func retention(_ store: Store) -> OrderedJSON {
        let settings = store.settings.retention
        let definition = store.definition.retention
        let isOwn = !settings.policy.isEmpty
        let rule = settings.policy.description.map { OrderedJSON.Member($0.name, $0.value) }
        return [
            "on": settings.isOn, "counts": (settings.counted ?? definition.counted).rawValue,
            "keepLast": isOwn ? nil : definition.keepLast, "keepWithinDays": isOwn ? nil : definition.keepWithinDays,
            "undeleteDays": settings.undeleteDays, "settings": isOwn ? OrderedJSON.object(rule) : .null,
            "safetyKeepLast": definition.safetyKeepLast,
        ]
    }
}

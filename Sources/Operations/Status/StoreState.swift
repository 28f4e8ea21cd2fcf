import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// The state of a store for users, programs and monitors: gathered once, so that all reports agree.
public struct StoreState: Sendable {
    public let definition: AppDefinition
    /// Absolute.
    public let storePath: String
    /// Absolute.
    public let repositoryPath: String
    /// When the state was gathered.
    public let now: Timestamp
    /// This store's own backups, in order of creation.
    public let snapshots: [Snapshot]
    /// The line of backups that the store makes.
    public let source: SourceID
    /// The warnings of the newest backup.
    public let warnings: [Message]
    /// The number of other stores' backups in the repository.
    public let otherSnapshotCount: Int
    /// Whether the store has adopted a source and waits for its first restore or backup.
    public let isQuiet: Bool
    /// The notice about the store that continues this one's backups; `nil` while this one does.
    public let successorNotice: Message?
    /// Why the repository cannot be examined: it does not respond, or is gone. The facts about backups are then the last known
    /// ones.
    public private(set) var repositoryError: BackupError?
    /// When the repository was examined.
    public let repositoryTime: Timestamp
    /// Number of the safety backups of this store.
    public let safetyBackupCount: Int
    /// This store's removed backups that can be brought back; `nil` when that cannot be determined.
    public let removedBackupCount: Int?
    /// Files that were copied into the mount's `restore/` and neither restored nor refused; they are kept.
    public let leftFileCount: Int
    /// Path of the folder that has them.
    public let leftFilesPath: String
    /// Whether an operation runs now, in any process.
    public let isRunning: Bool
    /// `nil` when no operation runs, or it has not yet recorded its kind.
    public let operation: OperationState?
    /// As in the settings: `daily`, `off`.
    public let schedule: String
    /// `nil` when no backup is scheduled.
    public let nextBackup: Timestamp?
    /// The app's own setting that has turned the schedule off.
    public let scheduleSwitchedOffBy: String?
    /// When a pause of the schedule ends; `nil` if there is none.
    public let schedulePausedUntil: Timestamp?
    /// How many of the schedule's backups have failed in a row.
    public let automaticFailureCount: Int
    /// `nil` when the database cannot be read; `databaseError` is then the reason.
    public let counts: [RecordCount]?
    /// Why the records cannot be read; `nil` when they can.
    public let databaseError: BackupError?
    /// `nil` when the database cannot be read, or is too large to be read for this.
    public let statistics: StatusStatistics?
    /// The last operation that failed, also when the same one has succeeded since.
    public let failure: FailedOperation?
    /// The places where copies of the repository lie, in the order of the settings.
    public let remotes: [RemoteStatus]
    /// The exchange of changes with other devices; `nil` when the settings name no remote for it.
    public let deviceSync: DeviceSyncStatus?
    /// The stars; `nil` without any. Read with the rest, since the store may lie on storage that stalls.
    let photos: PhotoState?
    /// The last operations, oldest first.
    public let history: [OperationRecord]
    /// The backups that were made among the last 200 operations, oldest first.
    let madeBackups: [OperationRecord]
    /// The reports that there are, by name without extension.
    let reportNames: Set<String>
    /// What the newest backups changed, newest first; empty until the page was asked for.
    let newestChanges: [NewestChanges.Backup]

    private static let examinedOperationCount = 200
    private static let shownOperationCount = 20

    /// The newest backup; `nil` when there is none.
    public var newest: Snapshot? { snapshots.last }

    /// - Parameters:
    ///   - isPatient: whether the caller can wait for the app's database and for the repository. Otherwise the last known facts
    ///     may be used.
    ///   - asksDatabase: whether to read the app's database.
    public init(of store: Store, isPatient: Bool = true, asksDatabase: Bool = true) throws(BackupError) {
        let repository = isPatient ? try store.statusRepository.read(store) : store.statusRepository.facts(store)
        definition = store.definition
        storePath = store.paths.root
        repositoryPath = store.repositoryLocation
        now = SystemClock.now()
        snapshots = repository.snapshots
        source = store.source
        warnings = snapshots.last.map(store.warnings) ?? []
        otherSnapshotCount = repository.otherSnapshotCount
        isQuiet = store.isQuiet
        successorNotice = repository.successorNotice
        repositoryError = repository.problem
        repositoryTime = repository.time
        safetyBackupCount = repository.safetyBackupCount
        removedBackupCount = repository.removedBackupCount
        leftFilesPath = store.paths.leftFiles
        leftFileCount = (try? DirectoryHandle(path: leftFilesPath).names().count) ?? 0
        isRunning = store.isOperationRunning
        operation =
            isRunning
            ? store.monitor.currentOperation() ?? store.monitor.recordedText().flatMap { OperationState(recorded: $0) } : nil
        schedule = store.schedule.text
        let automatic = AutomaticBackup(store: store)
        automaticFailureCount = automatic.failureCount(now: now)
        remotes = store.settings.remotes.map {
            RemoteStatus($0, store.paths, own: repository.snapshots, source: store.source)
        }
        deviceSync = DeviceSyncStatus(store)
        photos = PhotoState(store)
        let operations = OperationHistory.latest(Self.examinedOperationCount, of: store)
        history = operations.suffix(Self.shownOperationCount)
        madeBackups = operations.filter { $0.operation == .backup && $0.result == .ok }
        reportNames = Set((try? ReportFolder(store.paths).names()) ?? [])
        newestChanges = repository.problem == nil ? store.newestChanges.read(snapshots, in: store.repository) : []
        failure = FailedOperation(store.paths)
        // A lost or locked database is part of the state, not a reason to fail.
        let records = asksDatabase ? store.statusRecords.facts(isPatient ? .command : .mount) : store.statusRecords.remembered
        counts = records.counts
        statistics = records.statistics
        databaseError = records.problem
        scheduleSwitchedOffBy = records.isScheduleSwitchedOff ? store.scheduleSwitchName : nil
        let paused = store.schedulePausedUntil(now)
        schedulePausedUntil = paused
        nextBackup = scheduleSwitchedOffBy == nil ? automatic.next(now: now).map { max($0, paused ?? $0) } : nil
    }

    /// The state as known without the store's storage, which has not responded since the store was opened.
    public init(remembering store: Store, _ error: BackupError) {
        let identity = store.identityFile.remembered
        let own = store.ownAsRemembered(store.repository.snapshots())
        definition = store.definition
        storePath = store.paths.root
        repositoryPath = store.repositoryLocation
        now = SystemClock.now()
        snapshots = own.filter { $0.kind == .snapshot }
        source = identity.source
        warnings = []
        otherSnapshotCount = store.repository.snapshots(kind: .snapshot).count - snapshots.count
        isQuiet = identity.isQuiet
        successorNotice = nil
        repositoryError = error
        repositoryTime = store.openingTime
        safetyBackupCount = own.count { $0.kind == .safety }
        removedBackupCount = nil
        leftFilesPath = store.paths.leftFiles
        leftFileCount = 0
        isRunning = store.monitor.isRunning
        operation = store.monitor.currentOperation()
        schedule = store.schedule.text
        automaticFailureCount = 0
        remotes = []
        deviceSync = nil
        photos = nil
        history = []
        madeBackups = []
        reportNames = []
        newestChanges = []
        failure = nil
        let records = store.statusRecords.remembered
        counts = records.counts
        statistics = records.statistics
        databaseError = records.problem
        scheduleSwitchedOffBy = records.isScheduleSwitchedOff ? store.scheduleSwitchName : nil
        schedulePausedUntil = store.schedulePausedUntil(now)
        nextBackup = nil
    }

    /// The same when not even the store responds: everything is as last known.
    public func unanswered(_ error: BackupError) -> StoreState {
        var state = self
        state.repositoryError = error
        return state
    }

    /// Whether an operation has failed, and has not succeeded since.
    public var hasFailed: Bool { failure?.isOver == false }
}

/// The last operation of a store that failed.
public struct FailedOperation: JSONConvertible, Sendable {
    /// The operation's name.
    public let name: String
    /// When it ended.
    public let at: Timestamp
    /// The raw value of a `BackupError.Code`.
    public let code: String
    public let message: Message
    /// The command that repeats it; `nil` if there is none.
    public let retry: String?
    /// Whether the same operation has succeeded since.
    public let isOver: Bool
    /// The original record.
    public let json: OrderedJSON

    /// - Returns: `nil` when none has failed.
    init?(_ paths: StorePaths) {
        let monitor = OperationMonitor(recordPath: paths.operationRecord, errorPath: paths.lastErrorRecord)
        guard let text = monitor.lastFailureText() else { return nil }
        let values = JSONMembers(text)
        guard let json = OrderedJSON.verbatim(text), let name = values.text("operation"),
            let at = values.time("at"), let code = values.text("code")
        else { return nil }
        self.name = name
        self.at = at
        self.code = code
        message = Message(stringLiteral: values.text("message") ?? "")
        retry = values.text("retry")
        self.json = json
        let kind = name == OperationKind.automaticBackupName ? .backup : OperationKind(rawValue: name)
        isOver = kind.map { (try? OperationHistory(path: paths.history).hasSucceeded($0, since: at, code)) ?? false } ?? false
    }

    /// The failure of the store at `path`, without opening the store.
    /// - Throws: `noRepository` when there is no store; `notPermitted` when it must not be trusted: the reported command may be
    ///   run.
    public static func of(storeAt path: String) throws(BackupError) -> FailedOperation? {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        return FailedOperation(paths)
    }
}

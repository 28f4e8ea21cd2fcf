import AppData
import BackupCore
import BackupRepository
import Export
import SystemIO

/// What is told of a store, to people, to programs and to monitors: gathered once, so that all of them tell the same.
public struct StoreState: Sendable {
    public let definition: AppDefinition
    public let storePath: String
    public let repositoryPath: String
    /// When it was looked at.
    public let now: Timestamp
    /// This store's own backups, in the order in which they were made.
    public let snapshots: [Snapshot]
    /// The line of backups that the store makes.
    public let source: SourceID
    /// What the newest one has to say.
    public let warnings: [Message]
    /// Backups that other stores have in the repository.
    public let otherSnapshotCount: Int
    /// Whether the store has adopted a source and waits for its first restore or backup.
    public let isQuiet: Bool
    /// What to say of the store that continues this one's backups; `nil` while this one does.
    public let successorNotice: Message?
    /// Why the repository cannot be looked at: it does not answer, or is gone. What is told of backups is then what was known before.
    public private(set) var repositoryError: BackupError?
    /// When the repository was looked at.
    public let repositoryTime: Timestamp
    public let safetyBackupCount: Int
    /// This store's backups that were removed and can be brought back; `nil` when that cannot be looked up.
    public let removedBackupCount: Int?
    /// Files that were copied into the mount's `restore/` and never restored nor refused; they are kept.
    public let leftFileCount: Int
    public let leftFilesPath: String
    public let isRunning: Bool
    /// `nil` when none runs, or one that has not said yet what it is.
    public let operation: OperationState?
    public let schedule: String
    public let nextBackup: Timestamp?
    /// The app's own setting that has switched the schedule off.
    public let scheduleSwitchedOffBy: String?
    /// How many of the schedule's backups have failed in a row.
    public let automaticFailureCount: Int
    /// `nil` when the database cannot be read: then `databaseError` tells why.
    public let counts: [RecordCount]?
    public let databaseError: BackupError?
    /// `nil` when the database cannot be read, or is too large to be gone through for that.
    public let statistics: StatusStatistics?
    public let failure: FailedOperation?
    /// The last operations, oldest first.
    public let history: [OperationRecord]

    public var newest: Snapshot? { snapshots.last }

    /// - Parameters:
    ///   - isPatient: whether the caller can wait for the app's database and for the repository. Otherwise it may be what was known before.
    ///   - asksDatabase: whether the app's database is looked at.
    public init(of store: Store, isPatient: Bool = true, asksDatabase: Bool = true) throws(BackupError) {
        let repository = isPatient ? try store.statusRepository.read(store) : store.statusRepository.facts(store)
        definition = store.definition
        storePath = store.paths.root
        repositoryPath = store.paths.resolve(store.settings.repositoryPath)
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
        leftFileCount = (try? DirectoryReader(path: leftFilesPath).names().count) ?? 0
        isRunning = store.isOperationRunning
        operation =
            isRunning
            ? store.monitor.currentOperation() ?? store.monitor.recordedText().flatMap { OperationState(recorded: $0) } : nil
        schedule = store.schedule.text
        let automatic = AutomaticBackup(store: store)
        automaticFailureCount = automatic.failureCount(now: now)
        history = OperationHistory.latest(of: store)
        failure = FailedOperation(store.paths)
        // A database that is lost or locked is part of the state, and no reason to tell none.
        let records = asksDatabase ? store.statusRecords.facts(isPatient ? .command : .mount) : store.statusRecords.remembered
        counts = records.counts
        statistics = records.statistics
        databaseError = records.problem
        scheduleSwitchedOffBy = records.isScheduleSwitchedOff ? store.scheduleSwitchName : nil
        nextBackup = scheduleSwitchedOffBy == nil ? automatic.next(now: now) : nil
    }

    /// What is known without its storage, which has not answered since it was opened.
    public init(remembering store: Store, _ error: BackupError) {
        let identity = store.identityFile.remembered
        let own = store.ownAsRemembered(store.repository.snapshots())
        definition = store.definition
        storePath = store.paths.root
        repositoryPath = store.paths.resolve(store.settings.repositoryPath)
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
        history = []
        failure = nil
        let records = store.statusRecords.remembered
        counts = records.counts
        statistics = records.statistics
        databaseError = records.problem
        scheduleSwitchedOffBy = records.isScheduleSwitchedOff ? store.scheduleSwitchName : nil
        nextBackup = nil
    }

    /// The same when not even the store answers: all of it is what was known before.
    public func unanswered(_ error: BackupError) -> StoreState {
        var state = self
        state.repositoryError = error
        return state
    }

    /// Whether something has failed, and has not gone well since.
    public var hasFailed: Bool { failure?.isOver == false }
}

import AppData
import BackupCore
import BackupRepository
import Glibc
import Photos
import Restore
import Synchronization
import SystemIO

/// The folder that ties everything together: settings, spool, journal and, by default, the repository and the app's own data.
public final class Store: Sendable {
    public let paths: StorePaths
    private let currentSettings: Mutex<StoreSettings>
    private let recoveryFailure = Mutex<BackupError?>(nil)
    public let definition: AppDefinition
    public let database: AppDatabase
    public let repository: Repository
    /// The name of the remote whose copy of the repository is read; `nil` for the store's own repository.
    public let remoteName: String?
    /// Where the repository is, for messages.
    public let repositoryLocation: String
    /// Why what is known of a repository or copy elsewhere may not be the newest; `nil` when it is, and for a folder.
    public let staleness: BackupError?
    /// The app's media folder, if it has one.
    public let mediaPath: String?
    private let countCache = RecordsCache { (database) throws(BackupError) in try database.counts() }
    let statusRecords: StatusRecords
    let statusRepository: StatusRepository
    let newestChanges = NewestChanges()
    /// When the repository was first read, or shortly before.
    let openingTime = SystemClock.now()
    let scheduleSwitch = ScheduleSwitch()
    let logOverrides: LogOverrides
    /// The starred photos, for questions that come often.
    public let starList: StarList
    let ownership: SnapshotOwnership
    /// The running operation, for `status.json`.
    public let monitor: OperationMonitor

    /// The paths of a store whose settings can be believed.
    /// - Throws: `noRepository`, `notPermitted`.
    static func trusted(_ path: String) throws(BackupError) -> StorePaths {
        let paths = StorePaths(root: path)
        guard try FileSystem.exists(paths.settings) else { throw notThere(path) }
        try StoreTrust.check(paths)
        return paths
    }

    static func notThere(_ path: String) -> BackupError {
        BackupError(
            .noRepository, "there is no backupfs store here", path: path,
            remedy: "Make one with: backupfs init --store \(path)")
    }

    /// For `open`.
    init(paths: StorePaths, log: LogOverrides, access: RepositoryAccess) throws(BackupError) {
        self.paths = paths
        starList = StarList(QueueFolder(root: paths.photos))
        logOverrides = log
        let settings = try StoreSettings.read(paths.settings)
        currentSettings = Mutex(settings)
        definition = try Self.definition(settings.app, in: paths)
        staleness = access.staleness
        remoteName = access.remoteName
        let repositoryPath = access.path
        repositoryLocation = access.location
        let isOfCopy = access.remoteName != nil
        // Before anything in the repository is trusted, and before its password is requested.
        let identityFile = try StoreIdentityFile(
            paths.identity, repository: try Repository.facts(at: repositoryPath), repositoryPath: settings.repositoryPath,
            resolvedPath: repositoryPath, isOfCopy: isOfCopy)
        repository = try access.open()
        try identityFile.identity.check(repository.facts, at: repositoryPath)
        ownership = SnapshotOwnership(identityFile: identityFile, app: definition.name)
        if identityFile.isNew, !isOfCopy {
            try Self.findSource(identityFile, repository, app: definition.name, store: paths.root)
        }
        mediaPath = settings.mediaPath.map { paths.resolve($0) }
        let newest = NewestMediaCatalog(repository: repository, ownership: ownership)
        let databasePath = paths.resolve(settings.databasePath)
        var media: LiveMediaCatalog?
        if let mediaPath, definition.describesMedia {
            media = LiveMediaCatalog(
                path: mediaPath, amongMedia: try DatabaseAmongMedia(database: databasePath, media: mediaPath),
                earlier: newest.catalog)
        }
        // It may be lost or damaged: that is when the backups are needed.
        database = AppDatabase(at: databasePath, definition: definition, media: media)
        // A bad path in the settings is handled elsewhere: see `log`.
        if let path = log.path {
            try OutputPaths(
                database: databasePath, media: mediaPath, store: paths, repository: repositoryPath
            ).check(path, isLog: true)
        }
        statusRecords = StatusRecords(database, scheduleSwitch)
        statusRepository = StatusRepository(repository.patience)
        monitor = OperationMonitor(recordPath: paths.operationRecord, errorPath: paths.lastErrorRecord)
        for folder in [paths.spool, paths.restoreReports] { try FileSystem.makeDirectories(folder) }
        CacheDirectoryTag.mark(paths.spool)
    }

    /// The current values in `store.yaml`, except for those that are fixed when the store is opened.
    public var settings: StoreSettings { currentSettings.withLock { $0 } }

    var identityFile: StoreIdentityFile { ownership.identityFile }
    var identity: StoreIdentity { identityFile.identity }

    /// A command line of this program for this store.
    /// - Parameter operands: arguments that may begin with a hyphen.
    func command(_ words: [String], _ operands: [String] = []) -> String {
        ShellWords.text(
            of: ["backupfs"] + words + ["--store=\(paths.root)"] + (operands.isEmpty ? [] : ["--"] + operands))
    }

    /// The language for users: README.txt, last.txt, and the output of commands.
    public var language: Language { settings.language ?? .ofEnvironment() }

    /// The schedule of automatic backups.
    public var schedule: Schedule { settings.effectiveSchedule(definition) }

    /// How long `mkdir` in a mount waits for its backup.
    public var makeDirectoryWait: MakeDirectoryWait { .ofEnvironment ?? settings.makeDirectoryWait }

    /// Reads the settings again. Those fixed at opening stay: app, database, media folder, repository. Settings that are
    /// unreadable or cut off change nothing; `backupfs config check` reports why.
    public func reloadSettings() {
        guard let read = try? StoreSettings.read(paths.settings) else { return }
        currentSettings.withLock { settings in
            let opened = settings
            if opened.hasEnd, !read.hasEnd { return }
            settings = read
            settings.app = opened.app
            settings.databasePath = opened.databasePath
            settings.mediaPath = opened.mediaPath
            settings.repositoryPath = opened.repositoryPath
            settings.primaryOptions = opened.primaryOptions
        }
    }

    /// The definition of a built-in app, or from a file in the store.
    static func definition(_ app: String, in paths: StorePaths) throws(BackupError) -> AppDefinition {
        guard app.hasSuffix(".yaml") else { return try AppDefinition.builtIn(named: app) }
        return try AppDefinitionSource.file(paths.resolve(app)).load()
    }

    /// Whether a status in this process has read the app's records, or knows why they are unreadable.
    public var hasReadRecords: Bool { statusRecords.isKnown }

    /// The current number of records in each collection.
    public func counts() throws(BackupError) -> [RecordCount] { try countCache.value(of: database) }

    /// Locks the store for a user's operation; released with the value. A running automatic backup gives way.
    /// - Throws: `busy` when another operation, in this process or another, runs for longer than the user is willing to wait.
    func lockForOperation() throws(BackupError) -> AdvisoryLock {
        try LockTimeout.waiting { () throws(BackupError) in try lockAtOnce() }
    }

    private func lockAtOnce() throws(BackupError) -> AdvisoryLock {
        let end = SystemClock.monotonicNanoseconds() + Self.yieldingTimeoutNanoseconds
        var hasAsked = false
        while true {
            do {
                return try lockWithoutPreempting()
            } catch let error where error.code == .busy {
                if !hasAsked { hasAsked = endAutomaticBackup() }
                guard hasAsked, SystemClock.monotonicNanoseconds() < end else { throw error }
                usleep(20_000)
            }
        }
    }

    private static let yieldingTimeoutNanoseconds: UInt64 = 10_000_000_000

    /// - Returns: whether an automatic backup is running; it has then been asked to end.
    private func endAutomaticBackup() -> Bool {
        if monitor.cancel(OperationKind.automaticBackupName) { return true }
        guard isOperationRunning, monitor.recordedOperation() == OperationKind.automaticBackupName else { return false }
        return RunningOperation(paths: paths)?.cancel() ?? false
    }

    /// The same for an automatic operation: no other operation gives way to it.
    /// - Throws: `busy` while another operation runs, in this process or another.
    func lockWithoutPreempting() throws(BackupError) -> AdvisoryLock {
        do {
            let lock = try AdvisoryLock(path: paths.operationLock)
            // For processes that find the lock held; without use afterwards.
            let note = LockHolder(lock: "operation.lock", isExclusive: true, operation: "operation").encode()
            try? FileSystem.overwrite(paths.operationLock, note)
            return lock
        } catch let error where error.code == .busy {
            let running = monitor.recordedOperation() ?? "operation"
            let note = try? FileSystem.readFile(paths.operationLock, limitBytes: 1 << 16)
            let holder = note.flatMap { LockHolder(decoding: $0) }?.renamed(running).text ?? .verbatim(running)
            throw BackupError(
                .busy, "another operation is running: \(holder)",
                path: paths.root, remedy: "Wait until it has finished and try again.")
        }
    }

    /// Whether any process runs an operation now. If that is unknown, assumes so.
    public var isOperationRunning: Bool { (try? AdvisoryLock.isHeld(path: paths.operationLock)) != false }

    /// Finishes or undoes a restore that a crash interrupted, and removes what operations left behind. While another process
    /// works, all of it belongs to that process.
    func recover() throws(BackupError) {
        // Usually there is nothing to do, and an unnecessary lock would make another process's backup fail.
        let leftovers = try WorkFolder.abandoned(in: paths.spool).union(paths.operationDrafts())
        var mustRecover = !leftovers.isEmpty
        for path in [paths.restoreJournal, paths.hookRecord, paths.operationRecord] where !mustRecover {
            mustRecover = try FileSystem.exists(path)
        }
        guard mustRecover, let lock = try? lockWithoutPreempting() else { return }
        try withExtendedLifetime(lock) { () throws(BackupError) in
            do throws(BackupError) {
                try recoverRestore()
                recoveryFailure.withLock { $0 = nil }
            } catch {
                recoveryFailure.withLock { $0 = error }
            }
            for record in RecreationRecord.abandoned(in: paths.spool) { record.clearAway() }
            try WorkFolder.sweep(paths.spool)
            // The record of the crashed operation: it must not be mistaken for the next one's.
            try FileSystem.removeFile(paths.operationRecord)
            // With the lock held, no process writes them any more.
            for draft in try paths.operationDrafts() { try FileSystem.removeFile(draft) }
        }
    }

    /// Why an interrupted restore could be neither finished nor undone when the store was opened; `nil` if there is none. Backups
    /// remain readable meanwhile, but the app's data cannot be used: each operation that begins on it tries again to finish the
    /// restore.
    public var unfinishedRestore: BackupError? {
        guard (try? FileSystem.exists(paths.restoreJournal)) != false, let failure = recoveryFailure.withLock({ $0 }) else {
            return nil
        }
        return failure.with(
            nil, "a restore was interrupted and cannot be finished yet: \(failure.message)",
            remedy: failure.remedy ?? "Mend that, and run any command again.")
    }

    /// Call before reading the app's data.
    /// - Throws: why an interrupted restore cannot be finished: the data may then be neither old nor new.
    func requireFinishedRestore() throws(BackupError) {
        try? recover()
        if let unfinishedRestore { throw unfinishedRestore }
        try requireNoOtherRestore()
    }

    /// Whether the store contains the database itself, instead of using an app's own.
    var keepsOwnDatabase: Bool { !settings.databasePath.hasPrefix("/") }

    /// Migrates the database inside the store to the newest schema, in one transaction; an app's own database elsewhere is not
    /// touched. One that is unreadable or in use is left alone too: its next user reports the problem.
    func upgradeOwnDatabase() {
        guard unfinishedRestore == nil, keepsOwnDatabase, !definition.migrations.isEmpty,
            (try? statusRecords.database.hasPendingMigrations()) == true, let lock = try? lockWithoutPreempting()
        else { return }
        withExtendedLifetime(lock) { _ = try? AppDatabase.create(at: database.path, definition: definition) }
    }

    /// Creates a folder for one operation's temporary files and removes it afterwards, however the operation ends.
    func withWorkFolder<Result>(
        _ body: (_ path: String) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let folder = try WorkFolder(in: paths.spool)
        defer { folder.remove() }
        return try body(folder.path)
    }
}

extension Store {
    /// `README.txt` of the mounted tree.
    public var readme: [UInt8] { readmeText.text }

    /// `README.txt` of `restore/`.
    public var restoreReadme: [UInt8] { readmeText.restoreText }

    var readmeText: ReadmeText {
        ReadmeText(
            definition: definition, isEncrypted: repository.isEncrypted, confirmsRestores: settings.confirmsRestores,
            language: language)
    }
}

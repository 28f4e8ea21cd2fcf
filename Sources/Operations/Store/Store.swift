import AppData
import BackupCore
import BackupRepository
import Glibc
import Restore
import Synchronization
import SystemIO

/// The folder that ties it together: settings, spool, journal and, by default, the repository and the app's own data.
public final class Store: Sendable {
    public let paths: StorePaths
    private let currentSettings: Mutex<StoreSettings>
    private let recoveryFailure = Mutex<BackupError?>(nil)
    public let definition: AppDefinition
    public let database: AppDatabase
    public let repository: Repository
    /// The app's media folder, if it has one.
    public let mediaPath: String?
    private let countCache = RecordCountCache()
    let statusRecords: StatusRecords
    let statusRepository: StatusRepository
    /// When the repository was looked at first, or a moment before.
    let openingTime = SystemClock.now()
    let scheduleSwitch = ScheduleSwitch()
    let logOverrides: LogOverrides
    let ownership: SnapshotOwnership
    /// What runs now, for `status.json`.
    public let monitor: OperationMonitor

    /// Opens a store and finishes what a crash interrupted.
    /// - Parameters:
    ///   - log: what goes before the settings of the log.
    ///   - secret: asked for the password or key if the repository is encrypted, and only then.
    /// - Throws: `noRepository` when there is no store; `notPermitted` when another user could have written its settings; `wrongPassword`.
    public static func open(
        _ path: String, log: LogOverrides = .environment, secret: RepositorySecretSource? = nil
    ) throws(BackupError) -> Store {
        let paths = StorePaths(root: path)
        guard try FileSystem.exists(paths.settings) else { throw notThere(path) }
        try StoreTrust.check(paths)
        let store = try Store(paths: paths, log: log, secret: secret)
        try store.recover()
        store.upgradeOwnDatabase()
        return store
    }

    static func notThere(_ path: String) -> BackupError {
        BackupError(
            .noRepository, "there is no backupfs store here", path: path,
            remedy: "Make one with: backupfs init --store \(path)")
    }

    private init(paths: StorePaths, log: LogOverrides, secret: RepositorySecretSource?) throws(BackupError) {
        self.paths = paths
        logOverrides = log
        let settings = try StoreSettings.read(paths.settings)
        currentSettings = Mutex(settings)
        definition = try Self.definition(settings.app, in: paths)
        let repositoryPath = paths.resolve(settings.repositoryPath)
        // Before anything of the repository is believed, and before its password is asked for.
        let identityFile = try StoreIdentityFile(
            paths.identity, repository: try Repository.facts(at: repositoryPath), repositoryPath: settings.repositoryPath,
            resolvedPath: repositoryPath)
        repository = try Repository.open(at: repositoryPath, secret: secret, catalogHome: .folder(paths.catalogs))
        try identityFile.identity.check(repository.facts, at: repositoryPath)
        ownership = SnapshotOwnership(identityFile: identityFile, app: definition.name)
        if identityFile.isNew { try Self.findSource(identityFile, repository, app: definition.name, store: paths.root) }
        mediaPath = settings.mediaPath.map { paths.resolve($0) }
        let newest = NewestMediaCatalog(repository: repository, ownership: ownership)
        let databasePath = paths.resolve(settings.databasePath)
        var media: LiveMediaCatalog?
        if let mediaPath, definition.tellsOfMedia {
            media = LiveMediaCatalog(
                path: mediaPath, amongMedia: try DatabaseAmongMedia(database: databasePath, media: mediaPath),
                earlier: newest.catalog)
        }
        // It may be lost or damaged: that is when the backups are needed.
        database = AppDatabase(at: databasePath, definition: definition, media: media)
        // The settings have their own answer to that: see `log`.
        if let path = log.path {
            try OutputPlaces(
                database: databasePath, media: mediaPath, store: paths, repository: repositoryPath
            ).check(path, isLog: true)
        }
        statusRecords = StatusRecords(database, scheduleSwitch)
        statusRepository = StatusRepository(repository.patience)
        monitor = OperationMonitor(recordPath: paths.operationRecord, errorPath: paths.lastErrorRecord)
        for folder in [paths.spool, paths.restoreReports] { try FileSystem.makeDirectories(folder) }
        CacheDirectoryTag.mark(paths.spool)
    }

    /// As they stand in `store.yaml`, but for what a store is opened with.
    public var settings: StoreSettings { currentSettings.withLock { $0 } }

    var identityFile: StoreIdentityFile { ownership.identityFile }
    var identity: StoreIdentity { identityFile.identity }

    /// A command line of this program for this store.
    /// - Parameter operands: what may begin with a hyphen.
    func command(_ words: [String], _ operands: [String] = []) -> String {
        ShellWords.text(
            of: ["backupfs"] + words + ["--store=\(paths.root)"] + (operands.isEmpty ? [] : ["--"] + operands))
    }

    /// What people are spoken to in: README.txt, last.txt, and what the commands print.
    public var language: Language { settings.language ?? .ofEnvironment() }

    /// When backups are made by themselves.
    public var schedule: Schedule { settings.effectiveSchedule(definition) }

    /// For how long `mkdir` in a mount waits for its backup.
    public var makeDirectoryWait: MakeDirectoryWait { .ofEnvironment ?? settings.makeDirectoryWait }

    /// Reads the settings again. What a store is opened with stays: app, database, media folder, repository. Settings that cannot be read, or are
    /// cut off, leave all as it was; `backupfs config check` tells why.
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
        }
    }

    /// A built-in app, or a definition file of the store.
    static func definition(_ app: String, in paths: StorePaths) throws(BackupError) -> AppDefinition {
        guard app.hasSuffix(".yaml") else { return try AppDefinition.builtIn(named: app) }
        return try KnownApp.file(paths.resolve(app)).load()
    }

    /// Whether a status of this process has read the app's records, or knows why they cannot be read.
    public var hasReadRecords: Bool { statusRecords.isKnown }

    /// The number of records of each collection, as of now.
    public func counts() throws(BackupError) -> [RecordCount] { try countCache.counts(of: database) }

    /// Takes the store for one operation that a user asks for; released with the value. A backup that the store is just making by itself gives
    /// way.
    /// - Throws: `busy` while another operation runs, in this process or another, and goes on to when the user would not wait any more.
    func lockForOperation() throws(BackupError) -> AdvisoryLock {
        try LockPatience.waiting { () throws(BackupError) in try lockAtOnce() }
    }

    private func lockAtOnce() throws(BackupError) -> AdvisoryLock {
        let end = SystemClock.monotonicNanoseconds() + Self.yieldingTimeoutNanoseconds
        var hasAsked = false
        while true {
            do {
                return try lockQuietly()
            } catch let error where error.code == .busy {
                if !hasAsked { hasAsked = endAutomaticBackup() }
                guard hasAsked, SystemClock.monotonicNanoseconds() < end else { throw error }
                usleep(20_000)
            }
        }
    }

    private static let yieldingTimeoutNanoseconds: UInt64 = 10_000_000_000

    /// - Returns: whether an automatic backup is what runs; it has been asked to end then.
    private func endAutomaticBackup() -> Bool {
        if monitor.cancel(AutomaticBackup.operationName) { return true }
        guard isOperationRunning, monitor.recordedOperation() == AutomaticBackup.operationName else { return false }
        return RunningOperation(paths: paths)?.cancel() ?? false
    }

    /// The same for what the store does by itself: no other operation gives way to it.
    /// - Throws: `busy` while another operation runs, in this process or another.
    func lockQuietly() throws(BackupError) -> AdvisoryLock {
        do {
            let lock = try AdvisoryLock(path: paths.operationLock)
            // For those who come meanwhile; of no use to anybody afterwards.
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

    /// Whether an operation runs now, in any process. If that cannot be told, one may.
    public var isOperationRunning: Bool { (try? AdvisoryLock.isHeld(path: paths.operationLock)) != false }

    /// Finishes or undoes a restore that a crash interrupted, and removes what operations left lying. While another process works, all
    /// of it is that process's own.
    func recover() throws(BackupError) {
        // Most often there is nothing to do, and a lock taken for nothing would refuse somebody's backup.
        let leftovers = try WorkFolder.abandoned(in: paths.spool).union(paths.operationDrafts())
        var mustRecover = !leftovers.isEmpty
        for path in [paths.restoreJournal, paths.hookRecord, paths.operationRecord] where !mustRecover {
            mustRecover = try FileSystem.exists(path)
        }
        guard mustRecover, let lock = try? lockQuietly() else { return }
        try withExtendedLifetime(lock) { () throws(BackupError) in
            do throws(BackupError) {
                try recoverRestore()
                recoveryFailure.withLock { $0 = nil }
            } catch {
                recoveryFailure.withLock { $0 = error }
            }
            for record in RecreationRecord.abandoned(in: paths.spool) { record.clearAway() }
            try WorkFolder.sweep(paths.spool)
            // Of the operation that crashed: the next one must not be taken for it.
            try FileSystem.removeFile(paths.operationRecord)
            // With the lock held, nobody is writing them any more.
            for draft in try paths.operationDrafts() { try FileSystem.removeFile(draft) }
        }
    }

    /// Why a restore that was interrupted could be neither finished nor undone when the store was opened; `nil` when there is none. Backups can be read
    /// meanwhile, and nothing can be made of the app's data: whoever begins an operation on it tries again to finish the restore.
    public var unfinishedRestore: BackupError? {
        guard (try? FileSystem.exists(paths.restoreJournal)) != false, let failure = recoveryFailure.withLock({ $0 }) else {
            return nil
        }
        return BackupError(
            failure.code, "a restore was interrupted and cannot be finished yet: \(failure.message)", path: failure.path,
            remedy: failure.remedy ?? "Mend that, and run any command again.", findings: failure.findings)
    }

    /// For whoever is about to read the app's data.
    /// - Throws: why an interrupted restore cannot be finished: then the data may be neither the old nor the new.
    func requireFinishedRestore() throws(BackupError) {
        try? recover()
        if let unfinishedRestore { throw unfinishedRestore }
        try requireNoOtherRestore()
    }

    /// Whether the store holds the database itself, and no app's own is used.
    var keepsOwnDatabase: Bool { !settings.databasePath.hasPrefix("/") }

    /// Brings the database that the store holds to the newest schema, in one transaction; the app's own, elsewhere, is left as it is. One that
    /// cannot be read, or is in use, stays as well: whatever needs it says what is wrong with it.
    private func upgradeOwnDatabase() {
        guard unfinishedRestore == nil, keepsOwnDatabase, !definition.migrations.isEmpty,
            (try? statusRecords.database.hasPendingMigrations()) == true, let lock = try? lockQuietly()
        else { return }
        withExtendedLifetime(lock) { _ = try? AppDatabase.create(at: database.path, definition: definition) }
    }

    /// Makes a folder for one operation's temporary files and removes it afterwards, however the operation ends.
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
    public var readme: [UInt8] {
        ReadmeText(definition: definition, isEncrypted: repository.isEncrypted, language: language).text
    }
}

import AppData
import BackupCore
import BackupRepository
import DeviceSync
import Formats
import ObjectStorage
import Synchronization
import SystemIO

/// Exchanges the changes of the app's records with other devices, through the remote that the settings name for it.
public final class DeviceSyncOperation: Sendable {
    /// How a round ended.
    public enum Outcome: Sendable {
        /// The settings name no remote for it.
        case off
        /// The app's own setting of this name is not on.
        case switchedOff(String)
        case done(Result)
    }

    /// What a round has done.
    public struct Result: Sendable {
        public let report: RoundReport
        /// The store's state afterwards.
        public let status: DeviceSyncStatus
        /// Files that the round has made of values that lost.
        public let conflictPaths: [String]
    }

    /// The storage for these settings.
    private struct Opened {
        let settings: RemoteSettings
        let storage: DeferredStorage
    }

    private let store: Store
    private let isAutomatic: Bool
    private let opened = Mutex<Opened?>(nil)
    /// Of the last round.
    private let lastError = Mutex<BackupError.Code?>(nil)

    /// - Parameter isAutomatic: whether no user has asked for it: a round without anything to do is not logged then.
    public init(store: Store, isAutomatic: Bool = false) {
        self.store = store
        self.isAutomatic = isAutomatic
    }

    /// One round. What was done before an error stays, and the next round goes on.
    /// - Parameters:
    ///   - acceptsDeletions: whether deletions that wait for the user go out.
    ///   - findsChanges: whether the app's records are compared: not needed while its database has not changed.
    ///   - asksRemote: whether to exchange anything; otherwise what is found waits.
    ///   - looksForDevices: whether devices that are not known yet are looked for.
    /// - Throws: `busy` while another process does the same, or an operation of the store runs; `notFound` for an unknown remote;
    ///   errors of the storage and of the database.
    public func run(
        acceptsDeletions: Bool = false, findsChanges: Bool = true, asksRemote: Bool = true,
        looksForDevices: Bool = true
    ) throws(BackupError) -> Outcome {
        guard let name = store.settings.deviceSyncRemote else { return .off }
        let files = DeviceSyncFiles(store.paths)
        let startedAt = SystemClock.now()
        let began = SystemClock.monotonicNanoseconds()
        var report = RoundReport()
        let conflictPaths = Mutex<[String]>([])
        do throws(BackupError) {
            let remote = try store.settings.remote(named: name, path: store.paths.settings)
            try store.requireFinishedRestore()
            let isOff = try store.database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.syncSwitchThatIsOff() }
            if let isOff { return .switchedOff(isOff) }
            try requireUse()
            let lock = try LockTimeout.waiting { () throws(BackupError) in try files.lock() }
            defer { withExtendedLifetime(lock) {} }
            let state = try DeviceState(path: files.state)
            defer { record(state, files) }
            let conflicts = ConflictFiles(folder: files.conflicts) { path in conflictPaths.withLock { $0.append(path) } }
            try exchange(
                remote, state, conflicts, &report, acceptsDeletions: acceptsDeletions, findsChanges: findsChanges,
                asksRemote: asksRemote, looksForDevices: looksForDevices)
        } catch {
            // The storage may be another one next time: a disk that is connected again.
            opened.withLock { $0 = nil }
            note(error, files)
            log(startedAt, began, name, report, error)
            throw error
        }
        if asksRemote {
            note(report.problems.first, files)
            log(startedAt, began, name, report, report.problems.first)
        }
        guard let status = DeviceSyncStatus(store) else { return .off }
        return .done(Result(report: report, status: status, conflictPaths: conflictPaths.withLock { $0 }))
    }

    private func requireUse() throws(BackupError) {
        guard store.isQuiet else { return }
        throw BackupError(
            .busy, "the store has taken over backups, and waits for its first restore or backup", path: store.paths.root,
            remedy: "Restore a backup, or make one: backupfs backup")
    }

    private func exchange(
        _ remote: RemoteSettings, _ state: DeviceState, _ conflicts: ConflictFiles, _ report: inout RoundReport,
        acceptsDeletions: Bool, findsChanges: Bool, asksRemote: Bool, looksForDevices: Bool
    ) throws(BackupError) {
        let repository = store.repository
        let protection = LogProtection(
            seal: { (bytes, name) throws(BackupError) in try repository.sealDeviceChanges(bytes, name: name) },
            open: { (bytes, name) throws(BackupError) in try repository.openDeviceChanges(bytes, name: name) })
        let round = DeviceRound(
            database: StoreRecords(store), state: state, storage: storage(of: remote), protection: protection,
            conflicts: conflicts, now: SystemClock.now, backUp: { [self] () throws(BackupError) in try backUp() })
        if findsChanges { try round.findChanges(&report, acceptsDeletions: acceptsDeletions) }
        if asksRemote { try round.exchange(&report, looksForDevices: looksForDevices) }
    }

    /// Before records of other devices come into the database for the first time.
    private func backUp() throws(BackupError) {
        _ = try BackupOperation(store: store).run(label: nil, tag: "before-device-sync", progress: nil)
    }

    /// What the app has changed is found also while the remote cannot be opened.
    private func storage(of remote: RemoteSettings) -> DeferredStorage {
        opened.withLock { opened in
            if let opened, opened.settings == remote { return opened.storage }
            let paths = store.paths
            let storage = DeferredStorage(at: remote.url) { () throws(BackupError) in try remote.open(in: paths) }
            opened = Opened(settings: remote, storage: storage)
            return storage
        }
    }

    // MARK: Records of it

    private func record(_ state: DeviceState, _ files: DeviceSyncFiles) {
        guard let summary = try? state.summary() else { return }
        change(files) { $0.note(summary) }
    }

    private func note(_ error: BackupError?, _ files: DeviceSyncFiles) {
        // Another process does the same, or will be done soon.
        guard error?.code != .busy, error?.code != .interrupted else { return }
        change(files) { $0.note(error, at: SystemClock.now()) }
    }

    private func change(_ files: DeviceSyncFiles, _ body: (inout DeviceSyncRecord) -> Void) {
        let before = DeviceSyncRecord.read(files.record)
        var record = before
        body(&record)
        // An error that lasts keeps its first time.
        if let failure = before.failure, let new = record.failure, failure.code == new.code, failure.message == new.message {
            record.failure = failure
        }
        guard record != before else { return }
        _ = try? FileSystem.makeDirectories(files.folder)
        _ = try? record.write(to: files.record)
    }

    /// A round of a mount that found nothing is not logged, and neither is one that failed like the one before.
    private func log(
        _ startedAt: Timestamp, _ began: UInt64, _ remote: String, _ report: RoundReport, _ error: BackupError?
    ) {
        let changeCount = report.uploadedCount + report.mergedCount
        let hasNews = lastError.withLock { last in
            defer { last = error?.code }
            return last != error?.code
        }
        guard changeCount > 0 || !isAutomatic || hasNews else { return }
        var facts = OperationFacts()
        facts.remote = remote
        facts.recordCount = UInt64(changeCount)
        if let error { facts.note(error) }
        store.remember(
            OperationRecord(
                .deviceSync, isAutomatic: isAutomatic, startedAt: startedAt,
                durationMilliseconds: Int64((SystemClock.monotonicNanoseconds() - began) / 1_000_000),
                result: error.map { OperationResult($0.code) } ?? .ok, facts: facts))
    }

}

/// The records of a store's app. Nothing is written into them while an operation of the store runs: a restore would find that the
/// app has changed them.
private struct StoreRecords: SyncedDatabase {
    private let store: Store
    private let records: AppRecords

    init(_ store: Store) {
        self.store = store
        records = AppRecords(store.database)
    }

    func read<Value>(_ body: (any RecordReading) throws(BackupError) -> Value) throws(BackupError) -> Value {
        try records.read(body)
    }

    func write<Value>(_ body: (any RecordWriting) throws(BackupError) -> Value) throws(BackupError) -> Value {
        guard !store.isOperationRunning else {
            throw BackupError(
                .busy, "another operation is running", path: store.paths.root, remedy: "Wait until it has finished and try again."
            )
        }
        return try records.write(body)
    }
}

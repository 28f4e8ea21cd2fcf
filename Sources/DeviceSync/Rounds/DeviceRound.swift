import BackupCore
import ObjectStorage

/// One exchange of changes with the other devices: what the app has changed goes to the remote, and what others have changed
/// comes into the app's database.
///
/// It can be interrupted at any point, and the next round goes on. The caller holds the store's lock for it.
public struct DeviceRound<Database: SyncedDatabase> {
    /// How often a batch is tried again because the app writes at the same time.
    private static var attemptLimit: Int { 5 }
    /// A new identity is taken so often: more would be another fault.
    private static var identityLimit: Int { 3 }

    private let database: Database
    private let state: DeviceState
    private let log: DeviceLog
    private let conflicts: any ConflictKeeper
    private let now: () -> Timestamp
    private let backUp: () throws(BackupError) -> Void
    private let reached: (BatchMerge.Point) throws(BackupError) -> Void

    /// - Parameters:
    ///   - now: the device's clock, which may be wrong.
    ///   - backUp: makes a backup, before anything is merged for the first time.
    public init(
        database: Database, state: DeviceState, storage: any ObjectStorage, protection: LogProtection,
        conflicts: any ConflictKeeper, now: @escaping () -> Timestamp, backUp: @escaping () throws(BackupError) -> Void
    ) {
        self.init(
            database: database, state: state, storage: storage, protection: protection, conflicts: conflicts, now: now,
            backUp: backUp, reached: { (point) throws(BackupError) in try point.injectFault() })
    }

    init(
        database: Database, state: DeviceState, storage: any ObjectStorage, protection: LogProtection,
        conflicts: any ConflictKeeper, now: @escaping () -> Timestamp, backUp: @escaping () throws(BackupError) -> Void,
        reached: @escaping (BatchMerge.Point) throws(BackupError) -> Void
    ) {
        self.database = database
        self.state = state
        log = DeviceLog(storage: storage, protection: protection)
        self.conflicts = conflicts
        self.now = now
        self.backUp = backUp
        self.reached = reached
    }

    /// Finds what the app has changed, and queues it. Needs no remote.
    /// - Parameter acceptsDeletions: whether deletions that wait for the user go out now.
    /// - Throws: errors of the app's database, of which nothing is queued then.
    public func findChanges(_ report: inout RoundReport, acceptsDeletions: Bool = false) throws(BackupError) {
        let changes = LocalChanges(state: state, log: log, now: now())
        let found = try database.read { (reading) throws(BackupError) in
            try changes.find(reading, acceptsDeletions: acceptsDeletions)
        }
        report.foundCount += found.changeCount
        report.note(found.problem)
    }

    /// Uploads what is queued, and merges what others have uploaded.
    /// - Parameter looksForDevices: whether devices that are not known yet are looked for; otherwise there is one request for
    ///   each known one.
    /// - Throws: errors of the storage and of the app's database. What was done until then stays, and the rest is done next time.
    public func exchange(_ report: inout RoundReport, looksForDevices: Bool = true) throws(BackupError) {
        // Otherwise the group was looked at a short while ago: a look that finds nothing takes one request for each device.
        let isNew = try state.text(.group) == nil
        let hasQueued = try state.queued() != nil
        let mustJoin = looksForDevices || isNew || hasQueued
        if mustJoin { try join() }
        var failure: BackupError?
        do throws(BackupError) {
            try upload(&report)
        } catch {
            // A full or append-protected remote can still be read.
            guard error.code == .noSpace || error.code == .accessDenied else { throw error }
            failure = error
        }
        try fetch(&report, looksForDevices: looksForDevices, isUploaded: failure == nil, hasJoined: mustJoin)
        if let failure { throw failure }
        // What the app has changed while others' changes were merged.
        try upload(&report)
    }

    private func join() throws(BackupError) {
        let known = try state.text(.group)
        let app = try database.read { $0.form.app }
        let group = try log.group(for: app, known: known)
        guard known == nil else { return }
        try state.transaction { () throws(BackupError) in try state.set(.group, group.id) }
    }

    // MARK: Upload

    private func upload(_ report: inout RoundReport) throws(BackupError) {
        while let batch = try state.queued() {
            switch try log.store(DeviceLogName(device: state.device, sequence: batch.sequence), batch.object) {
            case .stored:
                try state.transaction { () throws(BackupError) in try state.noteUploaded(batch) }
                report.uploadedCount += Int(clamping: batch.changeCount)
            case .takenByOther: try takeNewIdentity(&report)
            }
        }
    }

    private func takeNewIdentity(_ report: inout RoundReport) throws(BackupError) {
        guard report.newIdentityCount < Self.identityLimit else {
            throw BackupError(
                .conflict, "other changes are there wherever this device wants to store its own", path: log.storage.location)
        }
        try state.takeNewIdentity(log)
        report.newIdentityCount += 1
    }

    // MARK: Fetching

    private func fetch(
        _ report: inout RoundReport, looksForDevices: Bool, isUploaded: Bool, hasJoined: Bool
    ) throws(BackupError) {
        var known = try state.positions()
        let names: [DeviceLogName]
        if looksForDevices || known.isEmpty {
            known[state.device] = try state.number(.uploaded)
            let found = try log.newBatches(after: known)
            // Under this device's name there is more than it has uploaded: a copy of it goes on from there.
            if isUploaded, found.contains(where: { $0.device == state.device }) { try takeNewIdentity(&report) }
            names = found.filter { $0.device != state.device }
        } else {
            names = try log.newBatches(ofKnown: known)
        }
        if !hasJoined, !names.isEmpty { try join() }
        var logs = FetchedLogs(log, names, after: try state.positions())
        while let batch = try logs.next() {
            let isFirst = try state.number(.hasBackup) == 0
            if isFirst {
                try backUp()
                try state.transaction { () throws(BackupError) in try state.set(.hasBackup, 1) }
            }
            do throws(BackupError) {
                try merge(batch, &report)
            } catch {
                guard [.invalidContent, .unsupportedVersion, .damagedContent].contains(error.code) else { throw error }
                logs.stop(batch, error)
            }
        }
        for problem in logs.problems { report.note(problem) }
        try state.transaction { () throws(BackupError) in
            try state.set(.lastFetch, UInt64(max(0, now().seconds)))
        }
    }

    private func merge(_ batch: ChangeBatch, _ report: inout RoundReport) throws(BackupError) {
        let merge = BatchMerge(state: state, conflicts: conflicts, reached: reached)
        for _ in 0..<Self.attemptLimit {
            switch try merge.merge(batch, into: database) {
            case .merged(let conflictCount):
                report.mergedCount += batch.changes.count
                report.conflictCount += conflictCount
                return
            case .overtaken: try findChanges(&report)
            }
        }
        // Either the app writes all the time, or it has a record that cannot be sent.
        throw report.problems.first
            ?? BackupError(
                .busy, "the app changes its records faster than those of others can be merged", remedy: "Try again later.")
    }
}

/// What a round has done.
public struct RoundReport: Sendable {
    /// The number of problems that are reported.
    private static let problemLimit = 20

    /// Changes of the app that were found.
    public fileprivate(set) var foundCount = 0
    /// Changes that were uploaded.
    public fileprivate(set) var uploadedCount = 0
    /// Changes of other devices.
    public fileprivate(set) var mergedCount = 0
    /// Values that lost and were kept.
    public fileprivate(set) var conflictCount = 0
    /// How often a copy of this device was found, which has its old identity.
    public fileprivate(set) var newIdentityCount = 0
    /// What could not be sent or merged, while the rest was.
    public private(set) var problems: [BackupError] = []

    public init() {}

    mutating func note(_ problem: BackupError?) {
        guard let problem, problems.count < Self.problemLimit,
            !problems.contains(where: { $0.description == problem.description })
        else { return }
        problems.append(problem)
    }
}

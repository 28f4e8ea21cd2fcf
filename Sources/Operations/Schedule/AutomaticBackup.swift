import AppData
import BackupCore
import BackupRepository
import SystemIO

/// A store's automatic backups: determines when one is due, and makes it.
public struct AutomaticBackup: Sendable {
    /// The outcome of a check.
    public enum Outcome: Sendable {
        /// There is no schedule.
        case off
        /// The app's own setting of this name turns it off.
        case switchedOff(String)
        /// A user paused the schedule until then.
        case paused(Timestamp)
        /// The time when it is due, or `nil` for never.
        case notDue(Timestamp?)
        case made(BackupResult)
        /// Nothing has changed since the newest backup, which has this name.
        case unchanged(FileName)
        /// The store has adopted a source and waits until a user requests a restore or a backup.
        case quiet
    }

    /// After it gave way to a user's operation.
    private static let yieldedRetrySeconds: Int64 = 60
    private static let pruneIntervalSeconds: Int64 = 7 * 86_400

    private let store: Store

    public init(store: Store) { self.store = store }

    private var schedule: Schedule { store.schedule }

    /// The state so far, as far as it is plausible. A store without one starts from its newest backup, or from now.
    private func state(_ now: Timestamp) -> ScheduleState {
        if let state = ScheduleState.read(store.paths.scheduleState), state.schedule == schedule.text {
            return state.believed(at: now)
        }
        let newest = store.ownSnapshots(kind: .snapshot).last?.creationTime
        return ScheduleState(schedule: schedule.text, handledAt: newest ?? now).believed(at: now)
    }

    /// When the next one is due, unless the app's own setting turns it off.
    /// - Returns: a time that may be in the past; `nil` for never.
    public func next(now: Timestamp) -> Timestamp? {
        schedule == .off || store.isQuiet ? nil : next(state(now), now, isStart: false)
    }

    /// The number of failures since the last success.
    func failureCount(now: Timestamp) -> Int { schedule == .off ? 0 : state(now).failureCount }

    /// - Parameter isStart: whether a failed one is due immediately, since a process has just started.
    private func next(_ state: ScheduleState, _ now: Timestamp, isStart: Bool) -> Timestamp? {
        state.failureCount > 0 && isStart ? now : state.next(of: schedule)
    }

    /// The state so far. If the schedule is new or the clock is behind, the state is saved, so that it is the same after the next
    /// start.
    private func begunState(_ now: Timestamp) -> ScheduleState {
        let state = state(now)
        if ScheduleState.read(store.paths.scheduleState) != state { try? state.write(to: store.paths.scheduleState) }
        return state
    }

    /// Makes a backup if one is due, and notifies the user of repeated failures.
    /// - Parameters:
    ///   - isStart: whether to retry a failed one immediately.
    ///   - tellsBeside: whether the notification commands run without blocking the caller.
    /// - Throws: `busy` while another operation runs; the errors of a backup, which is then retried later; `interrupted` when it
    ///   gave way to another operation.
    public func runIfDue(
        isStart: Bool, tellsBeside: Bool = false, progress: ProgressHandler? = nil
    ) throws(BackupError) -> Outcome {
        let notifier = AutomaticNotifier(NotificationContext(store), log: store.log, isBeside: tellsBeside)
        var wasDue = false
        do throws(BackupError) {
            let outcome = try attempt(isStart, progress, &wasDue)
            notifier.note(outcome)
            return outcome
        } catch {
            if wasDue { notifier.note(error) }
            throw error
        }
    }

    /// - Parameter wasDue: set to true if this throws and a backup was due.
    private func attempt(
        _ isStart: Bool, _ progress: ProgressHandler?, _ wasDue: inout Bool
    ) throws(BackupError) -> Outcome {
        guard schedule != .off else { return .off }
        guard !store.isQuiet else { return .quiet }
        if let name = store.scheduleSwitchedOffBy() {
            store.log.note(ScheduleEvent(phase: .notDue, dueAt: nil))
            return .switchedOff(name)
        }
        if let end = store.schedulePausedUntil(SystemClock.now()) {
            store.log.note(ScheduleEvent(phase: .notDue, dueAt: end))
            return .paused(end)
        }
        do throws(BackupError) {
            try store.repository.refresh()
        } catch {
            wasDue = UnopenedBackup.noteFailureIfDue(store.paths, schedule, isStart: isStart)
            throw error
        }
        let asked = SystemClock.now()
        let due = next(begunState(asked), asked, isStart: isStart)
        guard let due, due <= asked else {
            store.log.note(ScheduleEvent(phase: .notDue, dueAt: due))
            return .notDue(due)
        }
        store.log.note(ScheduleEvent(phase: .due, dueAt: due))
        wasDue = true
        let lock = try lock()
        return try withExtendedLifetime(lock) { () throws(BackupError) in
            // Another process may have made it just now, or during a user's wait.
            try store.repository.refresh()
            let now = SystemClock.now()
            var state = state(now)
            let due = next(state, now, isStart: isStart)
            guard let due, due <= now else { return .notDue(due) }
            return try run(&state, now, progress)
        }
    }

    /// A running operation goes first, unless a user requested to wait for it (`--wait`).
    private func lock() throws(BackupError) -> AdvisoryLock {
        do {
            return try LockTimeout.waiting { () throws(BackupError) in try store.lockWithoutPreempting() }
        } catch {
            store.log.note(ScheduleEvent(phase: .busy, error: error.code))
            throw error
        }
    }

    private func run(
        _ state: inout ScheduleState, _ now: Timestamp, _ progress: ProgressHandler?
    ) throws(BackupError) -> Outcome {
        do throws(BackupError) {
            let outcome = try make(&state, progress)
            state.noteHandled(at: now)
            state.failureCount = 0
            state.retryAt = nil
            state.finishedAt = SystemClock.now()
            try? state.write(to: store.paths.scheduleState)
            return outcome
        } catch {
            if error.code == .interrupted {
                state.retryAt = Timestamp(seconds: now.seconds + Self.yieldedRetrySeconds)
            } else {
                state.noteFailure(at: now)
            }
            try? state.write(to: store.paths.scheduleState)
            store.log.note(ScheduleEvent(phase: .retry, dueAt: state.retryAt, error: error.code))
            throw error
        }
    }

    private func make(_ state: inout ScheduleState, _ progress: ProgressHandler?) throws(BackupError) -> Outcome {
        let newest = try store.newestOwnSnapshot()
        let result = try store.recorded(.backup, isAutomatic: true) { (facts) throws(BackupError) in
            try store.requireWholeData()
            let result = try makeUnlessUnchanged(since: newest, progress)
            if let result { facts.note(result) } else { facts.noteUnchanged(since: newest) }
            return result
        }
        guard var result else {
            state.result = .skipped
            return newest.map { .unchanged($0.name) } ?? .notDue(nil)
        }
        state.result = .made
        if !result.removed.isEmpty { state.needsPrune = true }
        // Manual removals count as well.
        if (try? store.ownRemovedSnapshots().isEmpty) == false { state.needsPrune = true }
        if let reason = pruneNowAndThen(&state, after: result, progress) {
            result.warnings.append(BackupWarning(.prune, reason))
        }
        store.recordWarnings(of: result, isAutomatic: true)
        return .made(result)
    }

    private func makeUnlessUnchanged(
        since newest: Snapshot?, _ progress: ProgressHandler?
    ) throws(BackupError) -> BackupResult? {
        let skipsUnchanged = store.settings.skipsUnchanged
        return try store.monitor.run(
            OperationKind.automaticBackupName, phase: BackupProgress.firstMessage(store.definition), percent: 0,
            retry: store.command(["backup"]), progress
        ) {
            (report) throws(BackupError) in
            let operation = BackupOperation(store: store)
            let made = try operation.make(
                .snapshot, label: nil, tag: Snapshot.automaticTag, unlessAs: skipsUnchanged ? newest : nil, report)
            return made.map { operation.removingOld($0, report) }
        }
    }

    /// Frees the space of removed backups once a week. The backup exists whatever the outcome: the history records the error of
    /// the prune.
    /// - Returns: why it was refused, so that the user can fix it; `nil` if it was not.
    private func pruneNowAndThen(
        _ state: inout ScheduleState, after result: BackupResult, _ progress: ProgressHandler?
    ) -> Message? {
        guard store.settings.retention.prunes, store.settings.hasEnd, state.needsPrune else { return nil }
        let now = SystemClock.now()
        // With a clock far ahead, no removed backup could be brought back any more.
        guard RetentionGuard(store: store).clockProblem(after: result.snapshot, now: now) == nil else { return nil }
        guard state.prunedAt != nil else {
            // The first prune comes a week after the first removal.
            state.prunedAt = now
            return nil
        }
        if let prunedAt = state.prunedAt, prunedAt <= now, now.seconds - prunedAt.seconds < Self.pruneIntervalSeconds {
            return nil
        }
        do throws(BackupError) {
            _ = try PruneOperation(store: store).runAutomatically(maxUnused: .standard, progress: progress)
        } catch {
            return error.code == .repositoryDamaged ? error.summary : nil
        }
        // What can still be brought back occupies its space until a later prune.
        state.needsPrune = (try? store.ownRemovedSnapshots().isEmpty) != true
        state.prunedAt = now
        return nil
    }
}

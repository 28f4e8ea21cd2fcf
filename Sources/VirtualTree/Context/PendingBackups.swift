import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// The backups started by `mkdir` in this mount: unfinished ones that already have a folder, and the results of the others.
final class PendingBackups: Sendable {
    private struct State {
        var runningCount = 0
        /// The total number of backups: it makes their inode numbers unique.
        var startedCount: UInt64 = 0
        /// Backups that `mkdir` has returned for before they were finished.
        var shown: [FileName: PendingBackup] = [:]
        /// The numbers of folders that were shown while their backups were pending.
        var inodes: [SnapshotID: InodeNumber] = [:]
        var failures: [BackupFailure] = []
    }

    /// Older failures are dropped.
    private static let failureLimit = 100

    private let state = Monitor(State())
    /// Read by every request.
    private let shownCount = Atomic(0)
    private let lookCount = Atomic(0)
    private let newestLookNanoseconds = Atomic<UInt64>(0)
    /// A folder that was opened more recently than this may not have been read yet.
    private static let unreadNanoseconds: UInt64 = 500_000_000

    /// Starts a backup in its own thread.
    /// - Parameters:
    ///   - folder: the number of `snapshots/`.
    ///   - onEnd: called on that thread when the backup has ended and is accessible.
    func begin(
        _ name: FileName, in folder: InodeNumber, onEnd: @escaping @Sendable () -> Void,
        _ make: @escaping @Sendable (PendingBackup) throws(BackupError) -> MadeSnapshot
    ) throws(BackupError) -> PendingBackup {
        let number = state.withLock { state in
            state.startedCount += 1
            state.runningCount += 1
            return state.startedCount
        }
        let startedAt = SystemClock.now()
        let inode = folder.child(name).version(UInt64(bitPattern: startedAt.seconds)).version(number)
        let backup = PendingBackup(name, inode: inode, startedAt: startedAt)
        do {
            let thread = try SystemThread { [self] in
                end(backup, backup.run { () throws(BackupError) in try make(backup) })
                onEnd()
                state.changeWakingAll { $0.runningCount -= 1 }
            }
            thread.detach()
        } catch {
            state.changeWakingAll { $0.runningCount -= 1 }
            throw error
        }
        return backup
    }

    private func end(_ backup: PendingBackup, _ outcome: PendingBackup.Outcome) {
        state.withLock { state in
            let wasShown = state.shown[backup.name] === backup
            if wasShown { state.shown[backup.name] = nil }
            shownCount.store(state.shown.count, ordering: .sequentiallyConsistent)
            note(outcome, of: backup, wasShown: wasShown, in: &state)
            backup.end(outcome)
        }
    }

    private func note(_ outcome: PendingBackup.Outcome, of backup: PendingBackup, wasShown: Bool, in state: inout State) {
        state.failures.removeAll { $0.backupName == backup.name || $0.backupName == backup.requestedName }
        let failure: BackupError?
        switch outcome {
        case .success(let made):
            if wasShown { state.inodes[made.id] = backup.inode }
            failure = made.incompleteness
        case .failure(let error): failure = error
        }
        // If mkdir still waits, its error number is a sufficient report of these.
        guard let failure, failure.code != .interrupted,
            wasShown || ![.busy, .alreadyExists, .notPermitted, .noSpace].contains(failure.code)
        else { return }
        state.failures.append(BackupFailure(backupName: backup.requestedName, error: failure, time: SystemClock.now()))
        if state.failures.count > Self.failureLimit { state.failures.removeFirst() }
    }

    /// Another backup has taken its name: its folder continues under this one.
    func rename(_ backup: PendingBackup, to name: FileName) {
        state.withLock { state in
            let isShown = state.shown[backup.name] === backup
            if isShown { state.shown[backup.name] = nil }
            backup.rename(name)
            if isShown { state.shown[name] = backup }
        }
    }

    /// Shows the folder of an unfinished backup.
    /// - Returns: its result, if it has ended just now: no folder is shown then.
    func show(_ backup: PendingBackup) -> PendingBackup.Outcome? {
        state.withLock { state in
            if let outcome = backup.result { return outcome }
            state.shown[backup.name] = backup
            shownCount.store(state.shown.count, ordering: .sequentiallyConsistent)
            return nil
        }
    }

    /// `snapshots/` was opened for listing. The kernel blocks further reads until a `mkdir` in it returns.
    func noteLook() {
        newestLookNanoseconds.store(SystemClock.monotonicNanoseconds(), ordering: .relaxed)
        lookCount.add(1, ordering: .relaxed)
    }

    /// How often that happened.
    var looks: Int { lookCount.load(ordering: .relaxed) }

    /// The same without a very recent one, which the kernel may still block because of a change that begins now.
    var readLooks: Int {
        let count = looks
        let newest = newestLookNanoseconds.load(ordering: .relaxed)
        return count > 0 && SystemClock.monotonicNanoseconds() < newest + Self.unreadNanoseconds ? count - 1 : count
    }

    /// Whether there is any. Takes no lock.
    var isAnyShown: Bool { shownCount.load(ordering: .sequentiallyConsistent) > 0 }

    func shown(_ name: FileName) -> PendingBackup? { isAnyShown ? state.withLock { $0.shown[name] } : nil }

    /// Backups with a folder, the one started last at the end.
    var shown: [PendingBackup] {
        guard isAnyShown else { return [] }
        return state.withLock { Array($0.shown.values) }.sorted { $0.startedAt < $1.startedAt }
    }

    /// The number of a snapshot's folder: during the mount, the one that it was first shown with.
    func inode(of id: SnapshotID, in folder: InodeNumber) -> InodeNumber {
        state.withLock { $0.inodes[id] } ?? folder.snapshot(id)
    }

    /// Failures that have neither been removed nor been superseded by a backup of that name.
    var failures: [BackupFailure] { state.withLock { $0.failures } }

    func removeFailure(_ fileName: FileName) -> Bool {
        state.withLock { state in
            let count = state.failures.count
            state.failures.removeAll { $0.fileName == fileName }
            return state.failures.count < count
        }
    }

    var isAnyRunning: Bool { state.withLock { $0.runningCount > 0 } }

    /// Returns when no backup started here is running.
    func waitUntilNone() { state.wait(until: { $0.runningCount == 0 }) { _ in } }
}

/// A backup started by `mkdir`. It runs in its own thread and continues if `mkdir` returns
/// before it is finished: the kernel keeps `snapshots/` locked as long as `mkdir` waits.
final class PendingBackup: Sendable {
    typealias Outcome = Result<MadeSnapshot, BackupError>

    private struct Progress {
        var hasBegun = false
        var outcome: Outcome?
    }

    /// The name requested by `mkdir`.
    let requestedName: FileName
    /// The number of its folder; it stays the same during the mount.
    let inode: InodeNumber
    let startedAt: Timestamp
    private let cancellation = Cancellation()
    private let progress = Monitor(Progress())
    private let pin = Monitor((isWanted: false, isSettled: false))
    private let currentName: Monitor<FileName>

    init(_ name: FileName, inode: InodeNumber, startedAt: Timestamp) {
        requestedName = name
        currentName = Monitor(name)
        self.inode = inode
        self.startedAt = startedAt
    }

    /// Its current name: another backup may take the requested one before this one is finished.
    var name: FileName { currentName.withLock { $0 } }

    func rename(_ name: FileName) { currentName.withLock { $0 = name } }

    /// Makes the backup, on the calling thread.
    func run(_ make: () throws(BackupError) -> MadeSnapshot) -> Outcome {
        Result { () throws(BackupError) in try cancellation.run(make) }
    }

    var isPinned: Bool { pin.withLock { $0.isWanted } }

    /// Sets whether it is pinned once it is made.
    /// - Returns: false when it is too late for that.
    /// - Throws: `busy` when it has been cancelled.
    func pin(_ isPinned: Bool) throws(BackupError) -> Bool {
        let isNoted: Bool? = pin.withLock { pin in
            guard !pin.isSettled else { return false }
            guard !isPinned || !cancellation.isCancelled else { return nil }
            pin.isWanted = isPinned
            return true
        }
        guard let isNoted else { throw endsAlready }
        return isNoted
    }

    /// The error for requests after a cancellation.
    var endsAlready: BackupError {
        BackupError(
            .busy, "the backup was asked to stop and is still running", path: name.description,
            remedy: "Wait a moment, and look again.")
    }

    /// - Returns: whether to pin it; later changes of the pin go to the backup itself.
    func settlePin() -> Bool {
        pin.withLock { pin in
            pin.isSettled = true
            return pin.isWanted
        }
    }

    /// Records a change of the pin after `settlePin`.
    func notePinned(_ isPinned: Bool) { pin.withLock { $0.isWanted = isPinned } }

    /// The backup has started: no other operation blocks it.
    func noteBegun() { progress.changeWakingAll { $0.hasBegun = true } }

    func end(_ outcome: Outcome) { progress.changeWakingAll { $0.outcome = outcome } }

    /// Cancels it. Steps that cannot be undone any more are finished.
    func cancel() { cancellation.request() }

    /// Cancels it unless it is to be pinned.
    /// - Returns: whether it was cancelled.
    func cancelUnlessPinned() -> Bool {
        pin.withLock { pin in
            if !pin.isWanted { cancel() }
            return !pin.isWanted
        }
    }

    /// Its result; `nil` while it runs.
    var result: Outcome? { progress.withLock { $0.outcome } }

    /// How often a waiting thread checks whether to continue waiting.
    private static let turnNanoseconds: UInt64 = 50_000_000

    /// Waits until it has ended.
    /// - Parameters:
    ///   - limit: the maximum time in seconds; `nil` for no limit.
    ///   - isCancelled: whether to stop waiting immediately.
    /// - Returns: its result; `nil` when it still runs.
    func wait(atMostSeconds limit: Double?, unless isCancelled: () -> Bool = { false }) -> Outcome? {
        wait(until: { $0.outcome != nil }, atMostSeconds: limit, unless: isCancelled)
        return result
    }

    /// Waits until no other operation can block it any more, or it has ended.
    func waitUntilBegun(atMostSeconds limit: Double, unless isCancelled: () -> Bool) {
        wait(until: { $0.hasBegun || $0.outcome != nil }, atMostSeconds: limit, unless: isCancelled)
    }

    private func wait(until isReached: (Progress) -> Bool, atMostSeconds limit: Double?, unless isCancelled: () -> Bool) {
        let deadline = limit.map { SystemClock.monotonicNanoseconds() + UInt64(max(0, $0) * 1e9) }
        while true {
            let now = SystemClock.monotonicNanoseconds()
            let left = deadline.map { $0 > now ? $0 - now : 0 } ?? Self.turnNanoseconds
            if progress.wait(until: isReached, forNanoseconds: min(left, Self.turnNanoseconds)) { return }
            if isCancelled() || (deadline.map { SystemClock.monotonicNanoseconds() >= $0 } ?? false) { return }
        }
    }
}

/// Why a backup started by `mkdir` failed, or what it lacks. It is shown as a file beside the backups until it is removed, a
/// backup of that name is made, or the store is unmounted.
struct BackupFailure: Sendable {
    let backupName: FileName
    let error: BackupError
    let time: Timestamp

    private static let suffix = ".error.txt"

    var fileName: FileName {
        let suffix = Array(Self.suffix.utf8)
        return FileName(bytes: FileName.fitting(backupName.bytes, reservedBytes: suffix.count) + suffix)
    }

    /// The text for users.
    var text: Message {
        let path = error.path.map { [Message.verbatim($0)] } ?? []
        return .joined(["The backup \(backupName.description): \(error.fullText)"] + path, separator: "\n")
    }
}

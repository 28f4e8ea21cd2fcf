import BackupCore
import Synchronization

/// A question to storage that may stall: a separate thread asks, one question at a time, and a caller waits up to a time limit.
/// While the thread is stuck, callers immediately get no answer; when the storage recovers, the next caller gets the state at
/// that time.
public final class StorageQuery<Answer: Sendable>: Sendable {
    private struct State {
        var askedCount = 0
        var answeredCount = 0
        var answer: Answer?
        /// Whether a thread asks, or waits to ask again.
        var hasThread = false
        var isAsking = false
        /// Since when a caller has waited without result for the current question.
        var overdueSinceNanoseconds: UInt64?
        /// The processor time of the thread at that moment.
        var usedNanoseconds: UInt64 = 0
        var activity: ThreadActivity?
    }

    private let state = Monitor(State())
    private let timeout: StorageTimeout
    private let ask: @Sendable () -> Answer

    /// How long the thread stays for the next question: starting one costs more than most answers.
    private static var lingeringNanoseconds: UInt64 { 2_000_000_000 }
    /// A thread that makes progress, with much to read on slow storage, gets this many halves of the timeout.
    private static var busyFactor: Int { 40 }
    private static var hurryStepNanoseconds: UInt64 { 50_000_000 }

    /// - Parameter ask: called from a separate thread; never from two concurrently.
    public init(_ timeout: StorageTimeout = StorageTimeout(nanoseconds: 0), ask: @escaping @Sendable () -> Answer) {
        self.timeout = timeout
        self.ask = ask
    }

    /// - Parameters:
    ///   - nanoseconds: how long to wait, when the storage's timeout does not apply.
    ///   - longNanoseconds: if a caller has already waited this long without result, do not wait at all.
    ///   - isHurried: polled; whether others wait for the caller, who then waits no longer than the storage's timeout.
    /// - Returns: an answer to a question asked after this call began; `nil` when there is none in time.
    public func answer(
        forNanoseconds nanoseconds: UInt64? = nil, evenIfOverdueFor longNanoseconds: UInt64 = 0,
        unlessHurried isHurried: (() -> Bool)? = nil
    ) -> Answer? {
        let now = SystemClock.monotonicNanoseconds()
        let (number, mustStart) = state.changeWakingAll { state -> (Int?, Bool) in
            if let since = state.overdueSinceNanoseconds, now >= since + longNanoseconds { return (nil, false) }
            state.askedCount += 1
            defer { state.hasThread = true }
            return (state.askedCount, !state.hasThread)
        }
        guard let number else { return nil }
        if mustStart { start() }
        if isAnswered(number, within: nanoseconds, isHurried) { return state.withLock { $0.answer } }
        return state.withLock { state in
            if state.answeredCount >= number { return state.answer }
            if state.isAsking, state.overdueSinceNanoseconds == nil {
                state.overdueSinceNanoseconds = SystemClock.monotonicNanoseconds()
                state.usedNanoseconds = state.activity?.usedNanoseconds ?? 0
                timeout.noteOverdue(1)
            }
            return nil
        }
    }

    /// Whether a caller has waited this long without result for the current question, and the asking thread has been idle since.
    public func hasStalled(forNanoseconds limit: UInt64) -> Bool {
        let now = SystemClock.monotonicNanoseconds()
        return state.withLock { state in
            guard let since = state.overdueSinceNanoseconds, now >= since + limit, let activity = state.activity else {
                return false
            }
            return activity.usedNanoseconds - state.usedNanoseconds < Self.idleNanoseconds
        }
    }

    /// Of processor time: a thread that reads, however slowly, uses more.
    private static var idleNanoseconds: UInt64 { 1_000_000 }

    private func isAnswered(_ number: Int, within nanoseconds: UInt64?, _ isHurried: (() -> Bool)?) -> Bool {
        func isAnswered(_ limit: UInt64) -> Bool { state.wait(until: { $0.answeredCount >= number }, forNanoseconds: limit) }
        if let nanoseconds {
            guard let isHurried else { return isAnswered(nanoseconds) }
            var waited: UInt64 = 0
            while waited < nanoseconds {
                if isAnswered(Self.hurryStepNanoseconds) { return true }
                waited += Self.hurryStepNanoseconds
                if waited >= timeout.currentNanoseconds, isHurried() { return false }
            }
            return false
        }
        // Also checked in the middle: earlier processor time proves nothing.
        let half = timeout.currentNanoseconds / 2
        var used: UInt64?
        for _ in 0..<Self.busyFactor {
            if isAnswered(half) { return true }
            let activity = state.withLock { $0.activity }
            let now = activity?.usedNanoseconds ?? 0
            if let used, used == now, activity?.waitsForProcessor != true { return false }
            used = now
        }
        return false
    }

    private func start() {
        do throws(BackupError) {
            try SystemThread { [self] in serve() }.detach()
        } catch {
            // If no thread can be started, the caller asks, and may block.
            serve()
        }
    }

    /// Asks until there has been no question for a while.
    private func serve() {
        state.withLock { $0.activity = ThreadActivity() }
        while true {
            guard state.wait(until: { $0.askedCount > $0.answeredCount }, forNanoseconds: Self.lingeringNanoseconds) || !mayEnd()
            else { return }
            let number = state.withLock { state in
                state.isAsking = true
                return state.askedCount
            }
            let answer = ask()
            state.changeWakingAll { state in
                state.answer = answer
                state.answeredCount = number
                state.isAsking = false
                if state.overdueSinceNanoseconds != nil { timeout.noteOverdue(-1) }
                state.overdueSinceNanoseconds = nil
            }
        }
    }

    /// - Returns: false when a caller has just asked.
    private func mayEnd() -> Bool {
        state.withLock { state in
            guard state.askedCount == state.answeredCount else { return false }
            state.hasThread = false
            state.activity = nil
            return true
        }
    }
}

/// How long to wait for a question to storage (`StorageQuery`). Questions to the same storage share it: while one is overdue, the
/// others wait only briefly.
public final class StorageTimeout: Sendable {
    private let nanoseconds: UInt64
    private let overdueCount = Atomic(0)

    /// Healthy storage answers faster.
    private static let shortNanoseconds: UInt64 = 20_000_000

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// For a lookup in the mount, which a person or a monitor waits for: it may take a third of a second at most.
    public static var ofMount: StorageTimeout { StorageTimeout(nanoseconds: 200_000_000) }

    /// Whether a question to the storage is overdue.
    public var isOverdue: Bool { overdueCount.load(ordering: .relaxed) > 0 }

    var currentNanoseconds: UInt64 { isOverdue ? min(nanoseconds, Self.shortNanoseconds) : nanoseconds }

    func noteOverdue(_ change: Int) { overdueCount.add(change, ordering: .relaxed) }
}

import Glibc
import SystemIO
import VirtualTree

/// Prevents requests that may wait for something else (the app's database, a disk, checksums) from using up all threads. Up to a
/// limit they are served like any others; the rest wait in a queue, without a thread, until one of those has been answered.
///
/// It knows the requests in progress, so that a request can be answered on behalf of a stuck thread: the kernel ignores the
/// second answer.
final class WaitingLane: Sendable {
    /// A request in progress.
    private struct Served {
        let header: RequestHeader
        let activity: ThreadActivity
        /// Its program has received a signal.
        var isInterrupted = false
        /// It has been answered on behalf of its thread.
        var isAnswered = false
        /// Another program waits for its answer.
        var isInTheWay = false
        /// The processor time that its thread had used at the last check, and since when that has not changed.
        var usedNanoseconds: UInt64?
        var idleSinceNanoseconds: UInt64 = 0
    }

    private struct State {
        var served: [UInt64: Served] = [:]
        var queue: [[UInt8]] = []
    }

    private let limit: Int
    /// How long a thread may do nothing at all before its request is given up.
    private let idleNanoseconds: UInt64?
    /// The same where other programs wait for its answer; `nil` where they never do.
    private let hurriedNanoseconds: UInt64?
    /// Whether closes for a killed process are answered only by those who serve them.
    private let seesKilledProcesses: Bool
    private let state = Monitor(State())

    /// - Parameters:
    ///   - idleSeconds: `nil` if requests are never given up, because they may wait for another thread.
    ///   - hurriedSeconds: `nil` if a request in progress blocks no other one in the kernel.
    ///   - seesKilledProcesses: whether the one who serves a close has to see whether its process was killed. An answer on its
    ///     behalf would let the process go before that, and what it has written would count as complete.
    init(limit: Int, idleSeconds: Double?, hurriedSeconds: Double?, seesKilledProcesses: Bool = false) {
        self.limit = limit
        self.seesKilledProcesses = seesKilledProcesses
        hurriedNanoseconds = hurriedSeconds.map { UInt64($0 * 1e9) }
        idleNanoseconds = idleSeconds.map { UInt64($0 * 1e9) }
    }

    /// - Parameter activity: of the calling thread, which serves the request.
    /// - Returns: whether to serve the request now; `leave` must follow. Otherwise it has been queued.
    func enter(_ header: RequestHeader, _ request: UnsafeRawBufferPointer, _ activity: ThreadActivity) -> Bool {
        state.withLock { state in
            if state.served.count < limit {
                state.served[header.number] = Served(header: header, activity: activity)
                return true
            }
            state.queue.append(Array(request))
            return false
        }
    }

    /// Removes a request from the queue that is not to be served any more.
    /// - Returns: whether it was in the queue.
    func remove(_ number: UInt64) -> Bool { state.withLock { $0.queue.remove(number) } }

    /// - Parameters:
    ///   - number: of the request that has been served.
    ///   - isEnding: if true, queued requests stay unanswered, but for last closes: the kernel ends them with the mount.
    /// - Returns: the request to serve next; `leave` must follow again.
    func leave(_ number: UInt64, _ activity: ThreadActivity, isEnding: Bool) -> [UInt8]? {
        state.withLock { state in
            state.served[number] = nil
            if isEnding { _ = state.queue.removeDispensable() }
            guard !state.queue.isEmpty else { return nil }
            let next = state.queue.removeFirst()
            let header = next.withUnsafeBytes { RequestHeader($0) }
            state.served[header.number] = Served(header: header, activity: activity)
            return next
        }
    }

    /// Records that the waiting program has received a signal.
    /// - Returns: whether the request is in progress here.
    func interrupt(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.served[number]?.isAnswered == false else { return false }
            state.served[number]?.isInterrupted = true
            return true
        }
    }

    /// Records that a folder was opened: the kernel blocks its listing until a change of it is answered.
    /// - Returns: whether such a change is in progress.
    func hurry(_ folder: UInt64) -> Bool {
        guard hurriedNanoseconds != nil else { return false }
        return state.withLock { state in
            var isServed = false
            for (number, one) in state.served where one.header.node == folder && !one.isAnswered {
                state.served[number]?.isInTheWay = true
                isServed = true
            }
            return isServed
        }
    }

    /// Whether another program waits for the answer to a request in progress.
    var isInTheWay: Bool { state.withLock { $0.served.values.contains { $0.isInTheWay && !$0.isAnswered } } }

    /// The requests whose programs have received a signal but still wait.
    var interrupted: [RequestHeader] {
        state.withLock { state in state.served.values.filter { $0.isInterrupted && !$0.isAnswered }.map(\.header) }
    }

    /// Whether a request must be answered by the one who serves it, although its program ends: it closes a file for a process
    /// that was killed. A program that was in close(2) before the signal came has not begun to end, and is let go.
    func mustSee(_ header: RequestHeader) -> Bool {
        seesKilledProcesses && header.isClose && ClosingProcess.isExiting(header.process)
    }

    /// Takes over the answer to a request in progress.
    /// - Returns: false when it has been answered.
    func takeOver(_ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.served[number]?.isAnswered == false else { return false }
            state.served[number]?.isAnswered = true
            return true
        }
    }

    /// Takes over the answers to requests whose threads have done nothing for too long, and to queued ones when no thread is left
    /// for them.
    func takeOverStalled() -> [RequestHeader] {
        guard let idleNanoseconds else { return [] }
        let now = SystemClock.monotonicNanoseconds()
        return state.withLock { state in
            var stalled: [RequestHeader] = []
            for (number, one) in state.served {
                let used = one.activity.usedNanoseconds
                if one.usedNanoseconds != used || one.activity.waitsForProcessor {
                    state.served[number]?.usedNanoseconds = used
                    state.served[number]?.idleSinceNanoseconds = now
                } else if !one.isAnswered,
                    now - one.idleSinceNanoseconds >= (one.isInTheWay ? hurriedNanoseconds ?? idleNanoseconds : idleNanoseconds)
                {
                    state.served[number]?.isAnswered = true
                    stalled.append(one.header)
                }
            }
            if state.served.count >= limit, state.served.values.allSatisfy({ $0.isAnswered }) {
                stalled += state.queue.removeDispensable()
            }
            return stalled
        }
    }
}

/// Answers requests on behalf of threads that are stuck in storage that does not respond: immediately when their programs have
/// received a signal that ends them, and with an error when it takes too long. Until a request that was read is answered, the
/// kernel blocks the calling program, whatever signal it gets.
final class StuckRequests: Sendable {
    private struct State {
        var isEnding = false
        /// A program has received a signal; only a later signal may be the one that ends it.
        var isUrgent = false
        /// Another program waits for the answer to a request in progress.
        var isHurried = false
    }

    private let lanes: WaitingLanes
    private let state = Monitor(State())
    private let onInterrupted: @Sendable (RequestHeader) -> Void
    private let onStalled: @Sendable (RequestHeader) -> Void
    private let turnNanoseconds: UInt64
    private let thread = Monitor<SystemThread?>(nil)

    private static let urgentNanoseconds: UInt64 = 100_000_000
    private static let hurriedNanoseconds: UInt64 = 250_000_000

    /// - Parameters:
    ///   - turnSeconds: how often to check for threads that do nothing.
    ///   - onInterrupted: answers a request whose program ends.
    ///   - onStalled: answers a request whose thread has done nothing for too long.
    init(
        _ lanes: WaitingLanes, turnSeconds: Double, onInterrupted: @escaping @Sendable (RequestHeader) -> Void,
        onStalled: @escaping @Sendable (RequestHeader) -> Void
    ) {
        self.lanes = lanes
        turnNanoseconds = UInt64(turnSeconds * 1e9)
        self.onInterrupted = onInterrupted
        self.onStalled = onStalled
        // If no thread can be started, programs wait as long as the storage does.
        let started = try? SystemThread { [self] in serve() }
        thread.withLock { $0 = started }
    }

    /// Records that the program that waits for this request has received a signal.
    /// - Returns: whether the request is in progress.
    func interrupt(_ number: UInt64) -> Bool {
        guard lanes.all.contains(where: { $0.interrupt(number) }) else { return false }
        state.changeWakingAll { $0.isUrgent = true }
        return true
    }

    /// Records that a folder was opened: a change of it in progress blocks the program that wants to list it.
    func hurry(_ folder: UInt64) {
        guard lanes.all.contains(where: { $0.hurry(folder) }) else { return }
        state.changeWakingAll { $0.isHurried = true }
    }

    /// Call it once, when no request is in progress any more.
    func end() {
        state.changeWakingAll { $0.isEnding = true }
        thread.withLock { $0 }?.join()
    }

    private func serve() {
        while true {
            let isUrgent = state.withLock { $0.isUrgent }
            if isUrgent {
                if state.wait(until: { $0.isEnding }, forNanoseconds: answerInterrupted() ? Self.urgentNanoseconds : 0) { return }
            } else {
                let isHurried = state.withLock { $0.isHurried }
                let limit = isHurried ? min(Self.hurriedNanoseconds, turnNanoseconds) : turnNanoseconds
                _ = state.wait(until: { $0.isEnding || $0.isUrgent || $0.isHurried && !isHurried }, forNanoseconds: limit)
                if state.withLock({ $0.isEnding }) { return }
                // If it is no longer in the way, the next iteration notices that.
                state.withLock { $0.isHurried = lanes.all.contains { $0.isInTheWay } }
            }
            for lane in lanes.all { lane.takeOverStalled().forEach(onStalled) }
        }
    }

    /// - Returns: whether there are programs left whose signals do not end them.
    private func answerInterrupted() -> Bool {
        state.withLock { $0.isUrgent = false }
        var areLeft = false
        for lane in lanes.all {
            for header in lane.interrupted {
                guard ProcessSignals.endProcess(header.process) else {
                    areLeft = true
                    continue
                }
                if lane.mustSee(header) { continue }
                if lane.takeOver(header.number) { onInterrupted(header) }
            }
        }
        if areLeft { state.withLock { $0.isUrgent = true } }
        return areLeft
    }
}

/// How long storage may do nothing before requests that wait for it are answered with an error.
enum StallLimits {
    /// A disk that has to spin up, or a server that is restarted, responds within this time.
    private static let repositorySeconds = 60.0
    /// The kernel keeps `snapshots/` locked for this time.
    private static let changeSeconds = 10.0
    /// The same when a program wants to list it. Not in general: a slow disk sometimes takes longer, and the change is made all
    /// the same.
    private static let hurriedChangeSeconds = 2.0

    /// For tests.
    private static let shortest = Environment.stallSeconds

    /// - Returns: `nil` if requests are never given up: readers of the live data may wait for another one that renders them. And
    ///   the bytes of a large photo may wait for a slow disk.
    static func idleSeconds(of wait: RequestWait) -> Double? {
        switch wait {
        case .app, .store, .drop, .star, .job, .copySet, .copySetView: nil
        case .repository, .checksums, .network: shortest ?? repositorySeconds
        case .change: min(shortest ?? changeSeconds, changeSeconds)
        }
    }

    /// - Returns: `nil` for requests that block no other request in the kernel.
    static func hurriedSeconds(of wait: RequestWait) -> Double? {
        wait == .change ? min(shortest ?? hurriedChangeSeconds, hurriedChangeSeconds) : nil
    }

    static var turnSeconds: Double { min(5, (shortest ?? repositorySeconds) / 4) }
}

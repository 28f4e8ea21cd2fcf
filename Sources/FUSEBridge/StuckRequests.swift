import Glibc
import SystemIO

/// Answers requests in the place of threads that are stuck in storage that does not answer: at once when their programs have got a signal that ends
/// them, and by an error when that takes too long. The kernel keeps a program waiting, whatever signal it gets, until a request that was taken is answered.
final class StuckRequests: Sendable {
    private struct State {
        var isEnding = false
        /// Somebody has got a signal: his process may be asked to end only by the next.
        var isUrgent = false
        /// Another program waits for the answer to a request that is being served.
        var isHurried = false
    }

    private let lanes: [WaitingLane]
    private let state = Monitor(State())
    private let onInterrupted: @Sendable (RequestHeader) -> Void
    private let onStalled: @Sendable (RequestHeader) -> Void
    private let turnNanoseconds: UInt64
    private let thread = Monitor<SystemThread?>(nil)

    private static let urgentNanoseconds: UInt64 = 100_000_000
    private static let hurriedNanoseconds: UInt64 = 250_000_000

    /// - Parameters:
    ///   - turnSeconds: how often it is looked for threads that do nothing.
    ///   - onInterrupted: answers a request whose program ends.
    ///   - onStalled: answers a request whose thread has done nothing for too long.
    init(
        _ lanes: [WaitingLane], turnSeconds: Double, onInterrupted: @escaping @Sendable (RequestHeader) -> Void,
        onStalled: @escaping @Sendable (RequestHeader) -> Void
    ) {
        self.lanes = lanes
        turnNanoseconds = UInt64(turnSeconds * 1e9)
        self.onInterrupted = onInterrupted
        self.onStalled = onStalled
        // Without a thread to spare, who waits for storage waits.
        let started = try? SystemThread { [self] in serve() }
        thread.withLock { $0 = started }
    }

    /// A signal has come for the program that waits for this request.
    /// - Returns: whether it is being served.
    func interrupt(_ number: UInt64) -> Bool {
        guard lanes.contains(where: { $0.interrupt(number) }) else { return false }
        state.changeWakingAll { $0.isUrgent = true }
        return true
    }

    /// A folder has been opened: a change of it that is being served is in the way of the program that wants to list it.
    func hurry(_ folder: UInt64) {
        guard lanes.contains(where: { $0.hurry(folder) }) else { return }
        state.changeWakingAll { $0.isHurried = true }
    }

    /// Call it once, when nothing is being served any more.
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
                // What it has not to do with any more is seen at the next turn.
                state.withLock { $0.isHurried = lanes.contains { $0.isInTheWay } }
            }
            for lane in lanes { lane.takeOverStalled().forEach(onStalled) }
        }
    }

    /// - Returns: whether some are left that have got a signal that does not end them.
    private func answerInterrupted() -> Bool {
        state.withLock { $0.isUrgent = false }
        var areLeft = false
        for lane in lanes {
            for header in lane.interrupted {
                guard ProcessSignals.endProcess(header.process) else {
                    areLeft = true
                    continue
                }
                if lane.takeOver(header.number) { onInterrupted(header) }
            }
        }
        if areLeft { state.withLock { $0.isUrgent = true } }
        return areLeft
    }
}

import Glibc
import SystemIO

/// Answers requests on behalf of threads that are stuck in storage that does not respond: immediately when their programs have received a signal that ends
/// them, and with an error when it takes too long. Until a request that was read is answered, the kernel blocks the calling program, whatever signal it gets.
final class StuckRequests: Sendable {
    private struct State {
        var isEnding = false
        /// A program has received a signal; only a later signal may be the one that ends it.
        var isUrgent = false
        /// Another program waits for the answer to a request in progress.
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
    ///   - turnSeconds: how often to check for threads that do nothing.
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
        // If no thread can be started, programs wait as long as the storage does.
        let started = try? SystemThread { [self] in serve() }
        thread.withLock { $0 = started }
    }

    /// Records that the program that waits for this request has received a signal.
    /// - Returns: whether the request is in progress.
    func interrupt(_ number: UInt64) -> Bool {
        guard lanes.contains(where: { $0.interrupt(number) }) else { return false }
        state.changeWakingAll { $0.isUrgent = true }
        return true
    }

    /// Records that a folder was opened: a change of it in progress blocks the program that wants to list it.
    func hurry(_ folder: UInt64) {
        guard lanes.contains(where: { $0.hurry(folder) }) else { return }
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
                state.withLock { $0.isHurried = lanes.contains { $0.isInTheWay } }
            }
            for lane in lanes { lane.takeOverStalled().forEach(onStalled) }
        }
    }

    /// - Returns: whether there are programs left whose signals do not end them.
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

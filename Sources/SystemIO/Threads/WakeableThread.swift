import BackupCore

/// A thread that works in turns, with waits between them that can be cut short: the background work of a mount.
public final class WakeableThread: Sendable {
    /// One turn, on the thread.
    /// - Parameters:
    ///   - isWoken: whether `wake` was called since the turn before.
    ///   - cancellation: for what may take long; it is requested when the thread is to end.
    /// - Returns: how long to wait until the next turn, in nanoseconds.
    public typealias Turn = (_ isWoken: Bool, _ cancellation: Cancellation) -> UInt64

    /// Storage that does not answer must not keep the mount from ending.
    private static let endNanoseconds: UInt64 = 1_000_000_000

    private struct State {
        var isEnding = false
        var hasEnded = false
        var isWoken = false
    }

    private let state = Monitor(State())
    private let cancellation = Cancellation()
    private let thread: SystemThread

    /// Starts the thread. The first turn begins at once.
    /// - Parameter makeTurn: called once, on the thread.
    /// - Throws: `inputOutput` when the system cannot start a thread.
    public init(_ makeTurn: @escaping @Sendable () -> Turn) throws(BackupError) {
        thread = try SystemThread { [state, cancellation] in
            let turn = makeTurn()
            while true {
                let (isEnding, isWoken) = state.withLock { state in
                    defer { state.isWoken = false }
                    return (state.isEnding, state.isWoken)
                }
                if isEnding { break }
                let nanoseconds = turn(isWoken, cancellation)
                _ = state.wait(until: { $0.isEnding || $0.isWoken }, forNanoseconds: nanoseconds)
            }
            state.changeWakingAll { $0.hasEnded = true }
        }
    }

    /// Makes the next turn begin now, or right after the present one.
    public func wake() { state.changeWakingAll { $0.isWoken = true } }

    /// Cancels the present turn and ends the thread. Returns within about a second. Call it once.
    public func end() {
        state.changeWakingAll { $0.isEnding = true }
        cancellation.request()
        if state.wait(until: { $0.hasEnded }, forNanoseconds: Self.endNanoseconds) { thread.join() } else { thread.detach() }
    }
}

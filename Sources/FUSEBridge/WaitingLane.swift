import Glibc
import SystemIO

/// Keeps requests that may wait for something else (for the app's database, for a disk, for checksums) from taking up all threads. Up to a limit they
/// are served like any other; the rest stand in a queue, without a thread, until one of those has been answered.
final class WaitingLane: Sendable {
    private struct State {
        var servedCount = 0
        var queue: [[UInt8]] = []
    }

    private let limit: Int
    private let state = Monitor(State())

    init(limit: Int) { self.limit = limit }

    /// - Returns: whether the request is to be served now; `leave` must follow. Otherwise it has been put into the queue.
    func enter(_ request: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            if state.servedCount < limit {
                state.servedCount += 1
                return true
            }
            state.queue.append(Array(request))
            return false
        }
    }

    /// Takes one out of the queue that is not to be served any more.
    /// - Returns: whether it was there.
    func remove(_ number: UInt64) -> Bool { state.withLock { $0.queue.remove(number) } }

    /// - Parameter isEnding: then what stands in the queue stays unanswered: the kernel ends it with the mount.
    /// - Returns: the request to be served next in the place of the one that has been answered; `leave` must follow again.
    func leave(isEnding: Bool) -> [UInt8]? {
        state.withLock { state in
            if isEnding { state.queue = [] }
            if state.queue.isEmpty {
                state.servedCount -= 1
                return nil
            }
            return state.queue.removeFirst()
        }
    }
}

import Glibc
import SystemIO

/// Accesses to folders of unfinished backups: they wait here, without a thread, until the backup has ended.
final class ParkedRequests: Sendable {
    private struct State {
        var requests: [[UInt8]] = []
        var isEnding = false
        var isServing = false
    }

    private let state = Monitor(State())

    /// - Parameter isPending: called again under the lock, while no request can be taken out.
    /// - Returns: whether the request waits here now.
    func park(_ request: UnsafeRawBufferPointer, if isPending: () -> Bool) -> Bool {
        // Usually there is nothing to wait for, and no lock is taken.
        guard isPending() else { return false }
        return state.withLock { state in
            guard !state.isEnding, isPending() else { return false }
            state.requests.append(Array(request))
            return true
        }
    }

    /// Removes a request that is not to be served any more.
    /// - Returns: whether it was here.
    func remove(_ number: UInt64) -> Bool { state.withLock { $0.requests.remove(number) } }

    /// Serves all waiting requests. Those whose folder is still pending are parked again.
    func serve(_ process: (UnsafeMutableRawBufferPointer) -> Void) {
        while true {
            var requests = state.changeWakingAll { state in
                state.isServing = !state.isEnding && !state.requests.isEmpty
                defer { state.requests = [] }
                return state.isServing ? state.requests : []
            }
            guard !requests.isEmpty else { return }
            for index in requests.indices { requests[index].withUnsafeMutableBytes { process($0) } }
        }
    }

    /// Stops serving: the kernel ends the waiting requests with the mount. Returns when none is being served.
    func end() {
        state.withLock { $0.isEnding = true }
        state.wait(until: { !$0.isServing }) { _ in }
    }
}

extension [[UInt8]] {
    /// Removes the request with this number.
    /// - Returns: whether it was there.
    mutating func remove(_ number: UInt64) -> Bool {
        guard let index = firstIndex(where: { $0.withUnsafeBytes { RequestHeader($0).number } == number }) else { return false }
        remove(at: index)
        return true
    }
}

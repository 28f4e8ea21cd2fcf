import Glibc
import SystemIO

/// Looks into folders whose backups are not finished: they wait here, without a thread, until the backup has ended.
final class ParkedRequests: Sendable {
    private struct State {
        var requests: [[UInt8]] = []
        var isEnding = false
        var isServing = false
    }

    private let state = Monitor(State())

    /// - Parameter isPending: asked again while none can be taken out.
    /// - Returns: whether it waits here now.
    func park(_ request: UnsafeRawBufferPointer, if isPending: () -> Bool) -> Bool {
        // Nearly always there is nothing to wait for, and no lock is taken.
        guard isPending() else { return false }
        return state.withLock { state in
            guard !state.isEnding, isPending() else { return false }
            state.requests.append(Array(request))
            return true
        }
    }

    /// Takes one out that is not to be served any more.
    /// - Returns: whether it was here.
    func remove(_ number: UInt64) -> Bool { state.withLock { $0.requests.remove(number) } }

    /// Serves all that wait. Those whose folder is pending still come back by themselves.
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

    /// Serves none any more: what waits is ended by the kernel, with the mount. Returns when none is being served.
    func end() {
        state.withLock { $0.isEnding = true }
        state.wait(until: { !$0.isServing }) { _ in }
    }
}

extension [[UInt8]] {
    /// Takes the request with this number out.
    /// - Returns: whether it was there.
    mutating func remove(_ number: UInt64) -> Bool {
        guard let index = firstIndex(where: { $0.withUnsafeBytes { RequestHeader($0).number } == number }) else { return false }
        remove(at: index)
        return true
    }
}

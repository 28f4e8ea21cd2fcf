import BackupCore
import Synchronization

/// Work of a group that must run in submission order, one piece at a time, on any free thread.
///
/// After a failure of the group its work is dropped, not run: resources it holds (a block of a pool) return to those who wait for them.
public final class SerialLane: Sendable {
    public typealias Work = @Sendable () throws(BackupError) -> Void

    private struct State {
        var waiting: [Work] = []
        var isRunning = false
    }

    private let group: WorkGroup
    private let state = Mutex(State())

    public init(_ group: WorkGroup) { self.group = group }

    /// Never blocks. The lane does not bound its queue: bound the resources that the work needs.
    public func submit(_ work: @escaping Work) {
        let mustStart = state.withLock { state in
            state.waiting.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { group.submitRegardless { [self] in run() } }
    }

    private func run() {
        while true {
            let works = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isRunning = false }
                return state.waiting
            }
            if works.isEmpty { return }
            for work in works where !group.hasFailed {
                do throws(BackupError) {
                    try work()
                } catch {
                    group.fail(error)
                }
            }
        }
    }
}

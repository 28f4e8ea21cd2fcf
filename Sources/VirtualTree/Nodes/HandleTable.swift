import BackupCore
import SystemIO

/// Open files and folders by number.
final class HandleTable<Open: Sendable>: Sendable {
    private struct State {
        var next: UInt64 = 1
        var open: [UInt64: Open] = [:]
    }

    private let state = Monitor(State())

    func insert(_ open: Open) -> HandleNumber {
        state.withLock { state in
            defer { state.next += 1 }
            state.open[state.next] = open
            return HandleNumber(state.next)
        }
    }

    /// - Throws: `badHandle`.
    func get(_ handle: HandleNumber) throws(BackupError) -> Open {
        guard let open = state.withLock({ $0.open[handle.rawValue] }) else {
            throw BackupError(.badHandle, "the file is not open")
        }
        return open
    }

    func remove(_ handle: HandleNumber) -> Open? { state.withLock { $0.open.removeValue(forKey: handle.rawValue) } }

    var count: Int { state.withLock { $0.open.count } }
}

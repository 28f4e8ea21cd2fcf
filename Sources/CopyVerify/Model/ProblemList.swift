import BackupCore
import Synchronization

/// Problems that belong to no file of a destination, and warnings.
final class ProblemList: Sendable {
    private static let limit = 10_000

    private struct State: Sendable {
        var problems: [String] = []
        var warnings: [String] = []
        var noted: Set<String> = []
    }

    private let state = Mutex(State())

    var problems: [String] { state.withLock { $0.problems } }
    var warnings: [String] { state.withLock { $0.warnings } }

    func add(_ error: BackupError) {
        let text = error.summary.english
        state.withLock { if $0.problems.count < Self.limit { $0.problems.append(text) } }
    }

    func warn(_ text: Message) {
        let text = text.english
        state.withLock { if $0.warnings.count < Self.limit { $0.warnings.append(text) } }
    }

    /// Warns only the first time.
    /// - Parameter key: what the warning is about.
    func warnOnce(_ key: String, _ text: Message) {
        let isFirst = state.withLock { $0.noted.insert(key).inserted }
        if isFirst { warn(text) }
    }
}

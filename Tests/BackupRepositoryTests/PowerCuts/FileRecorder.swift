import BackupCore
import Synchronization
import SystemIO

/// Writes down every change to files, in its order, and what was promised at which moment.
final class FileRecorder: FileObserver {
    /// What must be there from a moment on.
    struct Promise: Sendable, Hashable {
        /// Snapshots that must be listed.
        var kept: Set<FileName> = []
        /// Snapshots that may be listed.
        var possible: Set<FileName> = []
        /// Snapshots that must be listed, or be there to be brought back.
        var recoverable: Set<FileName> = []
        /// The two names of a snapshot that is being renamed: exactly one of them must be listed.
        var renaming: Set<FileName> = []
    }

    private struct History: Sendable {
        var operations: [FileOperation] = []
        /// Each with the number of operations before it.
        var promises: [(count: Int, promise: Promise)] = []
    }

    private let history = Mutex(History())

    var operations: [FileOperation] { history.withLock { $0.operations } }

    func promise(_ promise: Promise) {
        history.withLock { $0.promises.append(($0.operations.count, promise)) }
    }

    /// What holds when the first `count` operations have been made: whatever was promised before the next one began.
    func promise(after count: Int) -> Promise {
        history.withLock { history in history.promises.last { $0.count <= count }?.promise ?? Promise() }
    }

    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        // The lock keeps the order: what another thread does comes before or after.
        let result = history.withLock { history in
            let result = Result { () throws(BackupError) in try body() }
            if case .success = result { history.operations.append(operation) }
            return result
        }
        try result.get()
    }
}

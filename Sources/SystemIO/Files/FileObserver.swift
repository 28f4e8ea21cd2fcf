import BackupCore

/// Intercepts the program's changes to files: records them or makes them fail. For tests; see `FileObservation`.
public protocol FileObserver: Sendable {
    /// - Parameter body: makes the change. An observer that keeps the order of operations holds a lock during it.
    /// - Throws: errors of `body`, or an error of its own instead of calling it.
    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError)
}

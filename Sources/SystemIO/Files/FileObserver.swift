import BackupCore

/// Stands between the program and its changes to files: writes them down, or lets them fail. For tests; see `FileObservation`.
public protocol FileObserver: Sendable {
    /// - Parameter body: does it. Whoever keeps an order of operations holds a lock meanwhile.
    /// - Throws: what `body` throws, or an error of its own in place of calling it.
    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError)
}

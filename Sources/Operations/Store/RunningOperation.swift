import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// The operation that a process of this machine runs on a store.
public struct RunningOperation: Sendable, Equatable {
    /// The operation's name.
    public let name: String
    private let holder: LockHolder

    /// - Returns: `nil` when none runs, or it is unknown which.
    init?(paths: StorePaths) {
        guard (try? AdvisoryLock.isHeld(path: paths.operationLock)) != false,
            let note = try? FileSystem.readFile(paths.operationLock, limitBytes: 1 << 16),
            let holder = LockHolder(decoding: note),
            holder.runsHere
        else { return nil }
        let monitor = OperationMonitor(recordPath: paths.operationRecord, errorPath: paths.lastErrorRecord)
        name = monitor.recordedOperation() ?? holder.operation
        self.holder = holder
    }

    /// The operation on the store at `path`, without opening the store.
    /// - Returns: `nil` when none runs.
    /// - Throws: `noRepository` when there is no store.
    public static func of(storeAt path: String) throws(BackupError) -> RunningOperation? {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        return RunningOperation(paths: paths)
    }

    /// Whether both are the same run.
    public static func == (left: RunningOperation, right: RunningOperation) -> Bool { left.holder == right.holder }

    /// For display.
    public var text: Message { holder.renamed(name).text }

    /// Asks its process to end it with SIGUSR1, which has this meaning in all processes of this program.
    /// - Returns: whether the signal was sent.
    public func cancel() -> Bool { kill(holder.process, SIGUSR1) == 0 }
}

import BackupCore
import Glibc
import Synchronization
import SystemIO

/// Makes a change to a file fail as on a full disk. Changes that free space, or need none, always work.
public final class FullDisk: FileObserver {
    public enum Duration: Sendable, CaseIterable { case once, forGood }

    private let failing: Int
    private let duration: Duration
    private let state = Mutex<(count: Int, failed: FileOperation?)>((0, nil))

    /// - Parameter failing: the first change that fails, counted from 1 among those that need space.
    public init(failing: Int, duration: Duration) {
        self.failing = failing
        self.duration = duration
    }

    /// Whether a change was made to fail.
    public var wasReached: Bool { state.withLock { $0.count >= failing } }

    /// The first change that failed.
    public var failed: FileOperation? { state.withLock { $0.failed } }

    public func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        guard Self.needsSpace(operation) else { return try body() }
        let number = state.withLock { state in
            state.count += 1
            if state.count == failing { state.failed = operation }
            return state.count
        }
        let fails = duration == .once ? number == failing : number >= failing
        if fails { throw SystemCall.error(ENOSPC, action: "write", path: operation.path) }
        try body()
    }

    /// Whether the first failure was the note of a lock, which is not needed for many operations on a local disk.
    public var wasNote: Bool { failed?.path.contains("/locks/") == true }

    private static func needsSpace(_ operation: FileOperation) -> Bool {
        switch operation {
        case .open(let path, _): access(path, F_OK) != 0
        case .makeDirectory(let path): access(path, F_OK) != 0
        // The renewal of a note: its bytes exist already.
        case .write(let path, _, _) where path.hasSuffix(".lock"): false
        // Also when a file is synchronized: that is when many file systems allocate space.
        case .write, .truncate, .makeLink, .rename, .exchange, .synchronize, .synchronizeFileSystem: true
        case .remove, .removeDirectory: false
        }
    }
}

import BackupCore
import Glibc
import Synchronization
import SystemIO

/// Lets a change to a file fail as it does when the disk is full. What gives room back, or needs none, always works.
final class FullDisk: FileObserver {
    enum Duration: Sendable, CaseIterable { case once, forGood }

    private let failing: Int
    private let duration: Duration
    private let state = Mutex<(count: Int, failed: FileOperation?)>((0, nil))

    /// - Parameter failing: the first change that fails, counted from 1 among those that need room.
    init(failing: Int, duration: Duration) {
        self.failing = failing
        self.duration = duration
    }

    /// Whether a change was made to fail.
    var wasReached: Bool { state.withLock { $0.count >= failing } }

    /// What failed first.
    var failed: FileOperation? { state.withLock { $0.failed } }

    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
        guard Self.needsRoom(operation) else { return try body() }
        let number = state.withLock { state in
            state.count += 1
            if state.count == failing { state.failed = operation }
            return state.count
        }
        let fails = duration == .once ? number == failing : number >= failing
        if fails { throw SystemCall.error(ENOSPC, action: "write", path: operation.path) }
        try body()
    }

    private static func needsRoom(_ operation: FileOperation) -> Bool {
        switch operation {
        case .open(let path, _): !FileSystem.exists(path)
        case .makeDirectory(let path): !FileSystem.exists(path)
        // Also when a file is synchronized: that is when many file systems look for room.
        case .write, .truncate, .makeLink, .rename, .exchange, .synchronize, .synchronizeFileSystem: true
        case .remove, .removeDirectory: false
        }
    }
}

import BackupCore
import Glibc
import Synchronization
import TestSupport
import Testing
import VirtualTree

@testable import FUSEBridge
@testable import SystemIO

/// A tree mounted in a temporary folder for the time of one test, and the tools that look at it.
final class MountedTree {
    let tree: MemoryTree
    let path: String
    private let session: MountSession
    private let outcome: Outcome
    private let thread: SystemThread
    private let cleaner: Int32

    /// How `run` ended; set once, by the session's thread, before it posts `ended`.
    final class Outcome: @unchecked Sendable {
        let session: MountSession
        var ready = sem_t()
        var result: Result<MountSession.End, BackupError>?

        init(_ session: MountSession) {
            self.session = session
            sem_init(&ready, 0, 0)
        }
    }

    init(
        _ tree: MemoryTree = MemoryTree(), options: MountOptions = MountOptions(), at folder: String? = nil,
        requests: RequestMonitor = RequestMonitor()
    ) throws {
        try Machine.requireFUSE()
        self.tree = tree
        path = try folder ?? TestMachine.makeTemporaryFolder()
        session = try MountSession(tree: tree, mountpoint: path, options: options, requests: requests)
        outcome = Outcome(session)
        cleaner = try TestMachine.startCleaner(path)
        thread = try SystemThread { [outcome] in
            outcome.result = Result { () throws(BackupError) in
                try outcome.session.run(endsOnSignals: false) { sem_post(&outcome.ready) }
            }
            sem_post(&outcome.ready)
        }
        sem_wait(&outcome.ready)
        if case .failure(let error) = outcome.result { throw error }
    }

    /// Ends the mount in the ordinary way and says how it ended.
    @discardableResult
    func end() throws -> MountSession.End {
        session.requestEnd()
        return try waitForEnd()
    }

    /// Waits until another process has ended it.
    func waitForEnd() throws -> MountSession.End {
        thread.join()
        isJoined = true
        return try #require(outcome.result).get()
    }

    private var isJoined = false

    deinit {
        if !isJoined {
            session.requestEnd()
            thread.join()
        }
        _ = write(cleaner, "\n", 1)
        close(cleaner)
        _ = rmdir(path)
    }

    /// Waits until nothing is open any more. The kernel tells of the last close in its own time, and what it has not told of when
    /// a mount ends, it never tells.
    func waitUntilAllIsClosed(_ place: SourceLocation = #_sourceLocation) {
        for _ in 0..<1000 {
            if tree.state.withLock({ $0.files.isEmpty && $0.directories.isEmpty }) { return }
            usleep(10_000)
        }
        Issue.record("something stays open", sourceLocation: place)
    }

    /// Runs a shell script with `$M` naming the mountpoint.
    func sh(_ script: String) throws -> (exitCode: Int32, output: String) { try TestMachine.sh(script, mountpoint: path) }

    /// Runs a shell script that must succeed.
    func output(_ script: String, _ place: SourceLocation = #_sourceLocation) throws -> String {
        let result = try sh(script)
        #expect(result.exitCode == 0, "\(script): \(result.output)", sourceLocation: place)
        return result.output
    }
}

enum TestMachine {
    static func makeTemporaryFolder() throws -> String { try TemporaryFolder.make("/tmp/backupfs-test") }

    /// When the test process crashes, a shell sees the end of its input and unmounts. It is in a session of its own: a signal to
    /// the process group of the tests does not kill it.
    /// - Returns: the descriptor to write a line to when the mount is gone.
    static func startCleaner(_ path: String) throws -> Int32 {
        let pipe = try SystemIO.Pipe()
        let reader = try OwnedDescriptor.duplicate(pipe.reader, from: 10)
        // Forked twice, so that no process has to wait for it.
        let script = "(read line <&3 && exit; umount -l '\(path)' || fusermount3 -u -z '\(path)'; rmdir '\(path)') &"
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        _ = try Subprocess("/bin/sh", ["sh", "-c", script], descriptors: [null, null, reader.rawValue], leads: .session).wait()
        return fcntl(pipe.writer.rawValue, F_DUPFD_CLOEXEC, 3)
    }

    static func sh(_ script: String, mountpoint: String = "") throws -> (exitCode: Int32, output: String) {
        let result = try Subprocess.run("/bin/sh", ["-c", "M='\(mountpoint)'; export LC_ALL=C TZ=UTC; \(script)"])
        return (result.exitCode, result.message)
    }
}

import BackupCore
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import SystemIO

/// Locks, processes, pipes, errors and clocks.
struct ProcessTests {
    @Test func `a lock keeps everybody else away until it is let go of`() throws {
        let folder = try TemporaryFolder()
        let path = folder("lock")
        #expect(try !AdvisoryLock.isHeld(path: path))
        var lock: AdvisoryLock? = try AdvisoryLock(path: path)
        #expect(errorCode { _ = try AdvisoryLock(path: path) } == .busy)
        #expect(errorCode { _ = try AdvisoryLock(path: path, exclusive: false) } == .busy)
        #expect(try AdvisoryLock.isHeld(path: path))
        withExtendedLifetime(lock) {}
        lock = nil
        #expect(try !AdvisoryLock.isHeld(path: path))
        let shared = try [AdvisoryLock(path: path, exclusive: false), AdvisoryLock(path: path, exclusive: false)]
        #expect(errorCode { _ = try AdvisoryLock(path: path) } == .busy)
        #expect(try AdvisoryLock.isHeld(path: path))
        withExtendedLifetime(shared) {}
        #expect(try FileSystem.status(path).mode & 0o777 == 0o600)
    }

    @Test func `looking at a lock never takes it`() throws {
        let folder = try TemporaryFolder()
        let path = folder("lock")
        _ = try AdvisoryLock(path: path)
        let failures = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 4) { worker in
            for _ in 0..<500 {
                if worker > 0 {
                    _ = try? AdvisoryLock.isHeld(path: path)
                } else if (try? AdvisoryLock(path: path)) == nil {
                    failures.withLock { $0 += 1 }
                }
            }
        }
        #expect(failures.withLock { $0 } == 0)
    }

    @Test func `a lock ends with the process that held it, however that ends`() throws {
        let folder = try TemporaryFolder()
        let path = folder("lock")
        // F_OFD_SETLK with a whole-file write lock, by another program; it says so and waits to be killed.
        let script = """
            import fcntl, os, struct, sys, time
            f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
            print("held", flush=True)
            time.sleep(60)
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script, path]
        let pipe = Foundation.Pipe()
        process.standardOutput = pipe
        try process.run()
        defer { if process.isRunning { process.terminate() } }
        #expect(!pipe.fileHandleForReading.availableData.isEmpty)
        #expect(try AdvisoryLock.isHeld(path: path))
        #expect(errorCode { _ = try AdvisoryLock(path: path) } == .busy)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(try !AdvisoryLock.isHeld(path: path))
        _ = try AdvisoryLock(path: path)
    }

    @Test func `a thread is distinguished from its process`() throws {
        #expect(ProcessIdentity.process(ofThread: getpid()) == getpid())
        let isDone = DispatchSemaphore(value: 0)
        let observed = Mutex<(thread: Int32, process: Int32?)>((0, 0))
        let thread = Thread {
            // "PROCESS/task/THREAD"
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            let number = link.flatMap { Int32($0.split(separator: "/").last ?? "") } ?? 0
            observed.withLock { $0 = (number, ProcessIdentity.process(ofThread: number)) }
            isDone.signal()
        }
        thread.start()
        isDone.wait()
        let (number, process) = observed.withLock { $0 }
        #expect(number > 0 && number != getpid())
        #expect(process == getpid())
        // No user: the kernel does not say, or the process has ended.
        #expect(ProcessIdentity.process(ofThread: 0) == 0)
        #expect(ProcessIdentity.process(ofThread: -5) == -5)
        #expect(ProcessIdentity.process(ofThread: .max) == nil)
    }

    @Test func `a pipe ends when its last writer is gone`() throws {
        let pipe = try SystemIO.Pipe()
        try pipe.writer.writeAll([1, 2, 3])
        let copy = try OwnedDescriptor.duplicate(pipe.writer, from: 100)
        #expect(copy.rawValue >= 100)
        #expect(fcntl(copy.rawValue, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(pipe.reader.rawValue, F_GETFD) & FD_CLOEXEC != 0)
        try copy.writeAll([4])
        let reader = pipe.takeReader()
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(read(reader.rawValue, &buffer, 10) == 4)
        #expect(buffer[..<4] == [1, 2, 3, 4])
    }

    @Test(arguments: [
        (ENOENT, BackupError.Code.notFound), (EEXIST, .alreadyExists), (EACCES, .accessDenied), (EPERM, .notPermitted),
        (EROFS, .readOnly),
        (ENOSPC, .noSpace), (EDQUOT, .noSpace), (EFBIG, .tooLarge), (EBUSY, .busy), (EAGAIN, .busy), (ENOTDIR, .notADirectory),
        (EISDIR, .isADirectory), (ENOTEMPTY, .notEmpty), (ENAMETOOLONG, .nameTooLong), (ENODATA, .noAttribute),
        (ENOSYS, .notSupported),
        (EXDEV, .crossDevice), (EBADF, .badHandle), (EIO, .inputOutput), (ESTALE, .inputOutput),
    ])
    func `what an errno means`(number: Int32, code: BackupError.Code) {
        let error = SystemCall.error(number, action: "open the file", path: "/x")
        #expect(error.code == code)
        #expect(error.path == "/x")
        #expect(error.message == "could not open the file: \(String(cString: strerror(number)))")
    }

    @Test func `tokens are 32 digits and never the same`() {
        let tokens = (0..<1000).map { _ in RandomToken.make() }
        #expect(Set(tokens).count == 1000)
        #expect(tokens.allSatisfy { $0.count == 32 && $0.allSatisfy { "0123456789abcdef".contains($0) } })
    }

    @Test func `the clock is the system's, and stamps sort by time`() throws {
        let before = time(nil)
        let now = SystemClock.now()
        #expect(now.seconds >= Int64(before) && now.seconds <= Int64(before) + 60)
        let seconds: Int64 = 1_768_141_800
        let expected = try shell("date -d @$1 '+%Y-%m-%d_%H-%M-%S|%Y-%m-%d %H:%M:%S'", String(seconds)).output
        let time = Timestamp(seconds: seconds)
        #expect("\(SystemClock.localStamp(time))|\(SystemClock.localTime(time))\n" == expected)
    }

    /// The variable is read once, when the first point is passed: without it a point does nothing.
    @Test func `a fault point does nothing unless it is asked for`() throws {
        try #require(getenv("BACKUPFS_FAULT") == nil)
        for _ in 0..<3 { try FaultInjection.reached("test.point") }
    }
}

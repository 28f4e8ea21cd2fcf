import BackupCore
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import SystemIO

/// Lines that several append at once.
struct RotatingLogTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func text(_ folder: TemporaryFolder, _ name: String) throws -> String {
        String(decoding: try folder.read(name), as: UTF8.self)
    }

    @Test func `a file that would become too large is rotated, and the given number of old ones stays`() throws {
        let folder = try TemporaryFolder()
        let file = RotatingLog(path: folder("log"))
        // Two lines of five bytes fit, a third does not.
        for number in 1...9 { try file.append(bytes("row\(number)"), limitBytes: 14, oldFileCount: 2) }
        #expect(try text(folder, "log") == "row9\n")
        #expect(try text(folder, "log.1") == "row7\nrow8\n")
        #expect(try text(folder, "log.2") == "row5\nrow6\n")
        #expect(try !FileSystem.exists(folder("log.3")))
        try file.append(bytes("rowA"), limitBytes: 10, oldFileCount: 0)
        try file.append(bytes("rowB"), limitBytes: 10, oldFileCount: 0)
        #expect(try text(folder, "log") == "rowB\n")
        // A line that is larger than the limit still has its place.
        try file.append(bytes("a line that is longer"), limitBytes: 10, oldFileCount: 0)
        #expect(try text(folder, "log") == "a line that is longer\n")
    }

    @Test func `many at once lose no line and tear none, however often files rotate meanwhile`() throws {
        let folder = try TemporaryFolder()
        let before = try DirectoryHandle(path: "/proc/self/fd").names().count
        let failures = Mutex(0)
        let threads = try (0..<8).map { writer in
            try SystemThread {
                for number in 0..<200 {
                    do {
                        // As each process has it: nothing is shared but the file.
                        try RotatingLog(path: folder("log")).append(
                            Array("\(writer)-\(number)-end".utf8), limitBytes: 400, oldFileCount: 100)
                    } catch { failures.withLock { $0 += 1 } }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == 0)
        let lines = try DirectoryHandle(path: folder("")).names().flatMap {
            try text(folder, $0.description).split(separator: "\n").map(String.init)
        }
        #expect(lines.sorted() == (0..<8).flatMap { writer in (0..<200).map { "\(writer)-\($0)-end" } }.sorted())
        #expect(try DirectoryHandle(path: folder("")).names().count > 30, "it was begun anew many times")
        #expect(try DirectoryHandle(path: "/proc/self/fd").names().count <= before + 2, "descriptors are left")
    }

    @Test func `what a crash left of a line is closed off`() throws {
        let folder = try TemporaryFolder()
        try folder.write(bytes("whole\nhal"), to: "log")
        try RotatingLog(path: folder("log")).append(bytes("next"), limitBytes: 1_000, oldFileCount: 1)
        #expect(try text(folder, "log") == "whole\nhal\nnext\n")
    }

    @Test func `it is for its owner alone, and a link is not followed`() throws {
        let folder = try TemporaryFolder()
        let old = umask(0o277)
        defer { umask(old) }
        try RotatingLog(path: folder("log")).append(bytes("one"), limitBytes: 1_000, oldFileCount: 1)
        umask(old)
        #expect(try FileSystem.status(folder("log")).mode & 0o7777 == 0o600)
        try folder.write(bytes("other"), to: "victim")
        try #require(symlink(folder("victim"), folder("link")) == 0)
        #expect(throws: BackupError.self) {
            try RotatingLog(path: folder("link")).append(bytes("one"), limitBytes: 1_000, oldFileCount: 1)
        }
        #expect(try text(folder, "victim") == "other")
        // A device is written to as it is, also one that is always full.
        try RotatingLog(path: "/dev/null").append(bytes("one"), limitBytes: 1, oldFileCount: 1)
        #expect(throws: BackupError.self) {
            try RotatingLog(path: "/dev/full").append(bytes("one"), limitBytes: 1, oldFileCount: 1)
        }
    }

    @Test func `a process that holds the lock for ever keeps no other from writing`() throws {
        let folder = try TemporaryFolder()
        let file = RotatingLog(path: folder("log"))
        try file.append(bytes("one"), limitBytes: 4, oldFileCount: 1)
        let lock = try AdvisoryLock(path: folder("log"))
        try file.append(bytes("two"), limitBytes: 4, oldFileCount: 1)
        withExtendedLifetime(lock) {}
        #expect(try text(folder, "log") == "one\ntwo\n")
        #expect(try !FileSystem.exists(folder("log.1")), "without the lock it is not begun anew")
    }

    // MARK: The journal

    @Test func `an entry is one datagram of fields`() {
        #expect(
            Journal.encode([.init("MESSAGE", "backup ok"), .init("PRIORITY", "6")]) == bytes("MESSAGE=backup ok\nPRIORITY=6\n"))
        #expect(
            Journal.encode([.init("A", "two\nlines")]) == bytes("A\n") + [9, 0, 0, 0, 0, 0, 0, 0] + bytes("two\nlines\n"))
    }
}

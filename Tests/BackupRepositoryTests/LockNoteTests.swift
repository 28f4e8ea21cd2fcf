import BackupCore
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Whose notes are those of a holder that is gone, between mounts, containers and hosts.
@Suite struct LockNoteTests {
    static let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, .max]

    private let folder: TemporaryFolder
    private let repository: Repository
    private var layout: RepositoryLayout { repository.layout }

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
    }

    private func notes() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: layout.locks)) ?? [] }

    /// A note of this kernel, as another process would have left it.
    @discardableResult
    private func leave(_ changes: [String: String?], secondsAgo: Double = 0) throws -> String {
        var values: [String: String?] = [
            "lock": "lock", "mode": "exclusive", "operation": "backup", "host": HostIdentity.hostName,
            "machine": HostIdentity.machineID, "boot": HostIdentity.bootID, "pid": "1073741823", "started": "99",
            "since": "1768141800",
        ]
        values.merge(changes) { $1 }
        let lines = values.compactMap { key, value in value.map { "\(key): \($0)\n" } }.sorted()
        try FileManager.default.createDirectory(atPath: layout.locks, withIntermediateDirectories: true)
        let path = layout.locks + "/\(RandomToken.make()).lock"
        try writeFile(path, Array(("backupfs-lock\n" + lines.joined()).utf8))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -secondsAgo)], ofItemAtPath: path)
        return path
    }

    /// A process that lives as long as this one does.
    private func parent() throws -> [String: String?] {
        ["pid": "\(getppid())", "started": "\(try #require(HostIdentity.startTicks(of: getppid())))"]
    }

    private func code() -> BackupError.Code? { errorCode { try repository.makeWriter().abandon() } }

    /// Two mounts of one share under one kernel have one boot ID and separate locks.
    @Test func `a live holder under another mount of the same kernel keeps its note (R-B4)`() throws {
        let path = try leave(try parent().merging(["volume": "1:2"]) { $1 })
        #expect(code() == .busy)
        #expect(try FileSystem.exists(path))
        let present = try repository.unlock().present.count
        #expect(present == 1)
        #expect(try FileSystem.exists(path))
    }

    @Test(arguments: [(0.0, true), (700.0, false)])
    func `of a process in another container only the age tells (R-B4)`(secondsAgo: Double, isBusy: Bool) throws {
        try leave(["namespace": "1", "volume": "1:2"], secondsAgo: secondsAgo)
        #expect((code() == .busy) == isBusy)
    }

    @Test func `a note whose lock is on the same file is that of a dead holder once the lock is free`() throws {
        let status = try FileSystem.status(layout.writerLock)
        try leave(["namespace": "1", "volume": "\(status.device):\(status.inode)"])
        #expect(code() == nil && notes().isEmpty)
    }

    /// As for a backup in a container: its process is not visible outside.
    @Test func `unlock never removes a note whose lock is held (R-A17)`() throws {
        let lock = try RepositoryLock(layout, .writing, operation: "backup")
        let path = layout.locks + "/" + (try #require(notes().first))
        let text = String(decoding: try readFile(path), as: UTF8.self)
        let lines = text.split(separator: "\n").map { line in
            line.hasPrefix("pid:") ? "pid: 1073741823" : line.hasPrefix("namespace:") ? "namespace: 1" : String(line)
        }
        try writeFile(path, Array((lines.joined(separator: "\n") + "\n").utf8))
        let (present, stale) = try repository.unlock()
        #expect(present.count == 1)
        #expect(stale.isEmpty)
        #expect(try FileSystem.exists(path))
        try lock.requireHeld()
    }

    /// utimensat(2) sends the client's clock over SMB and sshfs; a write has the server's.
    @Test func `a note is renewed by being written again (R-B2)`() throws {
        final class Writes: FileObserver {
            let paths = Monitor<[String]>([])
            func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
                if case .write(let path, _, _) = operation { paths.changeWakingAll { $0.append(path) } }
                try body()
            }
        }
        let lock = try RepositoryLock(layout, .writing, operation: "backup")
        let path = layout.locks + "/" + (try #require(notes().first))
        let bytes = try readFile(path)
        let writes = Writes()
        try FileObservation.observing(below: layout.locks, by: writes) {
            LockRefresher.shared.refresh()
            try lock.requireHeld()
        }
        #expect(writes.paths.withLock { $0 } == [path, path])
        #expect(try readFile(path) == bytes)
        try FileManager.default.removeItem(atPath: path)
        #expect(errorCode { try lock.requireHeld() } == .locked)
        #expect(notes().isEmpty)
    }

    /// Two hosts that change one label at once would lose one of the changes, a pin perhaps.
    @Test func `a label waits for another host that changes it (R-B10)`() throws {
        let snapshot = try repository.makeWriter().commit(named: "a", files: [("x", [1], .media)])
        let foreign: [String: String?] = ["boot": "4567", "machine": "0123", "lock": "names.lock", "operation": "rename"]
        let path = try leave(foreign)
        let label = layout.labelPath(of: snapshot.id)
        let done = Monitor(false)
        let thread = try SystemThread { [repository] in
            #expect(errorCode { try repository.setPinned(snapshot.id, true) } == nil)
            done.changeWakingAll { $0 = true }
        }
        #expect(!done.wait(until: { $0 }, forNanoseconds: 400_000_000))
        #expect(try !FileSystem.exists(label))
        try FileManager.default.removeItem(atPath: path)
        #expect(done.wait(until: { $0 }, forNanoseconds: 20_000_000_000))
        thread.join()
        #expect(try FileSystem.exists(label))
        #expect(repository.snapshot(id: snapshot.id)?.isPinned == true)
        // That of a host which is gone counts for a minute only.
        try leave(foreign, secondsAgo: 61)
        try repository.setPinned(snapshot.id, false)
        #expect(notes().isEmpty && repository.snapshot(id: snapshot.id)?.isPinned == false)
    }

    @Test func `a note's texts cannot move the cursor (R-B12)`() throws {
        try leave([
            "boot": "4567", "machine": "0123", "host": "file\u{1B}[2Jserver",
            "operation": "backup\u{07}" + String(repeating: "x", count: 900),
        ])
        let text = try #require(repository.lockHolders().present.first).text.english
        #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } && text.unicodeScalars.count < 400)
        #expect(text.contains("file\u{FFFD}[2Jserver"))
    }

    /// What anybody with write access to the folder can leave there.
    @Test(arguments: extremes) func `a note of any time is read (R-A16)`(seconds: Int64) throws {
        try leave(["boot": "4567", "machine": "0123", "since": "\(seconds)"])
        let error = try #require(failure { try repository.makeWriter().abandon() })
        #expect(error.code == .busy)
        #expect(error.message.english.hasPrefix("another operation is running: backup, by process 1073741823 on "))
    }

    @Test(arguments: extremes)
    func `a note with any time of change has an age (R-A16)`(seconds: Int64) throws {
        let path = try leave(["boot": "4567", "machine": "0123"])
        let holder = try #require(try LockFolder(layout: layout).notes().first?.holder)
        for now in Self.extremes {
            let note = LockNote(path: path, holder: holder, refreshedAt: Timestamp(seconds: seconds))
            let isOld = Double(now) - Double(seconds) > 600
            #expect(try LockFolder(layout: layout).isStale(note, now: Timestamp(seconds: now)) == isOld)
        }
    }
}

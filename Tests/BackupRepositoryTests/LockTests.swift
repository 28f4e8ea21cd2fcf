import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Which locks exclude each other, and that a stale lock excludes none.
@Suite struct LockTests {
    private let folder: TemporaryFolder
    private let repository: Repository
    private var layout: RepositoryLayout { repository.layout }

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
        try repository.makeWriter().commit(named: "a", files: [("x", TestData.random(5_000, seed: 1), .media)])
    }

    private func notes() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: layout.locks)) ?? [] }

    /// A note as another process would have left it.
    private func leave(
        _ changes: [String: String], lock: String = "lock", mode: String = "exclusive", secondsAgo: Int = 0
    ) throws -> String {
        var lines = [
            ("lock", lock), ("mode", mode), ("operation", "backup"), ("host", "fileserver"), ("machine", "0123"),
            ("boot", "4567"),
            ("pid", "4711"), ("started", "99"), ("since", "1768141800"),
        ]
        for (index, line) in lines.enumerated() { if let value = changes[line.0] { lines[index].1 = value } }
        let text = "backupfs-lock\n" + lines.map { "\($0.0): \($0.1)\n" }.joined()
        try FileManager.default.createDirectory(atPath: layout.locks, withIntermediateDirectories: true)
        let path = layout.locks + "/\(RandomToken.make()).lock"
        try writeFile(path, Array(text.utf8))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -Double(secondsAgo))], ofItemAtPath: path)
        return path
    }

    private func busy(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch let error as BackupError {
            return error.code == .busy ? error.message.english : "\(error)"
        } catch { return "\(error)" }
    }

    @Test func modes() throws {
        let writer = try repository.makeWriter()
        let own = "another operation is running: backup, by process \(getpid()) on "
        let message = try #require(busy { _ = try repository.makeWriter() })
        #expect(message.hasPrefix(own) && message.contains(", since 20"))
        // A check goes on beside a backup, a prune does not.
        let checking = try RepositoryLock(layout, .keepingPacks, operation: "check")
        let alsoChecking = try RepositoryLock(layout, .keepingPacks, operation: "check")
        #expect(busy { _ = try RepositoryPrune(repository).run() }?.hasPrefix(own) == true)
        #expect(notes().count == 3)
        writer.abandon()
        #expect(busy { _ = try RepositoryPrune(repository).run() }?.contains("running: check, by process") == true)
        #expect(busy { _ = try RepositoryRepair(repository) { _ in }.run() }?.contains("running: check") == true)
        try repository.makeWriter().commit(named: "b", files: [("x", [1], .media)])
        withExtendedLifetime((checking, alsoChecking)) {}
    }

    @Test func nothingIsLeft() throws {
        do {
            let removing = try RepositoryLock(layout, .removingPacks, operation: "prune")
            #expect(notes().count == 2)
            #expect(busy { _ = try repository.makeWriter() }?.contains("running: prune") == true)
            #expect(
                busy { _ = try RepositoryLock(layout, .keepingPacks, operation: "check") }?.contains("running: prune") == true)
            withExtendedLifetime(removing) {}
        }
        #expect(notes().isEmpty)
        _ = try RepositoryPrune(repository).run()
        #expect(notes().isEmpty)
    }

    /// Locks of the kernel may not reach other hosts; their notes do.
    @Test func anotherHost() throws {
        let path = try leave([:])
        let since = SystemClock.localTime(Timestamp(seconds: 1_768_141_800)).english
        let message = "another operation is running: backup, by process 4711 on fileserver, since \(since)"
        #expect(busy { _ = try repository.makeWriter() } == message)
        #expect(busy { _ = try RepositoryPrune(repository).run() } == message)
        #expect(notes().count == 1)
        // A check only needs the packs to stay.
        var check = RepositoryCheck(repository, readData: nil) { _ in }
        #expect(try check.run().isSound)
        let present = try repository.unlock().present.map { $0.host }
        #expect(present == ["fileserver"])
        #expect(try FileSystem.exists(path))
        try FileManager.default.removeItem(atPath: path)
        // Those of different kinds, and those that share.
        let shared = try leave(["operation": "check"], lock: "packs.lock", mode: "shared")
        try repository.makeWriter().abandon()
        #expect(try check.run().isSound)
        #expect(busy { _ = try RepositoryPrune(repository).run() }?.contains("running: check, by process 4711") == true)
        try FileManager.default.removeItem(atPath: shared)
        _ = try leave(["operation": "prune"], lock: "packs.lock")
        #expect(busy { _ = try check.run() }?.contains("running: prune") == true)
    }

    @Test(arguments: [(500, false), (700, true)]) func aHostThatIsGone(secondsAgo: Int, isGone: Bool) throws {
        let path = try leave([:], secondsAgo: secondsAgo)
        #expect((busy { try repository.makeWriter().abandon() } == nil) == isGone)
        #expect(try FileSystem.exists(path) != isGone)
    }

    /// Notes appear whole: one that is not was left by a power cut.
    @Test func aNoteThatCannotBeRead() throws {
        let path = try leave([:])
        try writeFile(path, Array("backupfs-lo".utf8))
        let drafts = ["old", "young"].map { layout.locks + "/\($0).new" }
        for draft in drafts { try writeFile(draft, []) }
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -700)], ofItemAtPath: drafts[0])
        try repository.makeWriter().abandon()
        #expect(try !FileSystem.exists(path))
        #expect(try !FileSystem.exists(drafts[0]))
        #expect(try FileSystem.exists(drafts[1]))
    }

    /// This machine before its last boot: no process has to wait for its note to expire.
    @Test func afterARestart() throws {
        let changes = ["host": HostIdentity.hostName, "machine": HostIdentity.machineID]
        try #require(!HostIdentity.bootID.isEmpty)
        let now = Timestamp(seconds: Int64(Date().timeIntervalSince1970))
        let uptime = Int(now.seconds - HostIdentity.bootTime.seconds)
        let folder = LockFolder(layout: layout)
        let path = try leave(changes, secondsAgo: uptime + 60)
        let note = try #require(try folder.notes().first)
        if !HostIdentity.machineID.isEmpty { #expect(try folder.isStale(note, now: now)) }
        // Renewed since: another machine that calls itself the same.
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: path)
        let renewed = try #require(try folder.notes().first)
        #expect(try !folder.isStale(renewed, now: now))
    }

    /// The kernel drops a lock with its holder; the note that stays blocks no process.
    @Test func aProcessThatIsGone() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder("repository") as String] in
            let writer = try Repository.open(at: path).makeWriter()
            kill(getpid(), SIGKILL)
            writer.abandon()
        }
        #expect(notes().count == 1)
        let stale = try repository.lockHolders().stale.map { $0.operation }
        #expect(stale == ["backup"])
        let removedCount = try repository.unlock().stale.count
        #expect(removedCount == 1 && notes().isEmpty)
        // Without tidying up, too; and a process that lives now may have the number of one that does not.
        _ = try leave(["boot": HostIdentity.bootID, "pid": "\(getpid())", "started": "1"])
        try repository.makeWriter().abandon()
        #expect(notes().isEmpty)
    }

    /// A process that was suspended until its lock became stale notices that before it changes anything.
    @Test func aHolderThatWasTakenForGone() throws {
        let writer = try repository.makeWriter()
        let stored = try writer.store([TreeEntry.symbolicLink(name: "l", target: [65], modificationTime: Timestamp(seconds: 1))])
        for name in notes() { try FileManager.default.removeItem(atPath: layout.locks + "/" + name) }
        let record = SnapshotRecord(
            kind: .snapshot, name: "late", creationTime: Timestamp(seconds: 5), parent: nil, root: stored, archiveSizeBytes: 0,
            archiveLayout: [:], attributes: [:])
        #expect(errorCode { _ = try writer.commit(record) } == .locked)
        #expect(try Repository.open(at: folder("repository")).snapshots().map(\.name) == ["a"])
    }

    @Test func notesAreRenewed() throws {
        let lock = try RepositoryLock(layout, .writing, operation: "backup")
        let path = layout.locks + "/" + (try #require(notes().first))
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -400)], ofItemAtPath: path)
        LockRefresher.shared.refresh()
        let age = Date().timeIntervalSince1970 - Double(try FileSystem.status(path).modificationTime.seconds)
        #expect(age < 60)
        withExtendedLifetime(lock) {}
    }

    /// The start of a process, as ps(1) has it in its own words.
    @Test func processes() throws {
        let own = try #require(HostIdentity.startTicks(of: getpid()))
        let fields = try String(contentsOfFile: "/proc/self/stat", encoding: .utf8).split(separator: ")").last?.split(
            separator: " ")
        #expect(fields?[19] == "\(own)")
        #expect(HostIdentity.startTicks(of: 0x7FFF_FFF0) == nil)
        #expect(LockHolder(decoding: []) == nil && LockHolder(decoding: Array("backupfs-lock\npid: x\n".utf8)) == nil)
        let holder = LockHolder(lock: "lock", isExclusive: true, operation: "backup")
        #expect(LockHolder(decoding: holder.encode()) == holder)
    }
}

import BackupCore
import Foundation
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A holder of a lock may be suspended or cut off at any time, and another takes its place. When it goes on, it removes and
/// publishes nothing any more (R-A7).
@Suite struct LostLockTests {
    private static let file = TestData.random(150_000, seed: 3)

    private let folder: TemporaryFolder
    private let repository: Repository
    private var layout: RepositoryLayout { repository.layout }

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
        try repository.makeWriter().commit(named: "a", files: [("x", TestData.random(5_000, seed: 1), .media)])
    }

    /// What another host does that takes this one for gone. Its locks do not reach here: the files that they are on are others.
    private func takeLocksAway() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: layout.locks) {
            try FileManager.default.removeItem(atPath: layout.locks + "/" + name)
        }
        for path in [layout.writerLock, layout.packsLock, layout.path + "/" + NamesLock.name] {
            try? FileManager.default.removeItem(atPath: path)
            try writeFile(path, [])
        }
    }

    /// Takes the locks away when a small file has been written and is not renamed yet.
    private final class Thief: FileObserver {
        let steal: @Sendable () -> Void
        init(_ steal: @escaping @Sendable () -> Void) { self.steal = steal }
        func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
            try body()
            if case .synchronize(let path) = operation, path.contains("/tmp/"), !path.hasSuffix(".pack") { steal() }
        }
    }

    private func packFiles() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: layout.packs).filter { $0.hasSuffix(".pack") }.sorted()
    }

    private func expectSound(_ place: Comment = "") throws {
        let fresh = try Repository.open(at: folder("repository"))
        var findings: [String] = []
        var check = RepositoryCheck(fresh, readData: .all) { findings.append("\($0)") }
        let isSound = try check.run().isSound
        #expect(isSound && findings.isEmpty, "\(place) \(findings)")
        #expect(fresh.damages().isEmpty, place)
    }

    /// Both stored the same; the second relies on the packs that the first has published.
    @Test(arguments: [false, true]) func `a backup that lost its lock removes nothing (R-A7)`(commits: Bool) throws {
        let first = try repository.makeWriter(packSizeBytes: 1)
        let stored = try first.store(Self.file, policy: .media)
        try first.publishChunks()
        try takeLocksAway()
        try Repository.open(at: folder("repository")).makeWriter().commit(named: "b", files: [("y", Self.file, .media)])
        if commits {
            let entry = TreeEntry.file(name: "x", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
            #expect(errorCode { try first.commit(named: "late", entries: [entry]) } == .locked)
        } else {
            first.abandon()
        }
        try repository.refresh()
        #expect(repository.snapshots().map(\.name) == ["a", "b"])
        #expect(try Repository.open(at: folder("repository")).file("y", in: "b") == Self.file)
        try expectSound()
    }

    @Test func `a backup that lost its lock publishes no pack (R-A7)`() throws {
        let writer = try repository.makeWriter(packSizeBytes: 1 << 20)
        _ = try writer.store(Self.file, policy: .media)
        let before = try packFiles()
        try takeLocksAway()
        #expect(errorCode { try writer.publishChunks() } == .locked)
        writer.abandon()
        #expect(try packFiles() == before)
        try expectSound()
    }

    @Test func `a repair that lost its lock moves and writes nothing (R-A7)`() throws {
        try repository.makeWriter().commit(named: "b", files: [("y", Self.file, .media)])
        for path in try packFiles().map({ layout.packs + "/" + $0 }) {
            var bytes = try readFile(path)
            // Two bits of a chunk, which cannot be repaired.
            bytes[60] ^= 0xff
            try writeFile(path, bytes)
        }
        let damaged = try Repository.open(at: folder("repository"))
        var isLost = false
        var filesThen: [String] = []
        let code = errorCode {
            try RepositoryRepair(damaged) { _ in
                guard !isLost else { return }
                isLost = true
                try? takeLocksAway()
                filesThen = (try? FileManager.default.subpathsOfDirectory(atPath: folder("repository"))) ?? []
            }.run()
        }
        #expect(isLost && code == .locked)
        func stored(_ paths: [String]) -> [String] {
            paths.filter { $0.hasSuffix(".pack") || $0.hasSuffix(".snapshot") || $0.hasSuffix(".label") }.sorted()
        }
        #expect(try stored(filesThen) == stored(FileManager.default.subpathsOfDirectory(atPath: folder("repository"))))
    }

    /// A pack must not be set aside because the repair was cancelled while it was read.
    @Test func `a cancelled read is no damage`() throws {
        let pack = try #require(repository.packs().first)
        let chunks = try repository.packIndex(of: pack).storedChunks(in: pack)
        let cancellation = Cancellation()
        cancellation.request()
        var readCount = 0
        let code = errorCode {
            try cancellation.run { () throws(BackupError) in
                try PackDataReader(repository).read(chunks, of: pack) { (_, _) throws(BackupError) in readCount += 1 }
            }
        }
        #expect(code == .interrupted && readCount == 0)
        var findings: [String] = []
        var check = RepositoryCheck(repository, readData: .all) { findings.append("\($0)") }
        #expect(errorCode { try cancellation.run { () throws(BackupError) in _ = try check.run() } } == .interrupted)
        #expect(
            errorCode {
                try cancellation.run { () throws(BackupError) in
                    _ = try RepositoryRepair(repository) { findings.append("\($0)") }.run()
                }
            } == .interrupted)
        #expect(findings.isEmpty, "\(findings)")
        try expectSound()
    }

    /// Between the question at the start of `commit` and the rename of the record there may be a suspend.
    @Test func `a record is not published without the lock (R-A7)`() throws {
        let writer = try repository.makeWriter()
        let test = self
        let code = errorCode {
            try FileObservation.observing(below: layout.temporary, by: Thief { try? test.takeLocksAway() }) {
                _ = try writer.commit(named: "late", files: [("y", Self.file, .media)])
            }
        }
        #expect(code == .locked)
        #expect(try Repository.open(at: folder("repository")).snapshots().map(\.name) == ["a"])
        try expectSound()
    }

    @Test func `a label is not published without the lock (R-A7)`() throws {
        let id = try #require(repository.snapshots().first?.id)
        let test = self
        let code = errorCode {
            try FileObservation.observing(below: layout.temporary, by: Thief { try? test.takeLocksAway() }) {
                () throws(BackupError) in try repository.setPinned(id, true)
            }
        }
        #expect(code == .locked)
        let snapshot = try #require(try Repository.open(at: folder("repository")).snapshots().first)
        #expect(!snapshot.isPinned)
    }

    /// Lets another host act when a record in `removed/` is about to be unlinked.
    private final class Sleeper: FileObserver {
        let whileAsleep: @Sendable () -> Void
        private let hasSlept = Mutex(false)
        init(_ whileAsleep: @escaping @Sendable () -> Void) { self.whileAsleep = whileAsleep }
        func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
            if case .remove(let path) = operation, path.contains("/removed/"),
                hasSlept.withLock({ hasSlept in
                    defer { hasSlept = true }
                    return !hasSlept
                })
            {
                whileAsleep()
            }
            try body()
        }
    }

    /// - Parameter losesLock: whether the other host has taken the lock away, as it must; or the record is in both folders for
    ///   another reason.
    @Test(arguments: [true, false])
    func `a prune that slept leaves the label of a snapshot that was brought back`(losesLock: Bool) throws {
        let id = try #require(repository.snapshots().first?.id)
        try repository.makeWriter().commit(named: "b", files: [("y", Self.file, .media)], seconds: 1_001)
        try repository.renameSnapshot(id, to: "kept")
        try repository.withdrawSnapshots([id], at: Timestamp(seconds: 2_000))
        let test = self
        let sleeper = Sleeper {
            if losesLock {
                try? test.takeLocksAway()
                #expect(throws: Never.self) { try Repository.open(at: test.layout.path).bringBackSnapshot(id) }
            } else {
                try? FileManager.default.copyItem(
                    atPath: test.layout.removedPath(of: id), toPath: test.layout.snapshotPath(of: id))
            }
        }
        let code = errorCode {
            try FileObservation.observing(below: layout.path, by: sleeper) {
                let grace = RemovalGrace(now: Timestamp(seconds: 2_000_000))
                _ = try RepositoryPrune(try Repository.open(at: layout.path), maxUnused: .bytes(0), grace: grace).run()
            }
        }
        #expect(code == (losesLock ? .locked : nil))
        #expect(try Repository.open(at: layout.path).snapshots().map(\.name) == ["kept", "b"])
        #expect(try Repository.open(at: layout.path).file("x", in: "kept") == TestData.random(5_000, seed: 1))
        try expectSound()
    }
}

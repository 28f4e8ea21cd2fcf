import BackupCore
import Foundation
import TestSupport
import Testing

@testable import BackupRepository

/// A backup dies (SIGKILL) at each point: all older snapshots are whole, the new one is whole or not there, and the next backup
/// finds nothing in its way.
@Suite(.rotating(oneIn: 3)) struct CrashTests {
    private let folder: TemporaryFolder
    private static let old = TestData.random(300_000, seed: 1)
    private static let new = TestData.random(500_000, seed: 2)

    init() throws { folder = try TemporaryFolder() }

    private static func files(_ bytes: [UInt8]) -> [(FileName, [UInt8], ChunkingPolicy)] {
        [("db", bytes, .database(pageSizeBytes: 4096)), ("rows", TestData.rows(2_000, seed: 5), .structuredText)]
    }

    private static let points = [
        "backup.pack-written", "backup.pack-written:2", "backup.pack-written:5", "backup.pack-published",
        "backup.pack-published:5", "backup.catalog-updated", "backup.record-written", "backup.published",
    ]

    @Test(arguments: points) func killedAt(point: String) async throws {
        let repository = try Repository.create(at: folder("repository"))
        try repository.makeWriter().commit(named: "old", files: Self.files(Self.old))
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder("repository") as String, point] in
            setenv("BACKUPFS_FAULT", point, 1)
            let writer = try Repository.open(at: path).makeWriter(packSizeBytes: 100_000)
            try writer.commit(named: "new", files: CrashTests.files(CrashTests.new), seconds: 2000)
        }
        try expectOldOrNew(isNewThere: point == "backup.published", repository)
        try expectOldOrNew(isNewThere: point == "backup.published", try Repository.open(at: folder("repository")))
    }

    /// The same points with an error instead of a death: the backup takes back what it wrote.
    @Test(arguments: points) func failedAt(point: String) async throws {
        let repository = try Repository.create(at: folder("repository"))
        try repository.makeWriter().commit(named: "old", files: Self.files(Self.old))
        await #expect(processExitsWith: .exitCode(7)) { [path = folder("repository") as String, point] in
            setenv("BACKUPFS_FAULT", point + "=fail", 1)
            let repository = try Repository.open(at: path)
            do {
                let writer = try repository.makeWriter(packSizeBytes: 100_000)
                try writer.commit(named: "new", files: CrashTests.files(CrashTests.new), seconds: 2000)
            } catch {
                exit((error as? BackupError)?.code == .inputOutput ? 7 : 8)
            }
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: folder("repository/tmp"))
        #expect(left.isEmpty)
        try expectOldOrNew(isNewThere: point == "backup.published", repository)
    }

    private func expectOldOrNew(isNewThere: Bool, _ repository: Repository) throws {
        try repository.refresh()
        #expect(repository.snapshots().map(\.name) == (isNewThere ? ["old", "new"] : ["old"]))
        #expect(repository.damages().isEmpty)
        #expect(try repository.file("db", in: "old") == Self.old)
        if isNewThere { #expect(try repository.file("db", in: "new") == Self.new) }
        #expect(try run(["python3", Fixtures.reader, "packs", folder("repository")]).status == 0)
        // The next backup works, and leaves no temporary file of the dead one.
        let name: FileName = repository.snapshot(named: "next") == nil ? "next" : "after"
        try repository.makeWriter().commit(named: name, files: Self.files(Self.new), seconds: 3000)
        #expect(try repository.file("db", in: name) == Self.new)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("repository/tmp")).isEmpty)
        for pack in try repository.packs() { #expect(repository.verifyPack(pack).isEmpty) }
        try repository.removeSnapshot(try #require(repository.snapshot(named: name)).id)
    }

    /// Dying while a repository is made leaves a folder in which it can be made.
    @Test func theRepositoryLockGoesWithItsHolder() async throws {
        _ = try Repository.create(at: folder("repository"))
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder("repository") as String] in
            let writer = try Repository.open(at: path).makeWriter()
            _ = try writer.store(TestData.random(100_000, seed: 1), policy: .media)
            kill(getpid(), SIGKILL)
            writer.abandon()
        }
        let repository = try Repository.open(at: folder("repository"))
        #expect(try !FileManager.default.contentsOfDirectory(atPath: folder("repository/tmp")).isEmpty)
        try repository.makeWriter().commit(named: "a", files: [("x", [1], .media)])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder("repository/tmp")).isEmpty)
    }
}

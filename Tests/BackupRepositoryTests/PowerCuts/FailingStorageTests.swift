import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Storage fails at its n-th change, for every n, under operations that several threads share: each ends in time, with the error
/// of the storage and no other (U-A5, U-A6).
@Suite(.rotating(oneIn: 3)) struct FailingStorageTests {
    private static let limitSeconds: UInt64 = 60
    /// More blocks than are read ahead at once.
    private static let large = TestData.random(9 << 20, seed: 4)
    private static let packSizeBytes: UInt64 = 2 << 20

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        // With the folder for notes, without which much can be done.
        try Repository.create(at: folder("start")).makeWriter().abandon()
    }

    private func copy(_ number: Int, _ duration: FullDisk.Duration) throws -> String {
        let path = folder("\(duration)-\(number)")
        try FileManager.default.copyItem(atPath: folder("start"), toPath: path)
        return path
    }

    /// Does `body` with the first change failing, then the second and so on, until none fails any more.
    /// - Parameter mayPassOver: whether there are changes that it can do without.
    private func atEveryChange(
        _ duration: FullDisk.Duration, mayPassOver: Bool = false, _ body: @escaping @Sendable (Repository) throws -> Void
    ) throws -> Int {
        for number in 1...1_000 where Rounds.takesNext(oneIn: 6) {
            let path = try copy(number, duration)
            let disk = FullDisk(failing: number, duration: duration)
            let end = try TimeLimit.run(seconds: Self.limitSeconds) {
                let repository = try Repository.open(at: path)
                return failure { try FileObservation.observing(below: path, by: disk) { try body(repository) } }
            }
            let place: Comment = "\(duration) \(number): \(disk.failed.map { "\($0)".prefix(200) } ?? "nothing failed")"
            guard let error = end else {
                Issue.record("it does not end: \(place)")
                return number
            }
            // The numbers before it that were not tried may not be reached either.
            if !disk.wasReached { return number - 1 }
            #expect(error == nil || error?.code == .noSpace, "\(place): \(error.map { "\($0)" } ?? "no error")")
            // There are changes that it can do without: the notes of locks, the register, the copy of the config. Then all is
            // there.
            if error == nil, !mayPassOver {
                let repository = try Repository.open(at: path)
                #expect(repository.snapshots().count == 1, place)
                var check = RepositoryCheck(repository, readData: .all) { event in
                    if case .damaged = event { Issue.record("\(event), \(place)") }
                }
                #expect(try check.run().damagedFileCount == 0, place)
            }
            // To free space. The last connection of the catalog may close only now, and take its files away meanwhile.
            try? FileManager.default.removeItem(atPath: path)
        }
        Issue.record("there is no end of changes")
        return 0
    }

    @Test(arguments: FullDisk.Duration.allCases) func `a large file (U-A5)`(duration: FullDisk.Duration) throws {
        let count = try atEveryChange(duration) { repository in
            let writer = try repository.makeWriter(packSizeBytes: Self.packSizeBytes)
            let stored = try writer.store(MemorySource(Self.large), policy: .database(pageSizeBytes: 4096))
            try writer.commit(
                named: "large",
                entries: [.file(name: "large", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)])
        }
        #expect(count > 30)
    }

    /// As a backup of a database with records does: one thread stores the database, another the collections.
    @Test(arguments: FullDisk.Duration.allCases) func `two files at once (U-A5, U-A6)`(duration: FullDisk.Duration) throws {
        let count = try atEveryChange(duration) { repository in
            let writer = try repository.makeWriter(packSizeBytes: Self.packSizeBytes)
            let aside = WorkGroup(WorkerPool(threadCount: 1, queueLimit: 1))
            aside.submit { () throws(BackupError) in
                _ = try writer.store(
                    MemorySource(Array(Self.large.prefix(5 << 20))), policy: .database(pageSizeBytes: 4096))
            }
            do throws(BackupError) {
                _ = try writer.store(MemorySource(Array(Self.large.suffix(3 << 20))), policy: .structuredText)
            } catch {
                aside.fail(error)
            }
            try aside.wait()
            try writer.commit(named: "two", entries: [])
        }
        #expect(count > 20)
    }

    @Test(arguments: FullDisk.Duration.allCases) func `a repair (U-A5)`(duration: FullDisk.Duration) throws {
        let start = try Repository.open(at: folder("start"))
        try start.makeWriter(packSizeBytes: 200_000).commit(
            named: "a", files: [("x", TestData.random(900_000, seed: 3), .database(pageSizeBytes: 4096))])
        let pack = start.layout.packPath(of: try #require(start.packs().first))
        var bytes = try readFile(pack)
        bytes[5_000] ^= 4
        try writeFile(pack, bytes)
        let count = try atEveryChange(duration, mayPassOver: true) { repository in
            try RepositoryRepair(repository) { _ in }.run()
        }
        #expect(count > 5)
    }
}

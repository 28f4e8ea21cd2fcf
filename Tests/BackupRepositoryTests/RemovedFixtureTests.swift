import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Fixtures/repository-v1-removed was written by the first program that had `removed/`, `register`, `config.copy` and `sources/`,
/// and must open for ever. The checksums are those that `sha256sum` gave for the restored files when it was made.
@Suite struct RemovedFixtureTests {
    private static let sourceID = "e9e0d029a1ce1b100ae771f1658cc532"
    private static let records = "aee4023608c31fb6c16491147fb292c2390aa6f4c255781cc6146b84c96ab58e"
    private static let database = "e0633d36b98b0fe28bc2539eb9c37226a36f05d06406155fa0f6299685b2a47d"

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> Repository {
        let path = folder("repository")
        try FileManager.default.copyItem(atPath: Fixtures.folder + "/repository-v1-removed", toPath: path)
        // Files in a checkout have the time of the checkout: here it was removed a day before the prune below.
        let removed = try #require(FileManager.default.contentsOfDirectory(atPath: path + "/removed").first)
        try OwnedDescriptor.open("\(path)/removed/\(removed)", O_RDONLY).setModificationTime(Timestamp(seconds: 1_768_125_600))
        return try Repository.open(at: path)
    }

    private func sha256(_ path: [FileName], of snapshot: Snapshot, in repository: Repository) throws -> String {
        var directory = try repository.rootDirectory(of: snapshot)
        for name in path.dropLast() { directory = try repository.directory(of: try #require(directory.entry(named: name))) }
        let last = try #require(path.last)
        let entry = try #require(directory.entry(named: last))
        try writeFile(folder("file"), try repository.bytes(of: entry.content, limitBytes: 1 << 20))
        return String(decoding: try run(["sha256sum", folder("file")]).bytes.prefix(64), as: UTF8.self)
    }

    @Test func `the removed snapshot comes back, and the other one is there`() throws {
        let repository = try open()
        #expect(repository.damages().isEmpty)
        let kept = try #require(repository.snapshots().first)
        #expect(repository.snapshots().count == 1 && kept.name == "b" && kept.isPinned && kept.sequence == 2)
        #expect(kept.source?.hexadecimal == Self.sourceID)
        #expect(try repository.sources().map(\.id.hexadecimal) == [Self.sourceID])
        #expect(try sha256(["data", "notes.json"], of: kept, in: repository) == Self.records)
        #expect(try sha256(["database.sqlite"], of: kept, in: repository) == Self.database)
        let removed = try repository.removedSnapshots()
        #expect(removed.map(\.snapshot.name) == ["a"] && removed.map(\.removalTime?.seconds) == [1_768_125_600])
        // A day later nothing of it is given up.
        let grace = RemovalGrace(now: Timestamp(seconds: 1_768_125_600 + 86_400))
        let pruned = try RepositoryPrune(repository, maxUnused: .bytes(0), grace: grace).run()
        #expect(pruned.removedPackCount == 0)
        let back = try repository.bringBackSnapshot(removed[0].snapshot.id)
        #expect(back.problems.isEmpty && back.snapshot.sequence == 1)
        #expect(try sha256(["data", "notes.json"], of: back.snapshot, in: repository) != Self.records)
        var check = RepositoryCheck(repository, readData: .all) { event in Issue.record("\(event)") }
        #expect(try check.run().isSound)
    }
}

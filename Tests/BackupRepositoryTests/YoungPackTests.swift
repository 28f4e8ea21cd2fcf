import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A prune on storage that other hosts write to leaves packs alone that were written just now (R-B3).
@Suite struct YoungPackTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
        // As another host would leave it whose record is not seen here yet.
        let writer = try repository.makeWriter(packSizeBytes: 10_000)
        for seed: UInt64 in 1...3 {
            _ = try writer.store(TestData.random(20_000, seed: seed), policy: .database(pageSizeBytes: 4096))
        }
        try writer.publishChunks()
        try writer.commit(named: "a", entries: [])
    }

    private func unneeded() throws -> [String] {
        try repository.packs().filter { (try? repository.packIndex(of: $0).kind) == .data }
            .map { repository.layout.packPath(of: $0) }
    }

    private func age(_ path: String, secondsAgo: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -secondsAgo)], ofItemAtPath: path)
    }

    private func prune(_ rule: RecentPacks.Rule) throws -> PruneSummary {
        try RepositoryPrune(repository, maxUnused: .bytes(0), youngPacks: rule).run()
    }

    @Test func `packs of the last hour, and of the future, stay`() throws {
        let packs = try unneeded()
        try #require(packs.count >= 3)
        for path in packs { try age(path, secondsAgo: 4_000) }
        try age(packs[0], secondsAgo: 3_500)
        try age(packs[1], secondsAgo: -100_000)
        let plan = try RepositoryPrune(repository, maxUnused: .bytes(0), youngPacks: .always).plan()
        #expect(plan.youngPackCount == 2 && plan.removedPackCount == packs.count - 2)
        let summary = try prune(.always)
        #expect(summary.youngPackCount == 2 && summary.removedPackCount == packs.count - 2)
        #expect(summary.remainingUnusedByteCount > 0)
        #expect(try Set(unneeded()) == Set(packs[..<2]))
        // A young pack is not rewritten either, and is removed when it is old.
        for path in packs[..<2] { try age(path, secondsAgo: 4_000) }
        #expect(try prune(.always).removedPackCount == 2)
        #expect(try unneeded().isEmpty)
    }

    /// On a disk of this machine the locks tell who writes, and space is freed at once.
    @Test func `on a disk of its own nothing is young`() throws {
        #expect(try prune(.onSharedStorage).youngPackCount == 0)
        #expect(try unneeded().isEmpty)
    }
}

import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A prune of a repository in an object storage removes packs in two steps, a day apart: no lock is certain there.
@Suite struct DoomedPackTests {
    private let folder: TemporaryFolder
    private let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func open(_ cache: String) throws -> StoredRepository { try StoredRepository.open(on: server, folder(cache)) }

    private func objects(_ prefix: String) throws -> [String] {
        try SimulatedStorage(server).list(prefix: prefix, after: nil).objects.map(\.name.text)
    }

    @discardableResult
    private func prune(_ stored: StoredRepository) throws -> PruneSummary {
        try RepositoryPrune(stored.repository, maxUnused: .bytes(0)).run()
    }

    @Test func `packs are removed by the prune of the next day`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        try first.backUp("three", seconds: 1_001)
        try first.repository.removeSnapshot(first.id(of: "one"))
        let packs = try objects("packs/")
        let planned = try RepositoryPrune(first.repository, maxUnused: .bytes(0)).plan()
        let summary = try prune(first)
        #expect(summary.removedPackCount == 0 && summary.waitingPackCount > 0)
        #expect(planned.removedPackCount == 0 && planned.waitingPackCount == summary.waitingPackCount)
        #expect(try Set(packs).isSubset(of: objects("packs/")))
        #expect(try objects("doomed/").count == 1)
        // Nothing more on the same day, by another machine either.
        let second = try open("second")
        #expect(try prune(second).waitingPackCount == summary.waitingPackCount)
        #expect(try objects("doomed/").count == 1)
        server.advance(seconds: 86_401)
        let next = try prune(second)
        #expect(next.removedPackCount == summary.waitingPackCount && next.waitingPackCount == 0)
        #expect(try objects("packs/").count < packs.count + summary.newPackCount)
        #expect(try objects("doomed/") == [])
        #expect(try open("third").flaw(["three": "three"]) == nil)
        // The first machine learns it at its next look.
        try first.backUp("two", seconds: 1_002)
        #expect(try first.flaw(["three": "three", "two": "two"]) == nil)
    }

    @Test func `a backup does not rely on a doomed pack`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        try first.backUp("next", seconds: 1_001)
        try first.repository.removeSnapshot(first.id(of: "one"))
        #expect(try prune(first).waitingPackCount > 0)
        // It has the data that only the removed one had.
        let second = try open("second")
        try second.backUp("one", seconds: 1_002)
        server.advance(seconds: 86_401)
        #expect(try prune(second).removedPackCount > 0)
        #expect(try open("third").flaw(["next": "next", "one": "one"]) == nil)
    }

    /// The record of a machine that slept arrives after the prune that did not know of it.
    @Test func `a pack that a late record needs stays`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        try first.backUp("next", seconds: 1_001)
        let one = try first.id(of: "one")
        let name = MirrorObject.snapshot(one).name
        let record = try #require(try SimulatedStorage(server).contents(of: name, limitBytes: 1 << 20)).bytes
        try first.repository.removeSnapshot(one)
        #expect(try prune(first).waitingPackCount > 0)
        _ = try SimulatedStorage(server).create(name, ObjectDraft(record))
        // It can be read at once.
        #expect(try open("second").flaw(["one": "one", "next": "next"]) == nil)
        server.advance(seconds: 86_401)
        try prune(open("third"))
        #expect(try objects("doomed/") == [])
        server.advance(seconds: 86_401)
        try prune(open("fourth"))
        #expect(try open("fifth").flaw(["one": "one", "next": "next"]) == nil)
    }

    /// By the clock of the storage: that of a machine may be wrong by years.
    @Test func `a wrong clock of this machine does not shorten the day`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        try first.backUp("next", seconds: 1_001)
        try first.repository.removeSnapshot(first.id(of: "one"))
        try prune(first)
        // The storage's clock says January 2026, this machine's says something later: by it, all is due.
        #expect(try prune(first).removedPackCount == 0)
        #expect(try prune(open("second")).removedPackCount == 0)
    }

    @Test func `a damaged or newer list stops prunes, and nothing else`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        let list = try #require(ObjectName("doomed/\(RandomToken.make()).doomed"))
        for (text, code) in [
            ("backupfs-doomed 1\n\(String(repeating: "a", count: 64))\n", BackupError.Code.repositoryDamaged),
            ("backupfs-doomed 2\nend\n", .unsupportedVersion), ("", .repositoryDamaged),
        ] {
            _ = try SimulatedStorage(server).create(list, ObjectDraft(Array(text.utf8)))
            let error = failure { try prune(first) }
            #expect(error?.code == code && error?.path?.hasSuffix("\(list)") == true, "\(error?.description ?? "none")")
            try first.backUp("two", seconds: 1_001)
            try first.repository.removeSnapshot(first.id(of: "two"))
            try SimulatedStorage(server).remove(list, version: nil)
        }
        #expect(try prune(first).waitingPackCount > 0)
        #expect(try open("second").flaw(["one": "one"]) == nil)
    }
}

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

    /// In a plain repository, the name of a pack is that of its chunks: the same data would get the name of the doomed pack.
    @Test func `data that is stored again gets a pack of its own`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        let packs = try objects("packs/")
        try first.repository.removeSnapshot(first.id(of: "one"))
        _ = try RepositoryPrune(first.repository, maxUnused: .bytes(0), allowsEmpty: true).run()
        #expect(try objects("doomed/").count == 1)
        let second = try open("second")
        try second.backUp("one", seconds: 1_001)
        #expect(try objects("packs/").count >= 2 * packs.count)
        // A prune that was asleep removes the old ones at last.
        for name in packs { try SimulatedStorage(server).remove(try #require(ObjectName(name)), version: nil) }
        #expect(try open("third").flaw(["one": "one"]) == nil)
    }

    /// Nothing more can be stored, but a list of packs fits.
    @Test func `packs are listed before others are copied`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        try first.backUp("next", seconds: 1_001)
        // Packs of which nothing is needed, and others of which a part is.
        let writer = try first.repository.makeWriter(packSizeBytes: 24_000)
        let content = try writer.store(TestData.random(60_000, seed: 8), policy: .media)
        let entry = TreeEntry.file(name: "film", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: content)
        try writer.commit(named: "film", entries: [entry], seconds: 1_002)
        try first.repository.removeSnapshot(first.id(of: "film"))
        try first.repository.removeSnapshot(first.id(of: "one"))
        let server = server
        let storage = HookedStorage(storage: SimulatedStorage(server)) { (name) throws(BackupError) in
            if name.text.hasPrefix("packs/") { throw BackupError(.noSpace, "the storage is full") }
        }
        let remote = try RemoteRepository(in: storage, cacheFolder: folder("full"), writingTo: storage)
        try remote.refresh()
        let repository = try remote.open(catalogHome: .folder(folder("full") + "/catalogs"))
        #expect(errorCode { _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run() } == .noSpace)
        #expect(try objects("doomed/").count == 1)
        server.advance(seconds: 86_401)
        #expect(errorCode { _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run() } == .noSpace)
        #expect(try open("second").flaw(["next": "next"]) == nil)
        #expect(try prune(open("third")).rewrittenPackCount > 0)
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
        #expect(try open("checked").flaw(["one": "one", "next": "next"]) == nil)
        // What was needed and is rewritten now waits a day of its own.
        server.advance(seconds: 86_401)
        try prune(open("fourth"))
        #expect(try objects("doomed/") == [])
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

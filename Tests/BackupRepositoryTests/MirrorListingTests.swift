import BackupCore
import Foundation
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// However a repository in a storage is listed, the list is the same.
@Suite struct MirrorListingTests {
    private let folder: TemporaryFolder
    fileprivate let server = SimulatedServer()

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private static func id(_ number: Int) -> SHA256Digest { SHA256Hasher.hash(Array("\(number)".utf8)) }

    /// Objects of all kinds, before, between and after the packs.
    fileprivate func fill(_ storage: any ObjectStorage, packCount: Int, labelCount: Int) throws -> Set<String> {
        var objects: [MirrorObject] = [.configuration, .key, .register, .primary, .indexBatch(IndexBatchID(Self.id(0)))]
        objects += (0..<packCount).map { .pack(PackID(Self.id($0))) }
        for number in 0..<labelCount {
            let id = SnapshotID(Self.id(number))
            objects += [.label(id), .snapshot(id), .removed(SnapshotID(Self.id(number + 10_000)))]
        }
        for object in objects { _ = try storage.create(object.name, ObjectDraft([1])) }
        for name in ["locks/note.lock", "packs/other", "zebra"] {
            _ = try storage.create(#require(ObjectName(name)), ObjectDraft([1]))
        }
        return Set(objects.map(\.name.text))
    }

    fileprivate func names(_ objects: [MirrorObject: ObjectFacts]) -> Set<String> { Set(objects.keys.map(\.name.text)) }

    @Test(
        arguments: [(0, 0), (3, 2), (300, 5), (1_100, 30), (300, 1_100)],
        [nil, MirrorListing.Expectation(packCount: 0, countBeforePacks: 0), .init(packCount: 1_000, countBeforePacks: 40)])
    func `each way finds the same`(counts: (packs: Int, labels: Int), expected: MirrorListing.Expectation?) throws {
        let storage = SimulatedStorage(server)
        let all = try fill(storage, packCount: counts.packs, labelCount: counts.labels)
        let small = all.filter { !$0.hasPrefix("packs/") }
        for other in [nil, SimulatedStorage(server)] {
            for (isKnown, isFirst) in [(true, false), (false, false), (false, true)] {
                let listing = MirrorListing(storage: storage, other: other, expected: expected, isFirst: isFirst) { _ in isKnown }
                #expect(try names(listing.records()).filter { !$0.hasPrefix("packs/") } == small)
                #expect(try names(listing.everything()) == all)
            }
        }
    }

    @Test func `the names of many packs are not listed for records`() throws {
        let storage = SimulatedStorage(server)
        _ = try fill(storage, packCount: 1_500, labelCount: 5)
        let before = storage.traffic[.list].requestCount
        let expected = MirrorListing.Expectation(packCount: 1_500, countBeforePacks: 8)
        let found = try MirrorListing(storage: storage, expected: expected) { _ in true }.records()
        #expect(storage.traffic[.list].requestCount - before == 2)
        #expect(found.keys.allSatisfy { if case .pack = $0 { false } else { true } })
    }

    @Test func `a first look lists no more packs than one short page has`() throws {
        let storage = SimulatedStorage(server)
        let all = try fill(storage, packCount: 200, labelCount: 2).filter { !$0.hasPrefix("packs/") }
        let before = storage.traffic[.list].requestCount
        let listing = MirrorListing(storage: storage, isFirst: true) { _ in false }
        #expect(try names(listing.records()) == all)
        #expect(storage.traffic[.list].requestCount - before == 2)
    }

    /// Both parts are listed at the same time, and another machine stores a backup after one of them and before the other.
    @Test func `what a new record needs is listed after it`() throws {
        let first = try StoredRepository.create(on: server, folder("first"))
        try first.backUp("one")
        let isListed = Flag()
        let server = server
        let folder = folder
        // Before packs: as it was. After packs: once the other machine has stored its backup, with a label.
        let before = AlteredListing(SimulatedStorage(server)) { _ in
            guard isListed.set() else { return }
            let machine = try StoredRepository.open(on: server, folder("second"))
            try machine.backUp("two", seconds: 1_001)
            try machine.repository.setPinned(machine.id(of: "two"), true)
            try machine.backUp("next", seconds: 1_002)
        }
        let after = AlteredListing(
            SimulatedStorage(server),
            willList: {
                // The other list is complete, and what comes after it as well, once a third backup is there.
                let end = SystemClock.monotonicNanoseconds() + 60_000_000_000
                while try SimulatedStorage(server).list(prefix: "snapshots/", after: nil).objects.count < 3 {
                    guard SystemClock.monotonicNanoseconds() < end else {
                        throw BackupError(.busy, "the other list was not made")
                    }
                    usleep(1_000)
                }
            }, alter: { _ in })
        let listing = MirrorListing(
            storage: after, other: before, expected: .init(packCount: 2, countBeforePacks: 3),
            isKnown: { (id) throws(BackupError) in
                try FileSystem.exists(first.repository.layout.snapshotPath(of: id))
            })
        let found = names(try listing.records())
        let now = try SimulatedStorage(server).list(prefix: "", after: nil).objects.map(\.name.text)
        #expect(found == Set(now.filter { !$0.hasPrefix("packs/") && !$0.hasPrefix("locks/") }))
        #expect(found.count { $0.hasPrefix("labels/") } == 1 && found.count { $0.hasPrefix("indexes/") } == 3)
    }
}

extension MirrorListingTests {
    @Test func `a connection that is given up is no reason to fail`() throws {
        let storage = SimulatedStorage(server)
        let all = try fill(storage, packCount: 3, labelCount: 2).filter { !$0.hasPrefix("packs/") }
        let silent = AlteredListing(storage) { _ in throw BackupError(.offline, "no answer in time") }
        let listing = MirrorListing(storage: storage, other: silent, expected: .init(packCount: 3, countBeforePacks: 5)) { _ in
            true
        }
        #expect(try names(listing.records()) == all)
    }
}

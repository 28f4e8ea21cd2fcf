import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Packs are found in any number, and in few requests after one another.
@Suite struct PackListingTests {
    private static func id(_ number: Int) -> PackID { PackID(SHA256Hasher.hash(Array("\(number)".utf8))) }

    /// Up to four pages are listed in turn; more of them by the first digit, of which the first page has one.
    @Test(arguments: [(0, 1...1), (900, 1...1), (1_100, 2...2), (3_500, 4...4), (6_000, 15...18), (20_000, 30...36)])
    func `each pack is listed once`(packCount: Int, requests: ClosedRange<Int>) throws {
        let storage = SimulatedStorage(SimulatedServer())
        let draft = ObjectDraft([])
        for number in 0..<packCount { _ = try storage.create(MirrorObject.pack(Self.id(number)).name, draft) }
        // Names that no pack has, and those of other objects.
        for text in ["packs/readme", "packs/zz/1.pack", "packs.copy", "register"] {
            _ = try storage.create(#require(ObjectName(text)), draft)
        }
        let before = storage.requestCount
        let found = try PackListing(storage: storage).packs()
        #expect(Set(found.keys) == Set((0..<packCount).map { MirrorObject.pack(Self.id($0)) }))
        #expect(found.allSatisfy { $0.key.name == $0.value.name })
        let count = storage.requestCount - before
        #expect(requests.contains(count), "\(count)")
    }

    @Test func `an error in one part is one of the listing`() throws {
        let server = SimulatedServer()
        let storage = SimulatedStorage(server)
        for number in 0..<6_000 { _ = try storage.create(MirrorObject.pack(Self.id(number)).name, ObjectDraft([])) }
        var network = SimulatedNetwork.good
        network.scheduled = [9: .serverError]
        let failing = SimulatedStorage(server, network)
        #expect(failure { _ = try PackListing(storage: failing).packs() }?.code == .inputOutput)
    }

    /// As a gateway answers that skips entries. All packs would count as gone.
    @Test func `a page without names after which there are more is refused`() throws {
        let storage = SimulatedStorage(SimulatedServer())
        for number in 0..<1_100 { _ = try storage.create(MirrorObject.pack(Self.id(number)).name, ObjectDraft([])) }
        let empty = AlteredListing(storage, prefix: "packs/") { $0 = [] }
        #expect(failure { _ = try PackListing(storage: empty).packs() }?.code == .inputOutput)
    }
}

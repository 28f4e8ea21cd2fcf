import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A large content is taken from an earlier snapshot by the packs that hold it.
@Suite struct ContentPacksTests {
    private static let pageSizeBytes = 4_096
    private static let policy = ChunkingPolicy.database(pageSizeBytes: pageSizeBytes)
    /// Just above the limit.
    private static let pageCount = (32 << 20) / pageSizeBytes + 1

    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// Pages that differ from one another.
    /// - Parameter changed: each of these many pages differs from that of 0 in a few bytes.
    private func database(changingOneIn changed: Int = 0) -> [UInt8] {
        let page = TestData.random(Self.pageSizeBytes, seed: 7)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.pageCount * Self.pageSizeBytes)
        for number in 0..<Self.pageCount {
            bytes += page
            let start = bytes.count - Self.pageSizeBytes
            for offset in 0..<4 { bytes[start + offset] = UInt8(truncatingIfNeeded: number >> (8 * offset)) }
            if changed > 0, number.isMultiple(of: changed) { bytes[start + 9] ^= 0x55 }
        }
        return bytes
    }

    /// - Returns: the file in the snapshot.
    @discardableResult
    private func backUp(
        _ name: FileName, _ bytes: [UInt8], _ earlier: TreeEntry? = nil, seconds: Int64 = 1_000, in repository: Repository
    ) throws -> TreeEntry {
        let writer = try repository.makeWriter(packSizeBytes: 4 << 20, expectsSnapshots: false)
        let stored = try writer.store(MemorySource(bytes), policy: Self.policy, earlier: earlier?.content)
        let entry = TreeEntry.file(
            name: "database", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
        try writer.commit(named: name, entries: [entry], seconds: seconds)
        return entry
    }

    /// Whether a new backup may take the file over, and what the kept packs are then.
    private func takeOver(_ entry: TreeEntry, in repository: Repository) throws -> (isHeld: Bool, packs: Set<PackID>?) {
        let writer = try repository.makeWriter()
        defer { writer.abandon() }
        let isHeld = try writer.takeOver([entry.content]) == [true]
        return (isHeld, repository.catalog.packs(of: entry.content))
    }

    /// The names of a file's chunks and lists.
    private func chunks(of content: FileContent, in repository: Repository) throws -> [ChunkID] {
        try content.elements.flatMap { (element) -> [ChunkID] in
            switch element {
            case .literal: []
            case .chunk(let id, _): [id]
            case .list(let id, _): try [id] + chunks(of: repository.resolver.open(element), in: repository)
            }
        }
    }

    /// The packs without which a copy of the repository lacks a part of the file.
    private func needed(_ entry: TreeEntry, in repository: Repository) throws -> Set<PackID> {
        let chunks = try repository.catalog.locate(chunks(of: entry.content, in: repository))
        return Set((chunks + (try repository.catalog.locate(chunks.compactMap(\.base)))).map(\.pack))
    }

    /// Whether these packs have all of a file, of which others may have parts as well.
    private func isWhole(_ entry: TreeEntry, in packs: Set<PackID>?, of repository: Repository) throws -> Bool {
        guard let packs else { return false }
        return try chunks(of: entry.content, in: repository).allSatisfy { id in
            try repository.catalog.locations(of: id).contains { place in
                guard packs.contains(place.pack) else { return false }
                guard let base = place.base else { return true }
                return try repository.catalog.locations(of: base).contains { $0.base == nil && packs.contains($0.pack) }
            }
        }
    }

    @Test func `the packs are those of the chunks, the lists and the bases`() throws {
        let repository = try Repository.create(at: path)
        let first = try backUp("one", database(), in: repository)
        let second = try backUp("two", database(changingOneIn: 50), first, seconds: 1_001, in: repository)
        for entry in [first, second] {
            #expect(repository.catalog.packs(of: entry.content) == nil)
            #expect(try takeOver(entry, in: repository).isHeld)
            #expect(try repository.catalog.packs(of: entry.content) == needed(entry, in: repository))
            // By their packs now: not even the catalog's rows are looked at.
            #expect(try takeOver(entry, in: repository).isHeld)
        }
        // The second one has chunks that are differences from those of the first one.
        #expect(repository.catalog.packs(of: second.content)?.isSuperset(of: try needed(first, in: repository)) == true)
        // Another program has them from the catalog.
        let next = try Repository.open(at: path)
        #expect(next.catalog.packs(of: second.content) == repository.catalog.packs(of: second.content))
    }

    @Test func `no chunk is looked for of a content that has known parts, such as an export of the same rows`() throws {
        let repository = try Repository.create(at: path)
        let entry = try backUp("one", database(), in: repository)
        try #require(entry.content.elements.map { $0.part != nil } == [true])
        let export = FileContent.concatenating([FileContent(literal: [1, 2]), entry.content, FileContent(literal: [3])])
        #expect(try takeOver(entry, in: repository).isHeld)
        #expect(try run(["sqlite3", repository.catalog.path, "DELETE FROM chunks"]).status == 0)
        let writer = try repository.makeWriter()
        #expect(try writer.takeOver([entry.content, export]) == [true, true])
        writer.abandon()
        #expect(repository.catalog.replacementCount == 0)
        // Otherwise the catalog is found to be wrong, and made once more.
        #expect(try run(["sqlite3", repository.catalog.path, "DELETE FROM content_packs"]).status == 0)
        let next = try repository.makeWriter()
        #expect(try next.takeOver([export]) == [true])
        next.abandon()
        #expect(repository.catalog.replacementCount == 1)
    }

    @Test func `a small content has none`() throws {
        let repository = try Repository.create(at: path)
        let entry = try backUp("one", Array(database().prefix((32 << 20) - 1)), in: repository)
        let taken = try takeOver(entry, in: repository)
        #expect(taken.isHeld && taken.packs == nil)
    }

    /// What can happen to a pack.
    enum Harm: String, CaseIterable {
        case removed = "rm -f"
        case shortened = "truncate -s -1"
        case emptied = "truncate -s 0"
        case indexChanged = "sh -c 'printf XXXX | dd of=$0 bs=1 seek=$(($(stat -c %s $0) - 100)) conv=notrunc status=none'"
        case replaced = "sh -c 'size=$(stat -c %s $0); head -c $size /dev/zero > $0'"
    }

    @Test(arguments: Harm.allCases)
    func `a content is not taken over by packs of which one is gone or damaged`(harm: Harm) throws {
        var repository = try Repository.create(at: path)
        let bytes = database()
        let entry = try backUp("one", bytes, in: repository)
        #expect(try takeOver(entry, in: repository).isHeld)
        let packs = try #require(repository.catalog.packs(of: entry.content)).sorted()
        try #require(packs.count > 3)
        for isOther in [false, true] {
            // This program has seen the packs; another one has not.
            if isOther { repository = try Repository.open(at: path) }
            let pack = repository.layout.packPath(of: packs[isOther ? 2 : 1])
            try FileManager.default.copyItem(atPath: pack, toPath: folder("kept"))
            #expect(try run(["sh", "-c", "\(harm.rawValue) '\(pack)'"]).status == 0)
            #expect(try !takeOver(entry, in: repository).isHeld)
            // Stored again, it is whole.
            let again = try backUp(isOther ? "three" : "two", bytes, seconds: isOther ? 1_002 : 1_001, in: repository)
            let reader = try Repository.open(at: path)
            #expect(try reader.file("database", in: isOther ? "three" : "two") == bytes)
            #expect(try takeOver(again, in: repository).isHeld)
            #expect(try isWhole(again, in: repository.catalog.packs(of: again.content), of: reader))
            _ = try? FileManager.default.removeItem(atPath: pack)
            try FileManager.default.moveItem(atPath: folder("kept"), toPath: pack)
        }
    }

    @Test func `a prune that rewrites packs makes the kept ones useless, and the next look finds the new ones`() throws {
        let repository = try Repository.create(at: path)
        let first = try backUp("one", database(), in: repository)
        let second = try backUp("two", database(changingOneIn: 50), seconds: 1_001, in: repository)
        #expect(try takeOver(second, in: repository).isHeld)
        let before = try #require(repository.catalog.packs(of: second.content))
        try repository.removeSnapshot(#require(repository.snapshot(named: "one")).id)
        _ = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
        #expect(repository.catalog.packs(of: second.content) == nil)
        let after = try takeOver(second, in: repository)
        #expect(after.isHeld && after.packs != before)
        #expect(try after.packs == needed(second, in: repository))
        #expect(try !takeOver(first, in: repository).isHeld)
    }

    @Test func `what is kept of an archive counts for the same packs only`() throws {
        let repository = try Repository.create(at: path)
        let entry = try backUp("one", database(), in: repository)
        // Without packs, nothing is kept.
        repository.keep(archivedBytes: [1, 2, 3], of: entry.content)
        #expect(repository.archivedBytes(of: entry.content) == nil)
        try repository.visitPieces(ofPart: entry.content, known: nil) { _ in }
        repository.keep(archivedBytes: [1, 2, 3], of: entry.content)
        #expect(repository.archivedBytes(of: entry.content) == [1, 2, 3])
        #expect(try Repository.open(at: path).archivedBytes(of: entry.content) == [1, 2, 3])
        let packs = try #require(repository.catalog.packs(of: entry.content)).sorted()
        try FileSystem.removeFile(repository.layout.packPath(of: packs[0]))
        try backUp("two", database(), seconds: 1_001, in: repository)
        #expect(repository.archivedBytes(of: entry.content) == nil)
        #expect(try takeOver(entry, in: repository).isHeld)
        #expect(repository.archivedBytes(of: entry.content) == nil)
    }

    @Test func `the catalog of an encrypted repository names neither content nor packs`() throws {
        let repository = try Repository.create(
            at: path, password: EncryptionTests.secret("secret"), cost: EncryptionTests.cheap)
        let entry = try backUp("one", database(), in: repository)
        let packs = try #require(try takeOver(entry, in: repository).packs)
        let row = try run(["sqlite3", repository.catalog.path, "SELECT hex(content) || hex(sums) FROM content_packs"]).output
            .lowercased()
        #expect(row.count == 2 * (32 + 32 * packs.count + 16) + 1)
        for digest in packs.map(\.hexadecimal) + [entry.content.fingerprint.hexadecimal] {
            #expect(!row.contains(digest.prefix(12)))
        }
    }
}

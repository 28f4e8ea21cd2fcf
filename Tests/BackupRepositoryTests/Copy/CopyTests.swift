import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Copies of snapshots have the same content, and each part of it once.
struct CopyTests {
    private static func outcomes(_ results: [SnapshotCopy.Result]) -> [String] {
        results.map { result in
            switch result.outcome {
            case .copied: "copied \(result.snapshot.name)"
            case .completed: "completed \(result.snapshot.name)"
            case .isThere: "there \(result.snapshot.name)"
            case .wasRemoved: "removed \(result.snapshot.name)"
            case .failed(let error): "failed \(result.snapshot.name) \(error.code)"
            }
        }
    }

    @Test(arguments: Rounds.part(of: CopyEnds.Kind.allCases, oneIn: 2))
    func `a copy is the same, and nothing is copied twice`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        for version in 1...3 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        try CopyTree.backUp("~safety-x", version: 4, in: ends.source, kind: .safety)
        let second = try #require(ends.source.snapshot(named: "v2"))
        try ends.source.setPinned(second.id, true)
        try ends.source.changeTags(second.id) { $0 = ["kept", "summer"] }
        try ends.source.setVerified(second.id, at: Timestamp(seconds: 99_000))
        try ends.source.renameSnapshot(second.id, to: "renamed")
        #expect(try Self.outcomes(ends.copy()) == ["copied v1", "copied renamed", "copied v3", "copied ~safety-x"])
        for name: FileName in ["v1", "renamed", "v3", "~safety-x"] { try ends.expectSame(name) }
        let copies = ends.target.snapshots()
        #expect(copies.map(\.isPinned) == [false, true, false, false])
        #expect(copies.map(\.tags) == [["first-1"], ["kept", "summer"], ["first-3"], ["first-4"]])
        #expect(copies.map(\.kind) == [.snapshot, .snapshot, .snapshot, .safety])
        #expect(copies.map(\.verifiedAt) == [nil, nil, nil, nil])
        #expect(copies.map(\.record.parent) == [nil, copies[0].id, copies[1].id, copies[2].id])
        #expect(
            copies.map { $0.record.attributes["original"] } == ends.source.snapshots().map(\.id.hexadecimal))
        try ends.expectSound(ends.target)
        // The second time, also in another process, and when it is copied back.
        let packs = try CopyEnds.packs(ends.folder("target"))
        #expect(try Self.outcomes(ends.copy()) == ["there v1", "there renamed", "there v3", "there ~safety-x"])
        let own = try CopyEnds.packs(ends.folder("source"))
        #expect(try Self.outcomes(ends.copy(isBack: true)) == ["there v1", "there renamed", "there v3", "there ~safety-x"])
        #expect(try CopyEnds.packs(ends.folder("target")) == packs && CopyEnds.packs(ends.folder("source")) == own)
        // What is new shares its data with the copies before, which are known from an earlier run.
        try CopyTree.backUp("v5", version: 5, in: ends.source)
        guard case .copied(let copy, let storedBytes)? = try ends.copy().last?.outcome else {
            Issue.record("it was not copied")
            return
        }
        #expect(storedBytes < 1_200_000, "\(storedBytes)")
        #expect(copy.record.parent == copies[3].id)
        try ends.expectSame("v5")
        try ends.expectSound(ends.target)
    }

    /// The stored bytes are the same, those of deltas included.
    @Test(arguments: [CopyEnds.Kind.plain, .otherPassword])
    func `chunks keep their stored form`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        for version in 1...2 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        try ends.copy()
        func forms(_ repository: Repository) throws -> [String] {
            let query = "SELECT codec, stored_length, plain_length FROM chunks JOIN packs ON packs.number = chunks.pack"
            let rows = try run(["sqlite3", repository.catalog.path, query + " WHERE kind = 0 ORDER BY 1, 2, 3"]).output
            return rows.split(separator: "\n").map(String.init)
        }
        let (left, right) = (try forms(ends.source), try forms(ends.target))
        #expect(left == right)
        #expect(left.count { $0.hasPrefix("3|") } >= 3, "there are deltas")
        if kind == .plain {
            let listed = try run(["python3", Fixtures.reader, "packs", ends.folder("source")]).output
            let copied = try run(["python3", Fixtures.reader, "packs", ends.folder("target")]).output
            #expect(listed == copied)
        }
    }

    @Test(arguments: [CopyEnds.Kind.plain, .toEncrypted])
    func `what the target has is not stored again`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        try CopyTree.backUp("a", version: 1, in: ends.source)
        try CopyTree.backUp("b", version: 1, in: ends.target)
        guard case .copied(_, let storedBytes)? = try ends.copy().first?.outcome else {
            Issue.record("it was not copied")
            return
        }
        // Where chunks have the same names, not one is new; else those of files whose cuts depend on the key.
        if kind == .plain { #expect(storedBytes == 0) } else { #expect(storedBytes < 3_500_000) }
        #expect(ends.target.snapshots().map(\.name) == ["a", "b"])
        try ends.expectSame("a")
        try ends.expectSound(ends.target)
    }

    /// What is a base in the source may be stored against another base in the target. A delta cannot be stored against it there.
    @Test(arguments: [CopyEnds.Kind.plain, .otherPassword])
    func `a base that is a delta in the target is none there`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        if kind == .plain {
            for version in 1...2 { try CopyTree.backUp(FileName("own-\(version)"), version: UInt64(version), in: ends.target) }
        } else {
            // With another key, chunks of a backup there have other places; those of an earlier copy have not.
            for version in 1...2 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
            try ends.copy()
            for snapshot in ends.source.snapshots() { try ends.source.removeSnapshot(snapshot.id) }
            _ = try RepositoryPrune(ends.source, maxUnused: .bytes(0), allowsEmpty: true).run()
        }
        try CopyTree.backUp("second", version: 2, in: ends.source)
        try CopyTree.backUp("third", version: 3, in: ends.source)
        try ends.copy()
        for name: FileName in ["second", "third"] { try ends.expectSame(name) }
        try ends.expectSound(ends.target)
    }

    @Test func `of two backups with one name, the second gets another`() throws {
        let ends = try CopyEnds(.plain)
        try CopyTree.backUp("a", version: 1, in: ends.source)
        try CopyTree.backUp("a", version: 2, in: ends.target)
        try ends.copy()
        #expect(ends.target.snapshots().map(\.name) == ["a_2", "a"])
        try ends.expectSame("a", as: "a_2")
        #expect(try Self.outcomes(ends.copy()) == ["there a"])
    }

    @Test(arguments: [CopyEnds.Kind.plain, .otherPassword])
    func `a lost original comes back from its copy`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        for version in 1...2 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        try ends.copy()
        let first = try #require(ends.source.snapshot(named: "v1"))
        try ends.source.removeSnapshot(first.id)
        #expect(try Self.outcomes(ends.copy(isBack: true)) == ["copied v1", "there v2"])
        let back = try #require(ends.source.snapshot(named: "v1"))
        #expect(back.id != first.id && back.originalID == first.id && back.record.token == first.record.token)
        try ends.expectSame("v1")
        // It is the same in the other direction.
        #expect(try Self.outcomes(ends.copy()) == ["there v1", "there v2"])
        try ends.expectSound(ends.source)
    }

    @Test func `what was removed there is copied again only by its name`() throws {
        let ends = try CopyEnds(.plain)
        for version in 1...2 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        try ends.copy()
        let copy = try #require(ends.target.snapshot(named: "v1"))
        try ends.target.setPinned(copy.id, true)
        try ends.target.renameSnapshot(copy.id, to: "other")
        try ends.target.setPinned(copy.id, false)
        try ends.target.withdrawSnapshots([copy.id], at: SystemClock.now())
        #expect(try Self.outcomes(ends.copy()) == ["removed v1", "there v2"])
        #expect(ends.target.snapshots().map(\.name) == ["v2"])
        #expect(try Self.outcomes(ends.copy(["v1"])) == ["copied v1"])
        // The label that the removed one had is not that of the new one.
        #expect(ends.target.snapshots().map(\.name) == ["v1", "v2"])
        #expect(ends.target.snapshots().map(\.isPinned) == [false, false])
        try ends.expectSame("v1")
        try ends.expectSound(ends.target)
    }

    @Test func `a repository and its copy are one repository`() throws {
        let ends = try CopyEnds(.plain)
        try CopyTree.backUp("a", version: 1, in: ends.source)
        try run(["cp", "-r", ends.folder("source"), ends.folder("twin")])
        for path in ["source", "twin"] {
            let other = try Repository.open(at: ends.folder(path))
            let error = failure { _ = try SnapshotCopy(from: ends.source, to: other, CopyEnds.rules) }
            #expect(error?.code == .usage && error?.path == ends.folder(path), "\(error as Any)")
        }
    }

    @Test func `the document of the source goes with the first copy, and replaces none`() throws {
        let ends = try CopyEnds(.otherPassword)
        let id = try #require(SourceID(hexadecimal: CopyTree.sourceID))
        try ends.source.write(CopyTree.document(of: id, host: "first"))
        try CopyTree.backUp("v1", version: 1, in: ends.source)
        try ends.copy()
        #expect(try ends.target.source(id) == CopyTree.document(of: id, host: "first"))
        try ends.source.write(CopyTree.document(of: id, host: "second"))
        try CopyTree.backUp("v2", version: 2, in: ends.source)
        try ends.copy()
        #expect(
            try ends.target.source(id) == CopyTree.document(of: id, host: "first") && ends.target.sourcesWithoutDocument().isEmpty
        )
    }
}

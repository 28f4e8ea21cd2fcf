import BackupCore
import Foundation
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Copies into a repository that has lost data, or in which others write.
@Suite(.rotating(oneIn: 3)) struct IncompleteCopyTests {
    private func verdicts(_ ends: CopyEnds) throws -> [String] {
        let copy = try SnapshotCopy(from: ends.source, to: ends.target, CopyEnds.rules)
        return try copy.plan(ends.source.snapshots(), areNamed: false).map { item in
            switch item.verdict {
            case .copy: "copy"
            case .isThere: "there"
            case .isIncomplete: "incomplete"
            case .wasRemoved: "removed"
            }
        }
    }

    private func completed(_ results: [SnapshotCopy.Result]) -> [FileName] {
        results.compactMap { if case .completed(let copy, let bytes) = $0.outcome, bytes > 0 { copy.name } else { nil } }
    }

    /// Each pack in turn: of data, of folders, of lists.
    @Test(arguments: CopyEnds.Kind.allCases) func `data that was lost is copied again`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        for version in 1...2 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        try ends.copy()
        #expect(try verdicts(ends) == ["there", "there"])
        let records = ends.target.snapshots().map(\.id)
        let packs = try CopyEnds.packs(ends.folder("target"))
        // A random key decides where an encrypted repository cuts files, and so how many there are.
        #expect(packs.count > ([.plain, .otherLengths].contains(kind) ? 5 : 4))
        for pack in packs {
            let path = ends.folder("target/packs/\(pack)")
            // It may have gone with an earlier one.
            guard FileManager.default.fileExists(atPath: path) else { continue }
            try FileManager.default.removeItem(atPath: path)
            try ends.target.refresh()
            #expect(try verdicts(ends).contains("incomplete"), "\(pack)")
            #expect(try !completed(ends.copy()).isEmpty, "\(pack)")
            #expect(try verdicts(ends) == ["there", "there"], "\(pack)")
        }
        // The records are those of the first copy.
        #expect(ends.target.snapshots().map(\.id) == records)
        for name: FileName in ["v1", "v2"] { try ends.expectSame(name) }
        try ends.expectSound(ends.target)
    }

    @Test func `a pack that was cut off counts as lost`() throws {
        let ends = try CopyEnds(.plain)
        try CopyTree.backUp("v1", version: 1, in: ends.source)
        try ends.copy()
        let pack = try #require(try CopyEnds.packs(ends.folder("target")).first)
        let path = ends.folder("target/packs/\(pack)")
        try writeFile(path, Array(readFile(path).dropLast(30)))
        let target = try Repository.open(at: ends.folder("target"))
        let copy = try SnapshotCopy(from: ends.source, to: target, CopyEnds.rules)
        var results: [SnapshotCopy.Result] = []
        try copy.run(copy.plan(ends.source.snapshots(), areNamed: false), progress: nil) { results.append($0) }
        #expect(completed(results) == ["v1"])
        // The damaged pack is still there, which the independent reader refuses.
        let again = try Repository.open(at: ends.folder("target"))
        #expect(try again.file("rows.json", in: "v1") == TestData.rows(20_000, seed: 41))
        #expect(try again.file("database.sqlite", in: "v1") == CopyTree.database(version: 1))
        let second = try SnapshotCopy(from: ends.source, to: again, CopyEnds.rules)
        let verdicts = try second.plan(ends.source.snapshots(), areNamed: false).map(\.verdict)
        #expect(verdicts.count == 1)
        guard case .isThere = verdicts.first else {
            Issue.record("\(verdicts)")
            return
        }
    }

    @Test func `what the source has lost as well is named`() throws {
        let ends = try CopyEnds(.plain)
        try CopyTree.backUp("v1", version: 1, in: ends.source)
        try ends.copy()
        for side in ["source", "target"] {
            let path = ends.folder("\(side)/packs")
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        // What was read before is known.
        let (source, target) = (try Repository.open(at: ends.folder("source")), try Repository.open(at: ends.folder("target")))
        let copy = try SnapshotCopy(from: source, to: target, CopyEnds.rules)
        var results: [SnapshotCopy.Result] = []
        try copy.run(copy.plan(source.snapshots(), areNamed: false), progress: nil) { results.append($0) }
        #expect(results.count == 1)
        guard case .failed(let error) = results.first?.outcome else {
            Issue.record("\(results)")
            return
        }
        #expect(error.code == .repositoryDamaged)
    }

    /// Copies three snapshots. After the first, another writer begins.
    /// - Returns: the names that were copied, and the error.
    private func copyBesideWriter(
        _ ends: CopyEnds, waitSeconds: UInt64, endsWriter: Bool
    ) throws -> (names: [FileName], error: BackupError?) {
        for version in 1...3 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        let copy = try SnapshotCopy(
            from: ends.source, to: ends.target, CopyEnds.rules, packSizeBytes: 300_000, waitSeconds: waitSeconds)
        let other = try Repository.open(at: ends.folder("target"))
        let writer = Mutex<BackupWriter?>(nil)
        var names: [FileName] = []
        do throws(BackupError) {
            try copy.run(copy.plan(ends.source.snapshots(), areNamed: false)) { progress in
                guard endsWriter, progress.message.hasPrefix("Waiting: another operation is running") else { return }
                writer.withLock { writer in
                    writer?.abandon()
                    writer = nil
                }
            } didEnd: { result in
                if case .copied = result.outcome { names.append(result.snapshot.name) }
                if names.count == 1 { writer.withLock { $0 = try? other.makeWriter() } }
            }
        } catch {
            return (names, error)
        }
        return (names, nil)
    }

    @Test func `a writer between two snapshots is waited for`() throws {
        let ends = try CopyEnds(.plain)
        let (names, error) = try copyBesideWriter(ends, waitSeconds: 300, endsWriter: true)
        #expect(names == ["v1", "v2", "v3"] && error == nil, "\(String(describing: error))")
        for name in names { try ends.expectSame(name) }
    }

    @Test func `a writer that does not end is not waited for without end`() throws {
        let ends = try CopyEnds(.plain)
        let (names, error) = try copyBesideWriter(ends, waitSeconds: 1, endsWriter: false)
        #expect(names == ["v1"] && error?.code == .busy, "\(String(describing: error))")
        try ends.expectSame("v1")
    }

    @Test func `what a copy needs is known where chunks have the same names, and before a first copy`() throws {
        for kind in [CopyEnds.Kind.plain, .toEncrypted] {
            let ends = try CopyEnds(kind)
            let photo = TestData.random(1_000_000, seed: 5)
            try ends.source.makeWriter().commit(named: "a", files: [("photo", photo, .media)], seconds: 1_000)
            try ends.source.makeWriter().commit(
                named: "b", files: [("photo", photo, .media), ("more", TestData.random(500_000, seed: 6), .media)], seconds: 2_000
            )
            func required(_ availableBytes: UInt64) throws -> UInt64? {
                let copy = try SnapshotCopy(from: ends.source, to: ends.target, CopyEnds.rules)
                return try copy.requiredBytes(
                    for: copy.plan(ends.source.snapshots(), areNamed: false), beyond: availableBytes)
            }
            // Random bytes cannot be compressed; folders take a little.
            let first = try #require(try required(0))
            #expect((1_500_000...1_502_000).contains(first), "\(first)")
            #expect(try required(10_000_000) == nil)
            try ends.copy(["a"])
            let second = try required(0)
            if kind == .plain {
                #expect((500_000...501_000).contains(try #require(second)), "\(String(describing: second))")
            } else {
                #expect(second == nil)
            }
            try ends.copy()
            #expect(try required(0) == nil)
        }
    }
}

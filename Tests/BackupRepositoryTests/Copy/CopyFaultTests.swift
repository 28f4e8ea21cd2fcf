import BackupCore
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Copies that meet damage, other processes, and their own death.
@Suite(.rotating(oneIn: 3)) struct CopyFaultTests {
    /// The packs that hold chunks of a file of a snapshot, and of no file of another one.
    private func packs(onlyOf name: FileName, _ file: FileName, in repository: Repository) throws -> [PackID] {
        func packs(of snapshot: Snapshot) throws -> Set<PackID> {
            var packs: Set<PackID> = []
            var cursor = TreeCursor(snapshot.record.root, in: repository)
            while let entry = try cursor.nextEntry() {
                guard entry.kind == .file, snapshot.name != name || entry.name == file else { continue }
                for case .chunk(let chunk) in try repository.pieces(of: entry.content) { packs.insert(chunk.pack) }
            }
            return packs
        }
        var found = try packs(of: #require(repository.snapshot(named: name)))
        for other in repository.snapshots() where other.name != name { found.subtract(try packs(of: other)) }
        return found.sorted()
    }

    @Test(arguments: CopyEnds.Kind.allCases)
    func `a damaged snapshot is not copied, and the others are`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        for (index, name) in (["a", "b", "c"] as [FileName]).enumerated() {
            let photo = TestData.random(300_000, seed: UInt64(50 + index))
            let writer = try ends.source.makeWriter(packSizeBytes: 100_000)
            try writer.commit(
                named: name, files: [("photo", photo, .media), ("rows", TestData.rows(3_000, seed: 9), .structuredText)],
                seconds: Int64(1_000 + index))
        }
        let pack = try #require(try packs(onlyOf: "b", "photo", in: ends.source).first)
        try Damage.flip(ends.source.layout.packPath(of: pack), at: 5_000)
        let source = try CopyEnds.open(ends.folder("source"), CopyEnds.passwords.source)
        let copy = try SnapshotCopy(from: source, to: ends.target, CopyEnds.rules)
        var failures: [FileName: BackupError] = [:]
        var copied: [FileName] = []
        try copy.run(copy.plan(source.snapshots(), areNamed: false), progress: nil) { result in
            switch result.outcome {
            case .copied(let copy, _): copied.append(copy.name)
            case .failed(let error): failures[result.snapshot.name] = error
            case .completed, .isThere, .wasRemoved: Issue.record("\(result)")
            }
        }
        #expect(copied == ["a", "c"] && Array(failures.keys) == ["b"])
        #expect(failures["b"]?.code == .repositoryDamaged && failures["b"]?.path == source.layout.packPath(of: pack))
        #expect(ends.target.snapshots().map(\.name) == ["a", "c"])
        try ends.expectSound(ends.target)
        #expect(try ends.target.file("photo", in: "c") == TestData.random(300_000, seed: 52))
        #expect(try FileManager.default.contentsOfDirectory(atPath: ends.folder("target/tmp")).isEmpty)
        // Once the pack is back, it is copied.
        try Damage.flip(ends.source.layout.packPath(of: pack), at: 5_000)
        #expect(try ends.copy().count { if case .copied = $0.outcome { true } else { false } } == 1)
        try ends.expectSame("b")
    }

    /// What both have is not read, also if an earlier run has copied it.
    @Test(arguments: CopyEnds.Kind.allCases) func `only what is new is read`(kind: CopyEnds.Kind) throws {
        let ends = try CopyEnds(kind)
        let photo = TestData.random(300_000, seed: 60)
        try ends.source.makeWriter().commit(named: "a", files: [("photo", photo, .media)], seconds: 1_000)
        try ends.copy()
        let pack = try #require(try packs(onlyOf: "a", "photo", in: ends.source).first)
        try ends.source.makeWriter().commit(
            named: "b", files: [("photo", photo, .media), ("rows", TestData.rows(3_000, seed: 9), .structuredText)],
            seconds: 2_000)
        try Damage.flip(ends.source.layout.packPath(of: pack), at: 5_000)
        let source = try CopyEnds.open(ends.folder("source"), CopyEnds.passwords.source)
        let copy = try SnapshotCopy(from: source, to: ends.target, CopyEnds.rules)
        try copy.run(copy.plan(source.snapshots(), areNamed: false), progress: nil) { _ in }
        #expect(try ends.target.file("photo", in: "b") == photo)
        #expect(try ends.target.file("rows", in: "b") == TestData.rows(3_000, seed: 9))
    }

    @Test func `no prune removes what is being copied`() throws {
        let ends = try CopyEnds(.plain)
        for version in 1...2 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        let copy = try SnapshotCopy(from: ends.source, to: ends.target, CopyEnds.rules)
        var refusals: [BackupError.Code?] = []
        try copy.run(copy.plan(ends.source.snapshots(), areNamed: false), progress: nil) { _ in
            for path in ["source", "target"] {
                refusals.append(
                    errorCode { _ = try RepositoryPrune(Repository.open(at: ends.folder(path))).run() })
            }
        }
        #expect(refusals == [.busy, .busy, .busy, .busy])
        for repository in [ends.source, ends.target] { _ = try RepositoryPrune(repository).run() }
        try ends.expectSame("v1")
        // Backups can be made in the source meanwhile, and none in the target while one is written.
        let writer = try ends.target.makeWriter()
        try ends.target.removeSnapshot(#require(ends.target.snapshot(named: "v2")).id)
        #expect(errorCode { try ends.copy() } == .busy)
        writer.abandon()
        try ends.copy()
        try ends.expectSame("v2")
    }

    private static let points = [
        "backup.pack-written", "backup.pack-written:3", "backup.pack-published", "backup.pack-published:4",
        "copy.tree-stored", "backup.catalog-updated", "backup.record-written", "backup.record-written:2", "backup.published",
        "backup.published:2",
    ]

    @Test(arguments: Rounds.part(of: points, oneIn: 5), [CopyEnds.Kind.plain, .otherPassword])
    func `after a death, a second copy completes the first`(point: String, kind: CopyEnds.Kind) async throws {
        let ends = try CopyEnds(kind)
        for version in 1...2 { try CopyTree.backUp(FileName("v\(version)"), version: UInt64(version), in: ends.source) }
        let second = try #require(ends.source.snapshot(named: "v2"))
        try ends.source.setPinned(second.id, true)
        try ends.source.changeTags(second.id) { $0 = ["kept"] }
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = ends.folder.path as String, point] in
            setenv("BACKUPFS_FAULT", point, 1)
            let source = try CopyEnds.open(path + "/source", CopyEnds.passwords.source)
            let target = try CopyEnds.open(path + "/target", CopyEnds.passwords.target)
            let copy = try SnapshotCopy(from: source, to: target, CopyEnds.rules, packSizeBytes: 300_000)
            try copy.run(copy.plan(source.snapshots(), areNamed: false), progress: nil) { _ in }
        }
        try ends.target.refresh()
        let left = ends.target.snapshots().map(\.name)
        #expect(left == ["v1", "v2"] || left == ["v1"] || left.isEmpty)
        for name in left { try ends.expectSame(name) }
        #expect(ends.target.damages().isEmpty && ends.source.damages().isEmpty)
        try ends.copy()
        #expect(ends.target.snapshots().map(\.name) == ["v1", "v2"])
        for name: FileName in ["v1", "v2"] { try ends.expectSame(name) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: ends.folder("target/tmp")).isEmpty)
        try ends.expectSound(ends.target)
    }

    /// The same with an error instead of a death: nothing is left of the snapshot that was being copied.
    @Test(arguments: ["backup.pack-published:4", "copy.tree-stored", "backup.record-written"])
    func `after an error, nothing is left of it`(point: String) async throws {
        let ends = try CopyEnds(.plain)
        try CopyTree.backUp("v1", version: 1, in: ends.source)
        await #expect(processExitsWith: .exitCode(7)) { [path = ends.folder.path as String, point] in
            setenv("BACKUPFS_FAULT", point + "=fail", 1)
            let (source, target) = (try Repository.open(at: path + "/source"), try Repository.open(at: path + "/target"))
            let copy = try SnapshotCopy(from: source, to: target, CopyEnds.rules, packSizeBytes: 300_000)
            do {
                try copy.run(copy.plan(source.snapshots(), areNamed: false), progress: nil) { _ in }
            } catch {
                exit((error as? BackupError)?.code == .inputOutput ? 7 : 8)
            }
        }
        #expect(try CopyEnds.packs(ends.folder("target")).isEmpty)
        try ends.target.refresh()
        #expect(ends.target.snapshots().isEmpty)
        try ends.copy()
        try ends.expectSame("v1")
    }
}

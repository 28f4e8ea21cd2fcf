import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A copy of two snapshots into a repository that has one of its own is cut off after every single change to a file there: what
/// is listed is whole, and a second copy completes the first.
@Suite struct CopyCutTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func copy(
        from source: Repository, to target: Repository, didEnd: (SnapshotCopy.Result) -> Void = { _ in }
    ) throws {
        try source.refresh()
        let copy = try SnapshotCopy(
            from: source, to: target, CopyEnds.rules, packSizeBytes: RecordedHistory.packSizeBytes)
        try copy.run(copy.plan(source.snapshots(), areNamed: false), progress: nil, didEnd: didEnd)
    }

    private func open(_ path: String) throws -> Repository { try CopyEnds.open(path, CopyEnds.passwords.target) }

    @Test(arguments: PowerCut.all, [false, true]) func everyStep(cut: PowerCut, isEncrypted: Bool) throws {
        let source = try CopyEnds.create(folder("source"), nil)
        for (index, name) in (["one", "two"] as [FileName]).enumerated() {
            try RecordedHistory.backUp(name, in: source, seconds: Int64(1_000 + index))
        }
        let original = folder("original")
        let target = try CopyEnds.create(original, isEncrypted ? CopyEnds.passwords.target : nil)
        try RecordedHistory.backUp("three", in: target, seconds: 900)
        let beginning = try DiskTree(readingFrom: original)
        let recorder = FileRecorder()
        recorder.promise(.init(kept: ["three"]))
        try FileObservation.observing(below: original, by: recorder) {
            var kept: Set<FileName> = ["three"]
            try copy(from: source, to: target) { result in
                kept.insert(result.snapshot.name)
                recorder.promise(.init(kept: kept))
            }
        }
        let operations = recorder.operations
        #expect(operations.count > 40)
        var disk = SimulatedDisk(root: original, tree: beginning)
        var known: Set<DiskTree> = []
        var listed: Set<Set<FileName>> = []
        var moments = Rounds.Moments(oneIn: 16)
        for count in 0...operations.count {
            if count > 0 { disk.apply(operations[count - 1]) }
            let tree = cut.leftover(of: disk, moment: count)
            let isLast = count == operations.count
            guard known.insert(tree).inserted && moments.takesNext() || isLast else { continue }
            let place: Comment = "cut after step \(count) of \(operations.count)"
            let path = folder("\(count)")
            try tree.write(to: path)
            defer { try? FileManager.default.removeItem(atPath: path) }
            do {
                let left = try open(path)
                let names = Set(left.snapshots().map(\.name))
                listed.insert(names)
                #expect(left.damages().isEmpty, place)
                #expect(names.isSuperset(of: recorder.promise(after: count).kept), place)
                for name in names { #expect(try RecordedHistory.flaw(of: name, in: left) == nil, place) }
                try RecordedHistory.expectSound(left, place)
                try copy(from: source, to: left)
                #expect(left.snapshots().map(\.name).sorted() == ["one", "three", "two"], place)
                for name: FileName in ["one", "two", "three"] {
                    #expect(try RecordedHistory.flaw(of: name, in: left) == nil, place)
                }
                // Only a writer clears it away.
                if names.count < 3 {
                    #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/tmp") == [], place)
                }
                try RecordedHistory.expectSound(left, place)
            } catch {
                Issue.record(error, place)
            }
        }
        #expect(listed.isSubset(of: [["three"], ["three", "one"], ["three", "one", "two"]]), "\(listed)")
        #expect(listed.contains(["three", "one", "two"]) && known.count > 3)
        for name: FileName in ["one", "two"] { #expect(try RecordedHistory.flaw(of: name, in: source) == nil) }
    }
}

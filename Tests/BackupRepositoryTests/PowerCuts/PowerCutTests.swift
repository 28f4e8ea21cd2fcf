import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// The power fails after every single change to a file, and whatever was not synchronized is lost in one way or another: all
/// snapshots that were published are whole, what is listed is whole, and the next backup and prune work and clear away what was
/// left.
@Suite(.rotating(oneIn: 3)) struct PowerCutTests {
    /// What is found at the next start, and what it is to hold.
    private struct Moment: Hashable {
        let tree: DiskTree
        let promise: FileRecorder.Promise
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    @Test(arguments: PowerCut.all) func everyStep(cut: PowerCut) throws {
        let history = try RecordedHistory.shared.get()
        let operations = history.recorder.operations
        var disk = SimulatedDisk(root: history.root, tree: history.beginning)
        var known: Set<Moment> = []
        var moments = Rounds.Moments(oneIn: 16)
        var tried = 0
        for count in 0...operations.count {
            if count > 0 { disk.apply(operations[count - 1]) }
            let moment = Moment(tree: cut.leftover(of: disk, moment: count), promise: history.recorder.promise(after: count))
            // Many steps change nothing of what would be left.
            guard known.insert(moment).inserted, moments.takesNext() else { continue }
            tried += 1
            let catalog = CatalogState.allCases[tried % CatalogState.allCases.count]
            let place: Comment = "cut after step \(count), \(Self.describe(operations, count)), catalog \(catalog)"
            let path = folder("\(count)")
            try moment.tree.write(to: path)
            try catalog.write(to: path, history.catalogs)
            let next = FileRecorder()
            expectNothing(place) {
                try FileObservation.observing(below: path, by: next) {
                    try expectUnharmed(path, moment.promise, next: "next", place)
                }
            }
            if case .processOnly = cut {
                var promise = moment.promise
                expectNothing("pruned after \(place)") {
                    let prune = FileRecorder()
                    try moment.tree.write(to: path + "-pruned")
                    try FileObservation.observing(below: path + "-pruned", by: prune) {
                        _ = try RepositoryPrune(try Repository.open(at: path + "-pruned"), maxUnused: .bytes(0)).run()
                    }
                    // It unlinks: what is lost of that is as it was, so here some of it is kept.
                    for seed: UInt64 in 1...2 {
                        try expectDurable(
                            prune, after: disk, cut: .tears(seed: seed), in: path + "-pruned", promise, "pruned after \(place)")
                    }
                    try FileManager.default.removeItem(atPath: path + "-pruned")
                }
                promise.kept.insert("next")
                expectNothing(place) { try expectDurable(next, after: disk, cut: .losesAll, in: path, promise, place) }
            }
            try FileManager.default.removeItem(atPath: path)
        }
        // That something was cut at all.
        #expect(operations.count > 80)
        #expect(known.count > 15)
        #expect(tried > 0)
    }

    /// The process was killed, another one made a backup or pruned on what it found, and then the power fails: what the second
    /// one relied on must not be lost with the names that the dead one had not made durable.
    private func expectDurable(
        _ next: FileRecorder, after disk: SimulatedDisk, cut: PowerCut, in path: String, _ promise: FileRecorder.Promise,
        _ place: Comment
    ) throws {
        var disk = disk
        disk.root = path
        for operation in next.operations { disk.apply(operation) }
        let secondPath = path + "-second"
        defer { try? FileManager.default.removeItem(atPath: secondPath) }
        try cut.leftover(of: disk, moment: next.operations.count).write(to: secondPath)
        try expectUnharmed(secondPath, promise, next: "after", "and then another \(place)")
    }

    private static func describe(_ operations: [FileOperation], _ count: Int) -> String {
        guard count > 0 else { return "before the first" }
        if case .write(let path, let offset, let bytes) = operations[count - 1] {
            return "a write of \(bytes.count) bytes at \(offset) to \(FileSystem.lastComponent(path))"
        }
        return "\(operations[count - 1])"
    }

    private func expectNothing(_ place: Comment, thrownBy body: () throws -> Void) {
        do { try body() } catch { Issue.record(error, place) }
    }

    private func expectUnharmed(
        _ path: String, _ promise: FileRecorder.Promise, next: FileName, _ place: Comment
    ) throws {
        let repository = try Repository.open(at: path)
        #expect(repository.damages().isEmpty, place)
        let names = Set(repository.snapshots().map(\.name))
        #expect(names.isSuperset(of: promise.kept), place)
        let allowed = promise.kept.union(promise.possible).union(promise.renaming).union(promise.recoverable)
        #expect(names.isSubset(of: allowed), place)
        let removed = try repository.removedSnapshots().filter { promise.recoverable.contains($0.snapshot.name) }
        #expect(names.union(removed.map(\.snapshot.name)).isSuperset(of: promise.recoverable), place)
        #expect(names.isDisjoint(with: removed.map(\.snapshot.name)), place)
        if !promise.renaming.isEmpty { #expect(names.intersection(promise.renaming).count == 1, place) }
        for name in names { #expect(try RecordedHistory.flaw(of: name, in: repository) == nil, place) }
        try expectSound(repository, place)

        try RecordedHistory.backUp(next, in: repository, seconds: 3000)
        for name in names.union([next]) { #expect(try RecordedHistory.flaw(of: name, in: repository) == nil, place) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/tmp") == [], place)
        try expectSound(repository, place)

        _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
        for one in removed {
            #expect(try repository.bringBackSnapshot(one.snapshot.id).problems.isEmpty, place)
            #expect(try RecordedHistory.flaw(of: one.snapshot.name, in: repository) == nil, place)
        }
        for name in names.union([next]) { #expect(try RecordedHistory.flaw(of: name, in: repository) == nil, place) }
        try expectSound(repository, place)
    }

    private func expectSound(_ repository: Repository, _ place: Comment) throws {
        try RecordedHistory.expectSound(repository, place)
    }
}

extension RecordedHistory {
    /// Nothing is wrong, except that an unreadable catalog has been rebuilt.
    static func expectSound(_ repository: Repository, _ place: Comment) throws {
        var findings: [String] = []
        var check = RepositoryCheck(repository, readData: .all) { event in
            switch event {
            case .finding(let finding):
                let isReplaced =
                    finding.kind == .catalog && finding.error.message.contains("it has been rebuilt from the packs")
                if !isReplaced { findings.append("\(finding.kind): \(finding.error)") }
            case .damaged(let file), .unreadable(let file): findings.append("hurt: \(file.path)")
            case .repaired: break
            }
        }
        #expect(try check.run().damagedFileCount == 0, place)
        let text = findings.joined(separator: "\n")
        #expect(text == "", place)
    }
}

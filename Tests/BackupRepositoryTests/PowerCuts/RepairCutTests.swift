import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// The power fails after every single change of a repair: what was whole before it is whole at each moment, and the next repair
/// puts right all that the first would have.
@Suite(.rotating(oneIn: 3)) struct RepairCutTests {
    /// What is wrong before the repair.
    enum Harm: CaseIterable, Sendable {
        case flippedBit, lostStretch, cutOff, records, labels, missingLabels, settings

        fileprivate func apply(to repository: Repository) throws {
            let layout = repository.layout
            let ids = try ["one", "two", "three"].map { try #require(repository.snapshot(named: $0)).id }
            let photo = try photo(in: repository)
            let pack = layout.packPath(of: photo.pack)
            switch self {
            case .flippedBit: try Damage.flip(pack, at: Int(photo.packOffset) + 1_000, 4)
            case .lostStretch: for byte in 1_000..<1_010 { try Damage.flip(pack, at: Int(photo.packOffset) + byte, 0x55) }
            case .cutOff: try writeFile(pack, Array(readFile(pack).dropLast(10)))
            case .records:
                try Damage.flip(layout.snapshotPath(of: ids[0]))
                for offset in 40..<50 { try Damage.flip(layout.snapshotPath(of: ids[1]), at: offset, 0x55) }
            case .labels:
                try Damage.flip(layout.labelPath(of: ids[0]))
                for offset in 4..<14 { try Damage.flip(layout.labelPath(of: ids[1]), at: offset, 0x55) }
            case .missingLabels:
                for id in ids.prefix(2) { try FileManager.default.removeItem(atPath: layout.labelPath(of: id)) }
            case .settings:
                try Damage.flip(layout.config)
                try Damage.flip(layout.register)
            }
        }

        /// A chunk that "one" does without.
        private func photo(in repository: Repository) throws -> StoredChunk {
            let root = try repository.rootDirectory(of: try #require(repository.snapshot(named: "two")))
            for case .chunk(let chunk) in try repository.pieces(of: try #require(root.entry(named: "photo")).content) {
                return chunk
            }
            throw BackupError(.notFound, "the photo has no chunk")
        }
    }

    /// A repair that nothing disturbs.
    private struct Peace {
        let beginning: DiskTree
        let recorder: FileRecorder
        let catalogs: CatalogState.Copies
        /// Backups that are whole before, and after.
        let before: Set<FileName>
        let after: Set<FileName>
        /// What a check finds after it: files that are lost.
        let damagedFileCount: Int
        /// Whether a record is lost, which the repository goes on to expect until it is given up.
        let losesRecord: Bool
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func makePeace(_ harm: Harm) throws -> Peace {
        let path = folder("original")
        try makeRepository(path, harm)
        let beginning = try DiskTree(readingFrom: path)
        let early = try readFile(path + "/catalog.sqlite")
        // Without a catalog, which may be lost at any time.
        try beginning.write(to: path + "-before")
        let before = try whole(path + "-before")
        let recorder = FileRecorder()
        try FileObservation.observing(below: path, by: recorder) { try repair(path) }
        var check = RepositoryCheck(try Repository.open(at: path), readData: .all) { _ in }
        let damagedFileCount = try check.run().damagedFileCount
        let after = try whole(path)
        let catalogs = CatalogState.Copies(beginning: early, end: try readFile(path + "/catalog.sqlite"))
        return Peace(
            beginning: beginning, recorder: recorder, catalogs: catalogs, before: before, after: after,
            damagedFileCount: damagedFileCount, losesRecord: harm == .records)
    }

    /// It is not open afterwards, so that the catalog is whole in its one file.
    private func makeRepository(_ path: String, _ harm: Harm) throws {
        let repository = try Repository.create(at: path)
        for (number, name) in ["one", "two", "three"].enumerated() {
            try RecordedHistory.backUp(FileName(name), in: repository, seconds: Int64(1_000 + number))
        }
        for name: FileName in ["one", "two"] { try repository.setPinned(try #require(repository.snapshot(named: name)).id, true) }
        try harm.apply(to: repository)
    }

    private func repair(_ path: String) throws { try RepositoryRepair(try Repository.open(at: path)) { _ in }.run() }

    private func whole(_ path: String) throws -> Set<FileName> {
        let repository = try Repository.open(at: path)
        return Set(
            repository.snapshots().map(\.name).filter { name in
                // An error is a flaw, too.
                let flaw = Result { try RecordedHistory.flaw(of: name, in: repository) }
                if case .success(nil) = flaw { return true }
                return false
            })
    }

    private static let cuts: [PowerCut] = [.processOnly, .losesAll, .zeroesBytes, .tears(seed: 3)]

    @Test(arguments: Harm.allCases, cuts) func everyStep(harm: Harm, cut: PowerCut) throws {
        let peace = try makePeace(harm)
        #expect(!peace.before.isEmpty && peace.after.isSuperset(of: peace.before))
        #expect((peace.damagedFileCount > 0) == (harm == .lostStretch))
        if [.flippedBit, .cutOff, .records].contains(harm) { #expect(peace.after.count > peace.before.count) }
        let operations = peace.recorder.operations
        #expect(operations.count > 10)
        var disk = SimulatedDisk(root: folder("original"), tree: peace.beginning)
        var known: Set<DiskTree> = []
        var moments = Rounds.Moments(oneIn: 6)
        for count in 0...operations.count {
            if count > 0 { disk.apply(operations[count - 1]) }
            let tree = cut.leftover(of: disk, moment: count)
            guard known.insert(tree).inserted, moments.takesNext() else { continue }
            let place: Comment = "\(harm), cut after step \(count), \(count > 0 ? "\(operations[count - 1])".prefix(200) : "")"
            let path = folder("\(count)")
            try tree.write(to: path)
            try CatalogState.allCases[count % CatalogState.allCases.count].write(to: path, peace.catalogs)
            #expect(try whole(path).isSuperset(of: peace.before), place)
            let next = FileRecorder()
            try FileObservation.observing(below: path, by: next) { try repair(path) }
            try expectRepaired(path, peace, place)
            if case .processOnly = cut {
                // What the second repair relied on must not be lost with the names that the first had not made durable.
                var second = disk
                second.root = path
                for operation in next.operations { second.apply(operation) }
                let secondPath = path + "-second"
                try PowerCut.losesAll.leftover(of: second, moment: 0).write(to: secondPath)
                try repair(secondPath)
                try expectRepaired(secondPath, peace, "and then another \(place)")
                try FileManager.default.removeItem(atPath: secondPath)
            }
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(known.count > 1)
    }

    /// All that a repair in peace puts right is right; the next backup and prune work.
    private func expectRepaired(_ path: String, _ peace: Peace, _ place: Comment) throws {
        #expect(try whole(path).isSuperset(of: peace.after), place)
        let repository = try Repository.open(at: path)
        var check = RepositoryCheck(repository, readData: .all) { _ in }
        let summary = try check.run()
        #expect(summary.damagedFileCount == peace.damagedFileCount, place)
        #expect(repository.damages().isEmpty, place)
        for name: FileName in ["one", "two"] where peace.after.contains(name) {
            #expect(repository.snapshot(named: name)?.isPinned == true, place)
        }
        if peace.losesRecord {
            #expect(!summary.isSound, place)
            _ = try RepositoryPrune(repository, maxUnused: .bytes(0), forgetsMissing: true).run()
            let next = try check.run()
            #expect(next.isSound, place)
        } else if peace.damagedFileCount == 0 {
            #expect(summary.isSound, place)
        }
        try RecordedHistory.backUp("next", in: repository, seconds: 3_000)
        if peace.damagedFileCount == 0 { _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run() }
        for name in peace.after.union(["next"]) { #expect(try RecordedHistory.flaw(of: name, in: repository) == nil, place) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/tmp") == [], place)
    }
}

import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A repair must not take a good record away, and what it could not save is not given up by that.
@Suite struct RecordRepairTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// Two backups, s0 and s1, of which the record of s0 has two flipped bits.
    /// - Returns: the path of that record, and what it was.
    private func makeDamaged() throws -> (record: String, right: [UInt8]) {
        let repository = try Repository.create(at: path)
        for number in 0..<2 {
            try repository.makeWriter().commit(
                named: FileName("s\(number)"), files: [("x", TestData.random(20_000, seed: UInt64(number) + 1), .media)],
                seconds: Int64(number))
        }
        let id = try #require(repository.snapshot(named: "s0")).id
        try repository.setPinned(id, true)
        let record = repository.layout.snapshotPath(of: id)
        let right = try readFile(record)
        try Damage.flip(record, at: 20)
        try Damage.flip(record, at: 90)
        return (record, right)
    }

    private func repair(_ repository: Repository) throws -> (findings: [CheckFinding], done: [String]) {
        var findings: [CheckFinding] = []
        var done: [String] = []
        try RepositoryRepair(repository) { event in
            switch event {
            case .finding(let finding): findings.append(finding)
            case .repaired(let text): done.append(text.english)
            case .damaged, .unreadable: break
            }
        }.run()
        return (findings, done.filter { !$0.contains("catalog") })
    }

    private func findings() throws -> [CheckFinding] {
        var findings: [CheckFinding] = []
        var check = RepositoryCheck(try Repository.open(at: path), readData: .all) { event in
            if case .finding(let finding) = event { findings.append(finding) }
        }
        #expect(try check.run().damagedFileCount == 0)
        return findings
    }

    @Test func `a good record that was copied back after the repository was opened stays`() throws {
        let (record, right) = try makeDamaged()
        let repository = try Repository.open(at: path)
        #expect(repository.damages().count == 1)
        try writeFile(record, right)
        let (found, done) = try repair(repository)
        #expect(found.isEmpty && done.isEmpty, "\(found) \(done)")
        #expect(try readFile(record) == right)
        #expect(try !FileSystem.exists(path + "/damaged"))
        #expect(repository.snapshots().map(\.name) == ["s0", "s1"])
        #expect(try findings().isEmpty)
    }

    @Test func `a good record that is copied back while the damaged one is set aside stays`() throws {
        /// Copies the record back just before it would be moved.
        struct Copier: FileObserver {
            let record: String
            let right: [UInt8]

            func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
                if case .rename(record, _) = operation { try? writeFile(record, right) }
                try body()
            }
        }
        let (record, right) = try makeDamaged()
        let repository = try Repository.open(at: path)
        let done = try FileObservation.observing(below: path, by: Copier(record: record, right: right)) {
            try repair(repository).done
        }
        #expect(done.isEmpty)
        #expect(try readFile(record) == right)
        #expect(try findings().isEmpty)
    }

    @Test(arguments: [true, false]) func `the data of a backup whose record was lost stays`(hasRegister: Bool) throws {
        let (record, right) = try makeDamaged()
        if !hasRegister { try FileManager.default.removeItem(atPath: path + "/register") }
        let (found, done) = try repair(try Repository.open(at: path))
        #expect(found.map(\.error.path) == [record] && !found[0].isRepaired)
        #expect(done.count == 1 && done[0].contains("lost; it is in damaged/ now"), "\(done)")
        #expect(try readFile(path + "/damaged/" + FileSystem.lastComponent(record)).count == right.count)
        for _ in 0..<2 {
            let missing = try findings()
            #expect(missing.map(\.kind) == [.record] && missing[0].error.path == record)
            let refused = failure { _ = try RepositoryPrune(Repository.open(at: path), maxUnused: .bytes(0)).run() }
            #expect(refused?.code == .repositoryDamaged && refused?.path == record)
            // Another repair forgets nothing, nor does one that has to rebuild the register.
            try Damage.flip(path + "/register", at: 20)
            try Damage.flip(path + "/register", at: 30)
            let done = try repair(try Repository.open(at: path)).done
            #expect(done.count == 1 && done[0].hasPrefix("The register of snapshots was rebuilt from those that are there."))
        }
        try Repository.open(at: path).makeWriter().abandon()
        try writeFile(record, right)
        #expect(try Repository.open(at: path).snapshot(named: "s0")?.isPinned == true)
        #expect(try findings().isEmpty)
        #expect(try RepositoryPrune(Repository.open(at: path), maxUnused: .bytes(0)).run().removedPackCount == 0)
        #expect(try Repository.open(at: path).file("x", in: "s0") == TestData.random(20_000, seed: 1))
    }

    @Test func `with a later version's register a damaged record stays where it is, and nothing is pruned`() throws {
        let (record, _) = try makeDamaged()
        var register = try readFile(path + "/register")
        register[8] = 9
        try writeFile(path + "/register", register)
        let damaged = try readFile(record)
        let (found, done) = try repair(try Repository.open(at: path))
        #expect(found.map(\.error.path) == [record] && done.isEmpty)
        #expect(try readFile(record) == damaged)
        #expect(
            errorCode { _ = try RepositoryPrune(Repository.open(at: path), maxUnused: .bytes(0)).run() } == .repositoryDamaged)
    }

    @Test func `a missing label is written with a record that is put right, and pins the backup`() throws {
        let (record, right) = try makeDamaged()
        var flipped = right
        flipped[20] ^= 1
        try writeFile(record, flipped)
        let name = FileName(FileSystem.lastComponent(record))
        let id = try #require(RepositoryLayout.digest(in: name, extension: RepositoryLayout.snapshotExtension)).hexadecimal
        let label = path + "/labels/\(id).label"
        try FileManager.default.removeItem(atPath: label)
        let (found, done) = try repair(try Repository.open(at: path))
        #expect(found.map(\.kind) == [.record, .label] && found.map(\.isRepaired) == [true, false])
        #expect(
            done == [
                "Snapshot record \(id): a flipped bit was turned back.",
                "Label of snapshot \(id): rewritten; its name is its first one, and it is pinned.",
            ])
        #expect(try findings().isEmpty)
        #expect(try Repository.open(at: path).snapshot(named: "s0")?.isPinned == true)
    }

    @Test func `a label that was copied back after the check stays as it is`() throws {
        let repository = try Repository.create(at: path)
        try repository.makeWriter().commit(named: "s0", files: [("x", [1], .media)], seconds: 0)
        let id = try #require(repository.snapshot(named: "s0")).id
        try repository.renameSnapshot(id, to: "other")
        let label = try readFile(repository.layout.labelPath(of: id))
        try FileManager.default.removeItem(atPath: repository.layout.labelPath(of: id))
        let opened = try Repository.open(at: path)
        #expect(opened.snapshotsWithoutLabel().map(\.name) == ["s0"])
        try writeFile(opened.layout.labelPath(of: id), label)
        #expect(try opened.snapshotStore.replaceMissingLabels([id]) == [])
        #expect(opened.snapshots().map(\.name) == ["other"])
        #expect(try readFile(opened.layout.labelPath(of: id)) == label)
    }

    @Test func `a missing label of a backup that was removed is written as well`() throws {
        let repository = try Repository.create(at: path)
        for number in 0..<2 {
            try repository.makeWriter().commit(named: FileName("s\(number)"), files: [("x", [1], .media)], seconds: Int64(number))
        }
        let id = try #require(repository.snapshot(named: "s0")).id
        try repository.changeTags(id) { $0 = ["summer"] }
        try repository.withdrawSnapshots([id], at: Timestamp(seconds: 5))
        try FileManager.default.removeItem(atPath: repository.layout.labelPath(of: id))
        #expect(try findings().map(\.kind) == [.label])
        _ = try repair(try Repository.open(at: path))
        #expect(try findings().isEmpty)
        let opened = try Repository.open(at: path)
        #expect(try opened.removedSnapshots().map(\.snapshot.isPinned) == [true])
        #expect(opened.snapshots().map(\.name) == ["s1"])
    }
}

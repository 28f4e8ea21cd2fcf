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
            case .hurt: break
            }
        }.run()
        return (findings, done.filter { !$0.contains("catalog") })
    }

    private func findings() throws -> [CheckFinding] {
        var findings: [CheckFinding] = []
        var check = RepositoryCheck(try Repository.open(at: path), readData: .all) { event in
            if case .finding(let finding) = event { findings.append(finding) }
        }
        #expect(try check.run().hurtFileCount == 0)
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
        #expect(done.count == 1 && done[0].contains("lost; it lies in damaged/ now"), "\(done)")
        #expect(try readFile(path + "/damaged/" + FileSystem.lastComponent(record)).count == right.count)
        for _ in 0..<2 {
            let missing = try findings()
            #expect(missing.map(\.kind) == [.record] && missing[0].error.path == record)
            let refused = failure { _ = try RepositoryPrune(Repository.open(at: path), maxUnused: .bytes(0)).run() }
            #expect(refused?.code == .repositoryDamaged && refused?.path == record)
            // Another repair forgets nothing, nor does one that has to rebuild the register.
            try Damage.flip(path + "/register")
            #expect(
                try repair(try Repository.open(at: path)).done == [
                    "The register of snapshots was rebuilt from those that are there."
                ])
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
}

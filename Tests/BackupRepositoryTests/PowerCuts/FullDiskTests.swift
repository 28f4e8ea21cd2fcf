import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// The disk is full at every single change to a file, for that moment or from then on: the operation says so, and what was there
/// is as it was.
@Suite(.rotating(oneIn: 3)) struct FullDiskTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        try RecordedHistory.backUp("one", in: try Repository.create(at: folder("start")))
    }

    /// Does `body` with the first change failing, then the second and so on, until none fails any more.
    /// - Returns: the number of changes.
    private func atEveryChange(_ duration: FullDisk.Duration, _ body: (FullDisk, Repository) throws -> Void) throws -> Int {
        for number in 1...10_000 {
            let path = folder("\(number)")
            try FileManager.default.copyItem(atPath: folder("start"), toPath: path)
            let disk = FullDisk(failing: number, duration: duration)
            try body(disk, try Repository.open(at: path))
            try FileManager.default.removeItem(atPath: path)
            if !disk.wasReached { return number - 1 }
        }
        Issue.record("there is no end of changes")
        return 0
    }

    private func describe(_ disk: FullDisk) -> String {
        if case .write(let path, _, let bytes)? = disk.failed { return "a write of \(bytes.count) bytes to \(path)" }
        return disk.failed.map { "\($0)" } ?? "no change"
    }

    private func code(_ disk: FullDisk, _ repository: Repository, _ body: () throws -> Void) -> BackupError.Code? {
        errorCode { try FileObservation.observing(below: repository.path, by: disk) { try body() } }
    }

    @Test(arguments: FullDisk.Duration.allCases) func aBackup(duration: FullDisk.Duration) throws {
        let before = Set(try DiskTree(readingFrom: folder("start")).files.keys)
        let count = try atEveryChange(duration) { disk, repository in
            let code = code(disk, repository) { try RecordedHistory.backUp("two", in: repository) }
            let place: Comment = "a full disk, \(duration), at \(describe(disk))"
            // What is only noticed after the snapshot is there is not worth an error.
            if code == nil, repository.snapshot(named: "two") != nil {
                try expectWhole(["one", "two"], repository, place)
                return
            }
            #expect(code == .noSpace, place)
            try expectWhole(["one"], repository, place)
            let after = Set(try DiskTree(readingFrom: repository.path).files.keys).subtracting(before)
            // Once the record may have been there, the packs must stay; a later backup uses them.
            if !describe(disk).contains("/snapshots") {
                #expect(after.isSubset(of: ["lock", "names.lock", "catalog.lock"]), place)
            }
            try RecordedHistory.backUp("next", in: repository, seconds: 3000)
            try expectWhole(["one", "next"], repository, place)
            try expectWhole(["one", "next"], try Repository.open(at: repository.path), place)
        }
        #expect(count > 20)
    }

    @Test(arguments: FullDisk.Duration.allCases) func aNewName(duration: FullDisk.Duration) throws {
        let count = try atEveryChange(duration) { disk, repository in
            let one = try #require(repository.snapshot(named: "one")).id
            let code = code(disk, repository) { try repository.renameSnapshot(one, to: "renamed") }
            let place: Comment = "a full disk, \(duration), at \(describe(disk))"
            try repository.refresh()
            let name = try #require(repository.snapshots().first).name
            // The register, which comes last, is not worth an error.
            let isLate = code == nil && name == "renamed"
            #expect(isLate || code == (disk.wasReached ? .noSpace : nil) || (code == nil && disk.wasNote), place)
            if code == nil { #expect(name == "renamed") }
            #expect(repository.snapshots().count == 1 && ["one", "renamed"].contains(name))
            #expect(try FileManager.default.contentsOfDirectory(atPath: repository.path + "/tmp") == [])
        }
        #expect(count > 3)
    }

    /// Space is freed also where there is none; what had to be copied, and could not, stays where it was.
    @Test(arguments: FullDisk.Duration.allCases) func aPrune(duration: FullDisk.Duration) throws {
        let start = try Repository.open(at: folder("start"))
        try RecordedHistory.backUp("two", in: start, seconds: 2000)
        try start.removeSnapshot(try #require(start.snapshot(named: "one")).id)
        let count = try atEveryChange(duration) { disk, repository in
            let code = code(disk, repository) { _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run() }
            let place: Comment = "a full disk, \(duration), at \(describe(disk))"
            #expect(code == (disk.wasReached ? .noSpace : nil) || (code == nil && disk.wasNote), place)
            try expectWhole(["two"], repository, place)
            _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
            try expectWhole(["two"], repository, place)
            try expectWhole(["two"], try Repository.open(at: repository.path), place)
        }
        #expect(count > 3)
    }

    @Test(arguments: FullDisk.Duration.allCases) func aNewRepository(duration: FullDisk.Duration) throws {
        let count = try atEveryChange(duration) { disk, neighbour in
            let path = neighbour.path + "/new/repository"
            let code = code(disk, neighbour) { _ = try Repository.create(at: path) }
            let place: Comment = "a full disk, \(duration), at \(describe(disk))"
            // A catalog without space is kept in memory.
            let fails = disk.failed.map { !DiskTree.isCatalog($0.path) } ?? false
            // The register comes last: the first backup makes one that is not there.
            let isLate = code == nil && FileManager.default.fileExists(atPath: path + "/config.copy")
            #expect(isLate || code == (fails ? .noSpace : nil), place)
            let repository = try Repository.exists(at: path) ? try Repository.open(at: path) : try Repository.create(at: path)
            try RecordedHistory.backUp("one", in: repository)
            #expect(FileManager.default.fileExists(atPath: path + "/register"), place)
            try expectWhole(["one"], repository, place)
        }
        #expect(count > 10)
    }

    private func expectWhole(_ names: [FileName], _ repository: Repository, _ place: Comment) throws {
        try repository.refresh()
        #expect(repository.snapshots().map(\.name) == names, place)
        #expect(repository.damages().isEmpty, place)
        for name in names { #expect(try RecordedHistory.flaw(of: name, in: repository) == nil, place) }
        for pack in try repository.packs() { #expect(repository.verifyPack(pack).isEmpty, place) }
    }
}

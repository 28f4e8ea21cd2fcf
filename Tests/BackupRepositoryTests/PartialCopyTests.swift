import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A repository that was copied halfway, or that has lost a record, holds data of backups that cannot be seen. A prune leaves it
/// alone.
@Suite struct PartialCopyTests {
    private static let day: Int64 = 86_400

    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private static func data(_ number: Int) -> [UInt8] { TestData.random(20_000, seed: UInt64(number) + 1) }

    /// Backups s0, s1, … that share nothing, made on the first days of 1970.
    private func make(_ count: Int = 3) throws -> Repository {
        let repository = try Repository.create(at: path)
        for number in 0..<count {
            try repository.makeWriter().commit(
                named: FileName("s\(number)"), files: [("x", Self.data(number), .media)], seconds: Int64(number))
        }
        return repository
    }

    private func prune(
        at days: Int64 = 1, allowsEmpty: Bool = false, forgetsMissing: Bool = false
    ) throws -> RepositoryPrune {
        RepositoryPrune(
            try Repository.open(at: path), maxUnused: .bytes(0), grace: RemovalGrace(now: Timestamp(seconds: days * Self.day)),
            allowsEmpty: allowsEmpty, forgetsMissing: forgetsMissing)
    }

    private func expectRefusal(at days: Int64 = 1, naming text: String, _ place: Comment? = nil) throws {
        let packs = try Repository.open(at: path).packs()
        for error in [
            failure { _ = try prune(at: days).plan() } as BackupError?, failure { _ = try prune(at: days).run() },
        ] {
            #expect(error?.code == .repositoryDamaged && error?.message.contains(text) == true, place)
        }
        #expect(try Repository.open(at: path).packs() == packs, place)
    }

    private func expectWhole(_ numbers: Range<Int>) throws {
        let repository = try Repository.open(at: path)
        for number in numbers { #expect(try repository.file("x", in: FileName("s\(number)")) == Self.data(number)) }
        var check = RepositoryCheck(repository, readData: .all) { event in Issue.record("\(event)") }
        #expect(try check.run().isSound)
    }

    private func move(_ name: String, to other: String) throws { try FileManager.default.moveItem(atPath: name, toPath: other) }

    @Test func `the data of a backup whose record is missing stays until the record is copied back`() throws {
        let repository = try make()
        let record = repository.layout.snapshotPath(of: try #require(repository.snapshot(named: "s1")).id)
        try move(record, to: folder("record"))
        try expectRefusal(naming: "the record of 1 backup is missing")
        let remedy = failure { _ = try prune().run() }?.remedy
        #expect(remedy?.contains("backupfs prune --forget-missing") == true)
        try move(folder("record"), to: record)
        #expect(try prune().run().removedPackCount == 0)
        try expectWhole(0..<3)
    }

    @Test func `a backup that is missing can be given up, and is not expected after that`() throws {
        let repository = try make()
        try FileManager.default.removeItem(
            atPath: repository.layout.snapshotPath(of: try #require(repository.snapshot(named: "s0")).id))
        #expect(try prune(forgetsMissing: true).plan().removedPackCount == 2)
        try expectRefusal(naming: "the record of 1 backup is missing")
        // Its pack of data, and that of its folder.
        #expect(try prune(forgetsMissing: true).run().removedPackCount == 2)
        try expectWhole(1..<3)
        #expect(try prune().run().removedPackCount == 0)
    }

    /// The time of the one that was removed is over: to give it up is no reason to take the others for removed.
    @Test(arguments: [true, false]) func `without any record nothing is taken, nor given up`(hasRegister: Bool) throws {
        let repository = try make(4)
        try repository.withdrawSnapshots(
            [try #require(repository.snapshot(named: "s3")).id], at: Timestamp(seconds: Self.day))
        let layout = repository.layout
        try move(layout.snapshots, to: folder("snapshots"))
        try FileManager.default.createDirectory(atPath: layout.snapshots, withIntermediateDirectories: false)
        if !hasRegister { try FileManager.default.removeItem(atPath: layout.register) }
        for days in [2, 30] as [Int64] { try expectRefusal(at: days, naming: "no backup", "day \(days)") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: layout.removed).count == 1)
        try FileManager.default.removeItem(atPath: layout.snapshots)
        try move(folder("snapshots"), to: layout.snapshots)
        #expect(try prune(at: 30).run().removedPackCount == 2)
        try expectWhole(0..<3)
    }

    @Test func `a copy without the folder of removed backups is not whole, and they can still be brought back`() throws {
        let repository = try make()
        let id = try #require(repository.snapshot(named: "s1")).id
        try repository.setPinned(id, true)
        try repository.setPinned(id, false)
        try repository.withdrawSnapshots([id], at: Timestamp(seconds: Self.day))
        #expect(try prune(at: 2).run().removedPackCount == 0)
        let layout = repository.layout
        try move(layout.removed, to: folder("removed"))
        for days in [2, 30] as [Int64] { try expectRefusal(at: days, naming: "the record of 1 backup is missing", "day \(days)") }
        var findings: [CheckFinding] = []
        var check = RepositoryCheck(try Repository.open(at: path), readData: nil) {
            if case .finding(let finding) = $0 { findings.append(finding) }
        }
        _ = try check.run()
        #expect(findings.map(\.kind) == [.record])
        // Neither a backup nor another removal forgets it.
        _ = try Repository.open(at: path).makeWriter().commit(named: "s3", files: [("x", Self.data(3), .media)], seconds: 9)
        try Repository.open(at: path).withdrawSnapshots(
            [try #require(repository.snapshot(named: "s2")).id], at: Timestamp(seconds: Self.day))
        try expectRefusal(at: 2, naming: "the record of 1 backup is missing")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder("removed")) {
            try move(folder("removed") + "/" + name, to: layout.removed + "/" + name)
        }
        #expect(try prune(at: 2).run().removedPackCount == 0)
        #expect(try Repository.open(at: path).bringBackSnapshot(id).problems.isEmpty)
        try expectWhole(0..<2)
        // What was given up is not expected any more.
        #expect(try prune(at: 30).run().removedPackCount == 2)
        #expect(try prune(at: 31).run().removedPackCount == 0)
        try expectWhole(0..<2)
        try expectWhole(3..<4)
    }

    @Test func `what an older program removed, which struck it out, is expected from the next change on`() throws {
        let repository = try make()
        let id = try #require(repository.snapshot(named: "s1")).id
        try repository.withdrawSnapshots([id], at: Timestamp(seconds: Self.day))
        var register = SnapshotRegister()
        register.enter(repository.snapshots().map(\.id))
        try writeFile(path + "/register", register.encode())
        _ = try Repository.open(at: path).makeWriter().commit(named: "s3", files: [("x", Self.data(3), .media)], seconds: 9)
        try move(repository.layout.removed, to: folder("removed"))
        try expectRefusal(at: 2, naming: "the record of 1 backup is missing")
    }

    @Test func `when all backups were removed, and that is known, a prune frees their space`() throws {
        let repository = try make()
        try repository.withdrawSnapshots(repository.snapshots().map(\.id), at: Timestamp(seconds: Self.day))
        #expect(try prune(at: 2).run().removedPackCount == 0)
        #expect(try prune(at: 30).run().removedPackCount == 6)
        #expect(try Repository.open(at: path).packs().isEmpty)
    }

    @Test func `a damaged register is a reason to wait, one of a later version is none`() throws {
        _ = try make()
        let right = try readFile(path + "/register")
        try Damage.flip(path + "/register")
        try expectRefusal(naming: "the register of snapshots is damaged")
        // A backup does not make one of what is there by chance.
        _ = try Repository.open(at: path).makeWriter().commit(named: "s3", files: [("x", Self.data(3), .media)], seconds: 9)
        try expectRefusal(naming: "the register of snapshots is damaged")
        var later = right
        later[8] = 9
        try writeFile(path + "/register", later)
        _ = try prune().run()
        try writeFile(path + "/register", right)
        try expectWhole(0..<4)
    }

    @Test func `a register that is made where there was none expects what has a label, and a prune strikes out what it gives up`()
        throws
    {
        let repository = try make()
        let ids = repository.snapshots().map(\.id)
        try repository.setPinned(ids[0], true)
        try move(repository.layout.snapshotPath(of: ids[0]), to: folder("record"))
        try FileManager.default.removeItem(atPath: repository.layout.register)
        let opened = try Repository.open(at: path)
        try opened.withdrawSnapshots([ids[1]], at: Timestamp(seconds: Self.day))
        let register = try #require(try opened.snapshotStore.readRegister())
        #expect(register.isLabelled == [ids[0]: true, ids[1]: false, ids[2]: false])
        try expectRefusal(at: 30, naming: "the record of 1 backup is missing")
        try move(folder("record"), to: repository.layout.snapshotPath(of: ids[0]))
        #expect(try Repository.open(at: path).snapshot(id: ids[0])?.isPinned == true)
        #expect(try prune(at: 30).run().removedPackCount == 2)
        #expect(try prune(at: 31).run().removedPackCount == 0)
        try expectWhole(0..<1)
        try expectWhole(2..<3)
    }

    @Test func `what was removed for good on a full disk, where the register had no space, is not missing`() throws {
        /// No space for the register, whenever it is written.
        struct FullDiskForRegister: FileObserver {
            func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError) {
                if case .rename(_, let new) = operation, new.hasSuffix("/register") { throw BackupError(.noSpace, "full") }
                try body()
            }
        }
        let repository = try make()
        let ids = repository.snapshots().map(\.id)
        let before = try readFile(path + "/register")
        try FileObservation.observing(below: path, by: FullDiskForRegister()) {
            try repository.removeSnapshotsForGood([ids[0]]) { _ in
            } didRemove: { _ in
            }
            #expect(try readFile(path + "/register") == before)
            #expect(try RepositoryPrune(repository, maxUnused: .bytes(0)).run().removedPackCount == 2)
        }
        // With the space that was freed the register is written.
        _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
        try expectWhole(1..<3)
    }

    /// Though backups, prunes and repairs run meanwhile.
    @Test(arguments: [(true, false), (false, false), (true, true)])
    func `name, pin and tags of a backup whose record is missing stay until it is copied back`(
        hasRegister: Bool, isEncrypted: Bool
    ) throws {
        func open() throws -> Repository {
            try Repository.open(
                at: path, secret: { (_) throws(BackupError) in .password(EncryptionTests.secret("password")) },
                catalogHome: .folder(folder("store")))
        }
        func backUp(_ number: Int) throws {
            try open().makeWriter().commit(
                named: FileName("s\(number)"), files: [("x", Self.data(number), .media)], seconds: Int64(number))
        }
        _ = try Repository.create(
            at: path, password: isEncrypted ? EncryptionTests.secret("password") : nil, catalogHome: .folder(folder("store")),
            cost: EncryptionTests.cheap)
        for number in 0..<2 { try backUp(number) }
        let labelled = try open()
        let id = try #require(labelled.snapshot(named: "s0")).id
        try labelled.renameSnapshot(id, to: "kept")
        try labelled.setPinned(id, true)
        try labelled.changeTags(id) { $0 = ["summer"] }
        let label = try readFile(labelled.layout.labelPath(of: id))
        let record = labelled.layout.snapshotPath(of: id)
        try move(record, to: folder("record"))
        if !hasRegister { try FileManager.default.removeItem(atPath: path + "/register") }
        for number in 2..<5 {
            try backUp(number)
            #expect(errorCode { _ = try RepositoryPrune(open(), maxUnused: .bytes(0)).run() } == .repositoryDamaged)
            try RepositoryRepair(open()) { _ in }.run()
        }
        #expect(try readFile(labelled.layout.labelPath(of: id)) == label)
        try move(folder("record"), to: record)
        let back = try #require(try open().snapshot(id: id))
        #expect(back.name == "kept" && back.isPinned && back.tags == ["summer"])
        #expect(try open().file("x", in: "kept") == Self.data(0))
        // Once it is removed for good, a label that a crash left of it goes.
        try open().removeSnapshot(id)
        try writeFile(labelled.layout.labelPath(of: id), label)
        _ = try RepositoryPrune(open()).run()
        #expect(try !FileSystem.exists(labelled.layout.labelPath(of: id)))
    }
}

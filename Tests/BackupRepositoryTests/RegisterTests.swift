import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// F10, R-B9: a record or label that another program deleted is reported; one that backupfs removed is not.
@Suite struct RegisterTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func fill(_ repository: Repository, _ count: Int = 4) throws -> [SnapshotID] {
        try (0..<count).map { number in
            try repository.makeWriter().commit(
                named: FileName("s\(number)"), files: [("x", TestData.random(100, seed: UInt64(number) + 1), .media)],
                seconds: Int64(number)
            ).id
        }
    }

    private func check(_ repository: Repository) throws -> [CheckFinding] {
        var findings: [CheckFinding] = []
        var check = RepositoryCheck(repository, readData: nil) { if case .finding(let finding) = $0 { findings.append(finding) } }
        _ = try check.run()
        return findings
    }

    private func open() throws -> Repository { try Repository.open(at: path) }

    @Test("F10: a snapshot record that was deleted is found by check, also after a repair, until it is given up")
    func aDeletedRecordIsFound() throws {
        let repository = try Repository.create(at: path)
        let ids = try fill(repository)
        #expect(try check(repository).isEmpty)
        let lost = repository.layout.snapshotPath(of: ids[1])
        try FileManager.default.removeItem(atPath: lost)
        let opened = try open()
        let findings = try check(opened)
        #expect(findings.map(\.kind) == [.record] && findings.first?.error.path == lost)
        try RepositoryRepair(opened) { if case .finding(let finding) = $0 { Issue.record("\(finding)") } }.run()
        #expect(try check(open()).map(\.error.path) == [lost])
        _ = try RepositoryPrune(open(), forgetsMissing: true).run()
        #expect(try check(open()).isEmpty)
        // Nothing is ever removed because of the register.
        #expect(try open().snapshots().map(\.id) == [ids[0], ids[2], ids[3]])
    }

    /// Between record and register another process would refuse to remove anything, and a crash would leave it so.
    @Test("the register is there before the first snapshot appears")
    func theRegisterComesFirst() async throws {
        let repository = try Repository.create(at: path)
        #expect(FileManager.default.fileExists(atPath: repository.layout.register))
        // Older programs made none.
        try FileManager.default.removeItem(atPath: repository.layout.register)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder("repository") as String] in
            setenv("BACKUPFS_FAULT", "backup.record-written", 1)
            try Repository.open(at: path).makeWriter().commit(named: "first", files: [("x", [1], .media)])
        }
        #expect(FileManager.default.fileExists(atPath: repository.layout.register))
        #expect(try open().snapshots().isEmpty && open().registerError == nil)
        let ids = try fill(open(), 1)
        let bytes = try FileSystem.readFile(repository.layout.register, limitBytes: 1_000)
        #expect(try SnapshotRegister(decoding: bytes).isLabelled == [ids[0]: false])
    }

    @Test("F10: what backupfs removes is not reported, one by one or many at once, and labels with it")
    func removalsAreNotReported() throws {
        let repository = try Repository.create(at: path)
        let ids = try fill(repository, 6)
        try repository.setPinned(ids[2], true)
        try repository.removeSnapshot(ids[0])
        try repository.removeSnapshots([ids[2], ids[5]])
        #expect(try check(repository).isEmpty && check(open()).isEmpty)
        // A crash between register and record leaves a snapshot that the register does not name: no finding either.
        repository.snapshotStore.changeRegister { $0.strikeOut([ids[1]]) }
        #expect(try check(open()).isEmpty)
        _ = try RepositoryPrune(repository).run()
        #expect(try check(open()).isEmpty)
    }

    @Test("R-B9: a label that somebody deleted, and with it a pin, is found by check")
    func aDeletedLabelIsFound() throws {
        let repository = try Repository.create(at: path)
        let ids = try fill(repository)
        try repository.setPinned(ids[3], true)
        let label = repository.layout.labelPath(of: ids[3])
        try FileManager.default.removeItem(atPath: label)
        let findings = try check(open())
        #expect(findings.map(\.kind) == [.label] && findings.first?.error.path == label)
        // Pinned again, it is as it should be.
        try open().setPinned(ids[3], true)
        #expect(try check(open()).isEmpty)
    }

    @Test("Snapshots of an older program, and of another process, are entered with the next change")
    func othersAreEntered() throws {
        let repository = try Repository.create(at: path)
        let ids = try fill(repository)
        try FileManager.default.removeItem(atPath: path + "/register")
        #expect(try check(open()).isEmpty)
        try open().setPinned(ids[0], true)
        let register = try #require(try open().snapshotStore.readRegister())
        #expect(Set(register.isLabelled.keys) == Set(ids) && register.isLabelled[ids[0]] == true)
    }

    @Test("A damaged register is a finding and a repair rebuilds it; one of a later version is left alone")
    func aDamagedRegisterIsRebuilt() throws {
        let repository = try Repository.create(at: path)
        _ = try fill(repository)
        let right = try readFile(path + "/register")
        for offset in [0, 8, 12, 20, 60, right.count - 1] {
            var bytes = right
            bytes[offset] ^= 16
            // Another version is no damage.
            if offset == 8 { continue }
            try writeFile(path + "/register", bytes)
            #expect(try check(open()).map(\.error.path) == [path + "/register"], "byte \(offset)")
        }
        try RepositoryRepair(try open()) { _ in }.run()
        #expect(try readFile(path + "/register") == right)
        var later = right
        later[8] = 9
        try writeFile(path + "/register", later)
        let opened = try open()
        #expect(try check(opened).isEmpty)
        _ = try opened.makeWriter().commit(named: "new", files: [("x", [1, 2, 3], .media)], seconds: 99)
        try opened.removeSnapshot(try #require(opened.snapshot(named: "s0")).id)
        #expect(try readFile(path + "/register") == later)
    }

    @Test(arguments: [false, true]) func `a repair turns back a flipped bit, and goes on to miss the record that is not there`(
        isEncrypted: Bool
    ) throws {
        let secret = EncryptionTests.secret("correct horse")
        func open() throws -> Repository {
            try Repository.open(
                at: path, secret: { (_) throws(BackupError) in .password(secret) }, catalogHome: .folder(folder("store")))
        }
        let ids = try fill(
            Repository.create(
                at: path, password: isEncrypted ? secret : nil, catalogHome: .folder(folder("store")), cost: EncryptionTests.cheap
            ))
        let record = try open().layout.snapshotPath(of: ids[1])
        let bytes = try readFile(record)
        try FileManager.default.removeItem(atPath: record)
        let right = try readFile(path + "/register")
        for offset in [12, 20, 60, right.count - 4, right.count - 1] {
            var flipped = right
            flipped[offset] ^= 16
            try writeFile(path + "/register", flipped)
            var done: [String] = []
            try RepositoryRepair(try open()) { if case .repaired(let text) = $0 { done.append(text.english) } }.run()
            #expect(done.contains("The register of snapshots: a flipped bit was turned back."), "byte \(offset): \(done)")
            #expect(try readFile(path + "/register") == right, "byte \(offset)")
            #expect(try readFile(path + "/damaged/register") == flipped)
        }
        #expect(errorCode { _ = try RepositoryPrune(open(), maxUnused: .bytes(0)).run() } == .repositoryDamaged)
        try writeFile(record, bytes)
        #expect(try check(open()).isEmpty)
    }

    /// A register of more entries than can be tried bit by bit.
    @Test func `a flipped bit of a large register is turned back as well`() throws {
        let repository = try Repository.create(at: path)
        _ = try fill(repository, 1)
        let ids = (0..<20_000).map { SnapshotID(SHA256Hasher.hash(Array("\($0)".utf8))) }
        var register = try #require(try repository.snapshotStore.readRegister())
        register.enter(ids)
        let right = register.encode()
        var flipped = right
        flipped[400_000] ^= 1
        try writeFile(path + "/register", flipped)
        let damaged = DamagedFolder(layout: repository.layout) {}
        #expect(try repository.snapshotStore.repairRegister(damaged))
        #expect(try readFile(path + "/register") == right)
    }

    @Test func `what is open learns that the register was copied back`() throws {
        let repository = try Repository.create(at: path)
        _ = try fill(repository)
        let right = try readFile(path + "/register")
        try writeFile(path + "/register", [1, 2, 3])
        let opened = try open()
        #expect(opened.registerError?.code == .repositoryDamaged)
        try opened.refresh()
        #expect(opened.registerError?.code == .repositoryDamaged)
        try writeFile(path + "/register", right)
        try opened.refresh()
        #expect(opened.registerError == nil)
    }

    @Test("The register of an encrypted repository tells nothing and cannot be written without the key")
    func itIsSealed() throws {
        let secret = EncryptionTests.secret("correct horse")
        func open() throws -> Repository {
            try Repository.open(
                at: path, secret: { (_) throws(BackupError) in .password(secret) }, catalogHome: .folder(folder("store")))
        }
        let repository = try Repository.create(
            at: path, password: secret, catalogHome: .folder(folder("store")), cost: EncryptionTests.cheap)
        let ids = try fill(repository)
        let bytes = try readFile(path + "/register")
        #expect(bytes.starts(with: Array("bfsseal\n".utf8)))
        #expect(Data(bytes).range(of: Data(ids[0].digest.bytes)) == nil)
        try writeFile(path + "/register", SnapshotRegister().encode())
        #expect(try check(open()).map(\.kind) == [.record])
    }
}

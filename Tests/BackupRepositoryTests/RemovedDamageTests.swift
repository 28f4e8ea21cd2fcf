import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Records in `removed/` that cannot be read: they are found and repaired as others are, and what they need does not go before
/// its time.
@Suite struct RemovedDamageTests {
    private static let day: Int64 = 86_400
    private static let removalTime = Timestamp(seconds: 10 * day)

    private let folder: TemporaryFolder
    private let record: String
    private let right: [UInt8]
    private let id: SnapshotID
    private var path: String { folder("repository") }

    private static let data = TestData.random(20_000, seed: 1)

    /// Two backups, s0 and s1, that share nothing; s0 is pinned, and was removed on the tenth day.
    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        let repository = try Repository.create(at: folder("repository"))
        for number in 0..<2 {
            try repository.makeWriter().commit(
                named: FileName("s\(number)"), files: [("x", TestData.random(20_000, seed: UInt64(number) + 1), .media)],
                seconds: Int64(number))
        }
        id = try #require(repository.snapshot(named: "s0")).id
        try repository.renameSnapshot(id, to: "renamed")
        try repository.withdrawSnapshots([id], at: Self.removalTime)
        record = repository.layout.removedPath(of: id)
        right = try readFile(record)
    }

    /// Writes the record, with the time of the removal.
    private func write(_ bytes: [UInt8]) throws {
        try writeFile(record, bytes)
        try OwnedDescriptor.open(record, O_RDONLY).setModificationTime(Self.removalTime)
    }

    private func flip(_ offsets: Int...) throws {
        var bytes = right
        for offset in offsets { bytes[offset] ^= 4 }
        try write(bytes)
    }

    private func findings() throws -> [CheckFinding] {
        var findings: [CheckFinding] = []
        var check = RepositoryCheck(try Repository.open(at: path), readData: nil) { event in
            if case .finding(let finding) = event { findings.append(finding) }
        }
        _ = try check.run()
        return findings
    }

    private func repair() throws -> [CheckFinding] {
        var findings: [CheckFinding] = []
        try RepositoryRepair(try Repository.open(at: path)) { event in
            if case .finding(let finding) = event { findings.append(finding) }
        }.run()
        return findings
    }

    /// By a program whose longest `undelete-days` are 30.
    private func prune(at day: Int64) throws -> RepositoryPrune {
        RepositoryPrune(
            try Repository.open(at: path), maxUnused: .bytes(0),
            grace: RemovalGrace(now: Timestamp(seconds: day * Self.day)) { ($0 == nil ? 30 : 7) * Self.day })
    }

    private func expectWhole() throws {
        let repository = try Repository.open(at: path)
        let back = try repository.bringBackSnapshot(id)
        #expect(back.problems.isEmpty && back.snapshot.name == "renamed")
        #expect(try repository.file("x", in: "renamed") == Self.data)
        #expect(try findings().isEmpty)
    }

    @Test func `one flipped bit is found, and turned back; the time of the removal stays`() throws {
        try flip(20)
        #expect(try findings().map(\.error.path) == [record])
        let repaired = try repair()
        #expect(repaired.map(\.error.path) == [record] && repaired[0].isRepaired)
        #expect(try readFile(record) == right)
        let removed = try Repository.open(at: path).removedSnapshots()
        #expect(removed.map(\.removalTime) == [Self.removalTime])
        #expect(try findings().isEmpty)
        try expectWhole()
    }

    @Test func `what cannot be turned back is set aside, and its data stays until the user gives it up`() throws {
        try flip(20, 90)
        #expect(try repair().map(\.error.path) == [record])
        #expect(try !FileSystem.exists(record) && FileSystem.exists(path + "/damaged/" + FileSystem.lastComponent(record)))
        #expect(try findings().map(\.kind) == [.record])
        #expect(errorCode { _ = try prune(at: 1000).run() } == .repositoryDamaged)
        try write(right)
        try expectWhole()
    }

    @Test func `a prune keeps what a damaged record may need for the longest time of all, and then sets the record aside`() throws
    {
        try flip(20, 90)
        let packs = try Repository.open(at: path).packs()
        for day in [11, 18, 39] as [Int64] {
            for error in [failure { _ = try prune(at: day).plan() }, failure { _ = try prune(at: day).run() }] {
                #expect(error?.code == .repositoryDamaged && error?.path == record, "day \(day): \(String(describing: error))")
            }
        }
        #expect(try Repository.open(at: path).packs() == packs)
        #expect(try prune(at: 41).run().removedPackCount == 2)
        #expect(try FileSystem.exists(path + "/damaged/" + FileSystem.lastComponent(record)))
        #expect(try !FileSystem.exists(record))
        #expect(try prune(at: 42).run().removedPackCount == 0 && findings().isEmpty)
    }

    @Test func `giving up the own removed backups at once gives up no damaged record, which may be another one's`() throws {
        try flip(20, 90)
        let grace = RemovalGrace(now: Timestamp(seconds: 11 * Self.day)).over { _ in true }
        #expect(
            errorCode { _ = try RepositoryPrune(try Repository.open(at: path), maxUnused: .bytes(0), grace: grace).run() }
                == .repositoryDamaged)
        try write(right)
        try expectWhole()
    }

    @Test func `any other error than damage keeps everything, however old the record is`() throws {
        // A record that cannot be read now: a folder has its name.
        try FileManager.default.removeItem(atPath: record)
        try FileManager.default.createDirectory(atPath: record, withIntermediateDirectories: false)
        #expect(failure { _ = try prune(at: 1000).run() }?.path == record)
        #expect(try repair().isEmpty && FileSystem.exists(record))
        try FileManager.default.removeItem(atPath: record)
        try write(right)
        // And one of a later version, in whole.
        var later = right
        later[8] = 9
        let unknown = "\(path)/removed/\(SHA256Hasher.hash(later).hexadecimal).snapshot"
        try writeFile(unknown, later)
        let refused = failure { _ = try prune(at: 1000).run() }
        #expect(refused?.code == .unsupportedVersion && refused?.path == unknown, "\(String(describing: refused))")
        #expect(try findings().map(\.error.path) == [unknown])
        _ = try repair()
        #expect(try readFile(unknown) == later)
        try FileManager.default.removeItem(atPath: unknown)
        try expectWhole()
    }
}

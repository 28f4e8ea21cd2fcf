import BackupCore
import Foundation
import TestSupport
import Testing

@testable import BackupRepository

/// A real file system that is full, so that SQLite has no space either. Only root can make one; others pass these tests over.
@Suite(.enabled(if: SmallDisk.canBeMade, "only root can mount a file system of a certain size"))
struct SmallDiskTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        try RecordedHistory.backUp("one", in: try Repository.create(at: folder("start")))
    }

    /// From no space at all to enough.
    @Test func aBackupWithSoMuchSpace() throws {
        let disk = try SmallDisk(folder("disk"))
        var codes: [BackupError.Code?] = []
        for space in stride(from: 0, through: 400_000, by: 16_384) {
            let path = disk("repository")
            try disk.empty()
            try FileManager.default.copyItem(atPath: folder("start"), toPath: path)
            try disk.fill(leaving: space)
            let code = errorCode { try RecordedHistory.backUp("two", in: try Repository.open(at: path)) }
            #expect(code == nil || code == .noSpace, "\(space) bytes of space")
            codes.append(code)
            // Everything can be read as it is, and when there is space again the next backup is made.
            let made: [FileName] = code == nil ? ["one", "two"] : ["one"]
            try expectWhole(made, try Repository.open(at: path), "\(space) bytes of space")
            try disk.giveSpace()
            let repository = try Repository.open(at: path)
            try RecordedHistory.backUp("next", in: repository, seconds: 3000)
            try expectWhole(made + ["next"], repository, "after \(space) bytes of space")
            #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/tmp") == [])
        }
        #expect(codes.first == .some(.noSpace))
        #expect(codes.last == .some(nil))
    }

    /// On a full disk, a user wants to look at backups, restore one, and delete others.
    @Test(arguments: CatalogState.allCases) func nothingLeft(catalog: CatalogState) throws {
        let history = try RecordedHistory.shared.get()
        let disk = try SmallDisk(folder("disk"))
        let path = disk("repository")
        try FileManager.default.copyItem(atPath: folder("start"), toPath: path)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: "\(path)/catalog.sqlite\(suffix)") }
        try catalog.write(to: path, history.catalogs)
        try disk.fill(leaving: 0)
        let repository = try Repository.open(at: path)
        try expectWhole(["one"], repository, "a full disk, catalog \(catalog)")
        try repository.removeSnapshot(try #require(repository.snapshots().first).id)
        #expect(try Repository.open(at: path).snapshots().isEmpty)
    }

    private func expectWhole(_ names: [FileName], _ repository: Repository, _ place: Comment) throws {
        #expect(repository.snapshots().map(\.name) == names, place)
        for name in names { #expect(try RecordedHistory.flaw(of: name, in: repository) == nil, place) }
    }
}

/// A file system in memory of 4 MiB that goes away with its owner.
private final class SmallDisk {
    static let canBeMade: Bool = {
        guard let folder = try? TemporaryFolder(), let disk = try? SmallDisk(folder("probe")) else { return false }
        return FileManager.default.fileExists(atPath: disk.path)
    }()

    private let path: String
    private var filler: String { "\(path)/filler" }

    init(_ path: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard try run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", path]).status == 0 else {
            throw BackupError(.notPermitted, "a file system could not be mounted", path: path)
        }
    }

    deinit { _ = try? run(["umount", path]) }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    func empty() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
    }

    /// Fills the disk except for the given number of bytes.
    func fill(leaving space: Int) throws {
        let free = try #require(try FileManager.default.attributesOfFileSystem(forPath: path)[.systemFreeSize] as? Int)
        try writeFile(filler, [UInt8](repeating: 1, count: max(0, free - space)))
    }

    func giveSpace() throws { try FileManager.default.removeItem(atPath: filler) }
}

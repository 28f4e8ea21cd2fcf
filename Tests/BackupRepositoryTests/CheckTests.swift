import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// What a check or a repair told.
private final class Told {
    var findings: [CheckFinding] = []
    var damaged: [String] = []
    var repaired: [String] = []

    func note(_ event: CheckEvent) {
        switch event {
        case .finding(let finding): findings.append(finding)
        case .damaged(let file):
            damaged.append("\(file.snapshot.record.name)/\(file.path)\(file.isFolder && !file.path.bytes.isEmpty ? "/" : "")")
        case .unreadable(let file): damaged.append("newer: \(file.path)")
        case .repaired(let text): repaired.append(text.english)
        }
    }
}

extension Repository {
    fileprivate func check(readData: DataSubset? = .all) throws -> (told: Told, summary: CheckSummary) {
        let told = Told()
        var check = RepositoryCheck(self, readData: readData) { told.note($0) }
        return (told, try check.run())
    }

    @discardableResult fileprivate func repair() throws -> Told {
        let told = Told()
        try RepositoryRepair(self) { told.note($0) }.run()
        return told
    }
}

/// `check` finds whatever flips, and names just the files that an independent reader cannot read.
@Suite struct CheckTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }
    private static let photo = TestData.random(300_000, seed: 1)
    private static let rows = TestData.rows(3_000, seed: 2)
    private static let database = TestData.rows(4_000, seed: 3)

    init() throws { folder = try TemporaryFolder() }

    /// Two snapshots that share most, with folders, in about a dozen packs; 45 files.
    private func make() throws -> Repository {
        let repository = try Repository.create(at: path)
        for name: FileName in ["first", "second"] {
            let writer = try repository.makeWriter(packSizeBytes: 60_000)
            func file(_ name: FileName, _ bytes: [UInt8], _ policy: ChunkingPolicy) throws -> TreeEntry {
                .file(
                    name: name, mode: 0o600, modificationTime: Timestamp(seconds: 5),
                    stored: try writer.store(bytes, policy: policy))
            }
            var small: [TreeEntry] = []
            for index in 0..<20 {
                small.append(try file(FileName("small-\(index)"), TestData.rows(10 + index, seed: 50), .structuredText))
            }
            small.append(try file("own", Array("of \(name)".utf8) + TestData.random(500, seed: name == "first" ? 7 : 8), .media))
            let inner = try writer.store(small)
            let entries = [
                try file("photo", Self.photo, .media), try file("rows", Self.rows, .structuredText),
                try file("database", Self.database + (name == "first" ? [] : [1]), .database(pageSizeBytes: 4096)),
                TreeEntry.directory(name: "folder", mode: 0o700, modificationTime: Timestamp(seconds: 5), stored: inner),
            ]
            try writer.commit(named: name, entries: entries)
        }
        return repository
    }

    private func forgetCatalog() {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + "/catalog.sqlite" + suffix) }
    }

    private func independentlyDamaged() throws -> [String] {
        let result = try run(["python3", Fixtures.folder + "/hurt_files.py", path])
        try #require(result.status == 0)
        return result.output.split(separator: "\n").map(String.init)
    }

    /// Eight bytes in a row, somewhere in each.
    private func damageEveryPack(seed: UInt64) throws {
        var generator = TestData(seed: seed)
        for file in try files(below: "packs") {
            var damaged = try readFile(file)
            let place = Int(generator.next() % UInt64(damaged.count - 8))
            for offset in place..<place + 8 { damaged[offset] ^= 0xFF }
            try writeFile(file, damaged)
        }
    }

    private func files(below name: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: "\(path)/\(name)").map { "\(path)/\(name)/\($0)" }
            .filter { !$0.hasSuffix("/") && FileSystem.statusIfPresent($0)?.kind == .regular }.sorted()
    }

    @Test func aWholeRepositoryIsSound() throws {
        let repository = try make()
        let (told, summary) = try repository.check()
        #expect(told.findings.isEmpty && told.damaged.isEmpty && summary.isSound)
        #expect(summary.snapshotCount == 2)
        let packFiles = try files(below: "packs")
        #expect(summary.packCount == packFiles.count && summary.readPackCount == packFiles.count && packFiles.count > 4)
        let listed = try run(["python3", Fixtures.reader, "packs", path])
        #expect(summary.chunkCount == listed.bytes.count { $0 == 10 })
        forgetCatalog()
        #expect(try Repository.open(at: path).check().summary.isSound)
        #expect(try repository.check(readData: nil).summary.readByteCount == 0)
    }

    /// The packs of a repository of the first version, with a chunk that is stored against a base.
    private func copyFixture() throws {
        try FileManager.default.copyItem(atPath: Fixtures.folder + "/repository-v1", toPath: path)
    }

    @Test func everyFlippedByteOfTheFixtureIsFoundAndNamed() throws {
        try copyFixture()
        #expect(try Repository.open(at: path).check().summary.isSound)
        var generator = TestData(seed: 99)
        var damagedCounts: Set<Int> = []
        for file in try files(below: "packs") + files(below: "snapshots") + files(below: "labels") {
            let bytes = try readFile(file)
            for turn in Rounds.part(of: Array(0..<(file.hasSuffix(".pack") ? 24 : 6)), oneIn: 3) {
                // The header, the end, and places between them.
                let offset = turn < 3 ? turn * 5 : turn < 6 ? bytes.count - 1 - turn : Int(generator.next() % UInt64(bytes.count))
                var damaged = bytes
                damaged[offset] ^= UInt8(1 << (generator.next() % 8))
                try writeFile(file, damaged)
                forgetCatalog()
                let (told, summary) = try Repository.open(at: path).check()
                #expect(!summary.isSound, "\(file) at \(offset)")
                #expect(
                    told.findings.contains { $0.error.path == file || $0.error.message.contains(file) }, "\(file) at \(offset)")
                #expect(told.damaged.sorted() == (try independentlyDamaged()), "\(file) at \(offset)")
                damagedCounts.insert(told.damaged.count)
            }
            try writeFile(file, bytes)
        }
        // Not always the same.
        #expect(damagedCounts.count > 2)
        forgetCatalog()
        #expect(try Repository.open(at: path).check().summary.isSound)
    }

    @Test func flipsAllOverALargerRepository() throws {
        _ = try make()
        var generator = TestData(seed: 5)
        for file in try files(below: "packs") {
            let bytes = try readFile(file)
            for turn in Rounds.part(of: Array(0..<4), oneIn: 2) {
                var damaged = bytes
                let offset = turn == 0 ? bytes.count - 30 : Int(generator.next() % UInt64(bytes.count))
                damaged[offset] ^= 0x10
                try writeFile(file, damaged)
                forgetCatalog()
                let repository = try Repository.open(at: path)
                let (told, summary) = try repository.check()
                #expect(!summary.isSound)
                #expect(told.damaged.sorted() == (try independentlyDamaged()), "\(file) at \(offset)")
                // What is not named can be read, what is named cannot.
                for snapshot in repository.snapshots() {
                    guard let root = try? repository.rootDirectory(of: snapshot) else { continue }
                    for entry in root.entries where entry.kind == .file {
                        let isRead = (try? repository.bytes(of: entry.content, limitBytes: 1 << 24)) != nil
                        #expect(isRead != told.damaged.contains("\(snapshot.name)/\(entry.name)"))
                    }
                }
            }
            try writeFile(file, bytes)
        }
    }

    @Test func missingPacksAreNamedByWhatTheyTake() throws {
        _ = try make()
        for file in try files(below: "packs") {
            let bytes = try readFile(file)
            try FileManager.default.removeItem(atPath: file)
            let (told, summary) = try Repository.open(at: path).check(readData: nil)
            #expect(!summary.isSound && told.findings.allSatisfy { $0.kind == .missing || $0.kind == .structure })
            let damaged = try independentlyDamaged()
            #expect(!told.damaged.isEmpty && told.damaged.sorted() == damaged)
            try writeFile(file, bytes)
        }
        #expect(try Repository.open(at: path).check().summary.isSound)
    }

    /// A part of the packs is read, and all parts together are all packs.
    @Test func subsets() throws {
        let repository = try make()
        let count = try files(below: "packs").count
        let parts = try (1...3).map { try repository.check(readData: .part($0, of: 3)).summary }
        #expect(parts.map(\.readPackCount).reduce(0, +) == count)
        #expect(parts.allSatisfy { $0.readPackCount < count })
        let all = try repository.check().summary.readByteCount
        #expect(parts.map(\.readByteCount).reduce(0, +) == all)
        #expect(try repository.check(readData: .percent(50)).summary.readPackCount == (count + 1) / 2)
        #expect(try repository.check(readData: .percent(0.1)).summary.readPackCount == 1)
        #expect(try DataSubset(parsing: "10%") == .percent(10) && DataSubset(parsing: "2/7") == .part(2, of: 7))
        for text in ["", "0%", "101%", "0/5", "6/5", "1/0", "5", "x/y", "-1%", "nan%"] {
            #expect(errorCode { _ = try DataSubset(parsing: text) } == .usage, "\(text)")
        }
    }

    // MARK: The catalog

    @Test(arguments: [
        "UPDATE chunks SET \"offset\" = \"offset\" + 1 WHERE rowid IS NULL OR stored_length % 2 = 0",
        "UPDATE chunks SET plain_crc32 = 0",
        "DELETE FROM chunks WHERE stored_length > 1000", "UPDATE chunks SET codec = 0 WHERE codec = 1", "DELETE FROM chunks",
        "UPDATE chunks SET pack = 999 WHERE stored_length > 1000",
        "INSERT INTO chunks SELECT 1,2,3,4,pack,16,1,1,0,0,0,0,0,0,0 FROM chunks LIMIT 1",
    ])
    func aCatalogThatLiesIsFoundAndMadeAnew(sql: String) throws {
        _ = try make()
        let statement = sql.replacingOccurrences(of: "rowid IS NULL OR ", with: "")
        try #require(run(["sqlite3", path + "/catalog.sqlite", statement]).status == 0)
        let repository = try Repository.open(at: path)
        let (told, summary) = try repository.check(readData: nil)
        #expect(!summary.isSound && told.findings.contains { $0.kind == .catalog && $0.error.path == path + "/catalog.sqlite" })
        #expect(told.damaged.isEmpty)
        _ = try repository.repair()
        #expect(try repository.check().summary.isSound)
        #expect(try Repository.open(at: path).check().summary.isSound)
    }

    @Test func aCatalogThatIsNoDatabaseIsToldOf() throws {
        _ = try make()
        forgetCatalog()
        try writeFile(path + "/catalog.sqlite", TestData.random(20_000, seed: 3))
        let (told, summary) = try Repository.open(at: path).check()
        #expect(told.findings.map(\.kind) == [.catalog] && told.damaged.isEmpty && !summary.isSound)
        #expect(try Repository.open(at: path).check().summary.isSound)
    }

    // MARK: Repair

    /// One flipped bit anywhere in a pack, a record or a label: everything is as it was afterwards.
    @Test func oneFlippedBitIsTurnedBack() throws {
        let original = try make()
        try original.setPinned(try #require(original.snapshot(named: "first")).id, true)
        var generator = TestData(seed: 17)
        let all = try files(below: "packs") + files(below: "snapshots") + files(below: "labels")
        for file in all {
            let bytes = try readFile(file)
            for turn in Rounds.part(of: Array(0..<3), oneIn: 3) {
                var damaged = bytes
                let offset = [bytes.count - 3, bytes.count - 40, Int(generator.next() % UInt64(bytes.count))][turn]
                damaged[offset] ^= UInt8(1 << (generator.next() % 8))
                try writeFile(file, damaged)
                if turn == 1 { forgetCatalog() }
                let repository = try Repository.open(at: path)
                let told = try repository.repair()
                #expect(try readFile(file) == bytes, "\(file) at \(offset): \(told.repaired)")
                #expect(told.findings.allSatisfy { $0.isRepaired })
                #expect(try repository.check().summary.isSound)
                #expect(repository.snapshot(named: "first")?.isPinned == true)
            }
        }
    }

    /// A repair that dies or fails between two packs loses nothing that one without an accident would have rescued.
    @Test(arguments: ["repair.pack-rewritten", "repair.pack-rewritten:2", "repair.pack-rewritten=fail"])
    func aRepairDies(fault: String) async throws {
        _ = try make()
        try damageEveryPack(seed: 29)
        try FileManager.default.createDirectory(atPath: folder("other"), withIntermediateDirectories: true)
        #expect(try run(["cp", "-a", path, folder("other/repository")]).status == 0)
        try Repository.open(at: folder("other/repository")).repair()
        let expected = try Repository.open(at: folder("other/repository")).check().told.damaged.sorted()

        let condition: ExitTest.Condition = fault.hasSuffix("=fail") ? .exitCode(7) : .signal(SIGKILL)
        await #expect(processExitsWith: condition) { [path = path as String, fault = fault as String] in
            setenv("BACKUPFS_FAULT", fault, 1)
            let repository = try Repository.open(at: path)
            do {
                try RepositoryRepair(repository) { _ in }.run()
            } catch {
                exit((error as? BackupError)?.code == .inputOutput ? 7 : 8)
            }
        }
        try Repository.open(at: path).repair()
        let damaged = try Repository.open(at: path).check().told.damaged.sorted()
        #expect(damaged == expected)
        #expect(try independentlyDamaged() == expected)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/tmp").isEmpty)
    }

    /// More damage than that: what is whole is rescued, what is lost is named, and the next backup heals it.
    @Test func whatIsWholeIsRescued() throws {
        _ = try make()
        try damageEveryPack(seed: 23)
        let damaged = try independentlyDamaged()
        let repository = try Repository.open(at: path)
        let told = try repository.repair()
        #expect(!told.findings.isEmpty && !told.repaired.isEmpty)
        // All packs are whole now, so the independent reader goes by chunks: never more is lost than before.
        let (after, summary) = try repository.check()
        #expect(
            after.findings.allSatisfy { $0.kind == .missing || $0.kind == .structure || $0.kind == .chunk }, "\(after.findings)")
        let now = try independentlyDamaged()
        #expect(after.damaged.sorted() == now)
        // A folder of which nothing was known may be known again, and only some of its files damaged.
        for path in now {
            #expect(damaged.contains { $0 == path || ($0.hasSuffix("/") && path.hasPrefix($0)) }, "\(path): \(damaged)")
        }
        #expect(summary.findingCount > 0)
        let setAside = try FileManager.default.contentsOfDirectory(atPath: path + "/damaged")
        #expect(!setAside.isEmpty)
        // The same data again, under other names.
        for snapshot in repository.snapshots() {
            try repository.renameSnapshot(snapshot.id, to: FileName("old-\(snapshot.name)"))
        }
        let again: [(FileName, [UInt8])] = [("first", []), ("second", [1])]
        for (name, extra) in again {
            let writer = try repository.makeWriter()
            try writer.commit(
                named: name,
                files: [
                    ("photo", Self.photo, .media), ("rows", Self.rows, .structuredText),
                    ("database", Self.database + extra, .database(pageSizeBytes: 4096)),
                ])
        }
        let healed = try repository.check().told.damaged
        #expect(!healed.contains { $0.hasSuffix("/photo") || $0.hasSuffix("/rows") || $0.hasSuffix("/database") }, "\(healed)")
    }

    /// Without its index a pack is rescued by what the catalog knows; with neither, its chunks are lost and nothing else is.
    @Test(arguments: [true, false]) func aPackWithoutItsEnd(hasCatalog: Bool) throws {
        _ = try make()
        let file = try Damage.largestPack(of: path)
        let bytes = try readFile(file)
        try writeFile(file, Array(bytes[..<(bytes.count - 300)]))
        let damaged = try independentlyDamaged()
        #expect(!damaged.isEmpty)
        if !hasCatalog { forgetCatalog() }
        let repository = try Repository.open(at: path)
        let (told, summary) = try repository.check()
        #expect(!summary.isSound && told.findings[0].kind == .pack)
        // The catalog still finds the chunks.
        #expect(told.damaged.sorted() == (hasCatalog ? [] : damaged))
        _ = try repository.repair()
        #expect(try repository.check().told.damaged.sorted() == (hasCatalog ? [] : damaged))
        #expect(try independentlyDamaged() == (hasCatalog ? [] : damaged))
        if hasCatalog {
            #expect(try readFile(file) == bytes)
        } else {
            #expect(try readFile(path + "/damaged/" + FileSystem.lastComponent(file)) == Array(bytes[..<(bytes.count - 300)]))
        }
    }

    /// The end of a pack alone is gone: its index is found by the pack's name.
    @Test(arguments: [1, 12, 24]) func anIndexIsFoundWithoutTheEnd(cut: Int) throws {
        _ = try make()
        forgetCatalog()
        for file in try files(below: "packs") {
            let bytes = try readFile(file)
            try writeFile(file, Array(bytes[..<(bytes.count - cut)]))
            try Repository.open(at: path).repair()
            #expect(try readFile(file) == bytes)
            forgetCatalog()
        }
        #expect(try Repository.open(at: path).check().summary.isSound)
    }

    @Test func theConfigIsNamed() throws {
        _ = try make()
        let bytes = try readFile(path + "/config")
        // As in a repository of an older program.
        try FileManager.default.removeItem(atPath: path + "/config.copy")
        for offset in [0, 5, 25, 60] {
            var damaged = bytes
            damaged[offset] ^= 0x80
            try writeFile(path + "/config", damaged)
            do {
                _ = try Repository.open(at: path)
                Issue.record("opened with a damaged config")
            } catch {
                #expect(error.path == path + "/config" && error.remedy != nil)
            }
        }
    }

    /// The table from the standard: CRC-32 of "123456789" is cbf43926.
    @Test func singleBits() {
        let text = Array("123456789".utf8)
        for offset in 0..<9 {
            for bit in 0..<8 {
                var damaged = text
                damaged[offset] ^= 1 << UInt8(bit)
                let found = damaged.withUnsafeBytes { SingleBitRepair.position(in: $0, crc32: 0xcbf4_3926) }
                #expect(found?.offset == offset && found?.bit == UInt8(bit))
            }
        }
        #expect(text.withUnsafeBytes { SingleBitRepair.position(in: $0, crc32: 0xcbf4_3926) } == nil)
    }

    @Test func singleBitsOfWhatEndsInItsChecksum() {
        // The checksum of the table, its lowest byte first.
        let right = Array("123456789".utf8) + [0x26, 0x39, 0xf4, 0xcb]
        for offset in right.indices {
            for bit in 0..<8 {
                var damaged = right
                damaged[offset] ^= 1 << UInt8(bit)
                #expect(SingleBitRepair.repaired(endingInCRC32: damaged) == right, "byte \(offset), bit \(bit)")
            }
        }
        #expect(SingleBitRepair.repaired(endingInCRC32: [1, 2, 3, 4]) == nil)
    }
}

import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Packs that hold the bytes of other packs: cross-linked files, a misdirected write, a copy to the wrong name. A repair goes
/// through to its end, rescues what is there, and loses nothing that could be read before.
@Suite(.rotating(oneIn: 3)) struct CrossLinkedPackTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let files: [(name: FileName, bytes: [UInt8], policy: ChunkingPolicy)] =
        [
            ("photo", TestData.random(300_000, seed: 1), .media), ("rows", TestData.rows(3_000, seed: 2), .structuredText),
            ("database", TestData.rows(4_000, seed: 3), .database(pageSizeBytes: 4096)),
            ("other", TestData.random(9_000, seed: 4), .media),
        ] + (0..<12).map { (FileName("small-\($0)"), TestData.random(200 + $0 * 700, seed: UInt64(50 + $0)), .media) }

    private func open(_ name: String, isSealed: Bool) throws -> Repository {
        guard isSealed else { return try Repository.open(at: folder(name)) }
        return try Repository.open(at: folder(name)) { (_) throws(BackupError) in .password(EncryptionTests.secret("horse")) }
    }

    /// A repository with packs of many sizes, whose chunks are long and short.
    /// - Returns: the paths of its packs, below the repository.
    private func make(isSealed: Bool) throws -> [String] {
        let repository =
            isSealed
            ? try Repository.create(at: folder("whole"), password: EncryptionTests.secret("horse"), cost: EncryptionTests.cheap)
            : try Repository.create(at: folder("whole"))
        for (index, size) in ([150_000, 12_000, 40_000] as [UInt64]).enumerated() {
            let name = FileName("snapshot-\(index)")
            let files = Self.files.enumerated().filter { $0.offset % 3 <= index }.map(\.element)
            try repository.makeWriter(packSizeBytes: size).commit(
                named: name, files: files.map { ($0.name, $0.bytes, $0.policy) })
        }
        let packs = try repository.packs().map { String(repository.layout.packPath(of: $0).dropFirst(folder("whole").count)) }
        #expect(packs.count >= 8)
        return packs.sorted()
    }

    private func copy(to name: String) throws {
        try? FileManager.default.removeItem(atPath: folder(name))
        try FileManager.default.copyItem(atPath: folder("whole"), toPath: folder(name))
    }

    /// - Returns: the files that can be read. None has other bytes than it was given.
    private func readable(_ name: String, isSealed: Bool) throws -> Set<String> {
        let repository = try open(name, isSealed: isSealed)
        var found: Set<String> = []
        for snapshot in repository.snapshots() {
            for (file, bytes, _) in Self.files {
                guard let content = try? repository.rootDirectory(of: snapshot).entry(named: file)?.content,
                    let read = try? repository.bytes(of: content, limitBytes: 1 << 30)
                else { continue }
                #expect(read == bytes, "\(snapshot.name)/\(file)")
                found.insert("\(snapshot.name)/\(file)")
            }
        }
        return found
    }

    private func repair(_ name: String, isSealed: Bool) throws {
        try RepositoryRepair(try open(name, isSealed: isSealed)) { _ in }.run()
    }

    private static func pairs(_ count: Int) -> [(Int, Int)] {
        let all = (0..<count).flatMap { first in (0..<count).filter { $0 != first }.map { (first, $0) } }
        return Rounds.part(of: all, oneIn: 5)
    }

    /// What only the overwritten pack had is lost, as if it were not there, and nothing else.
    @Test(arguments: [false, true]) func `a pack with the bytes of another one is set aside`(isSealed: Bool) throws {
        let packs = try make(isSealed: isSealed)
        var left: [Int: Set<String>] = [:]
        for number in packs.indices {
            try copy(to: "lacking")
            try FileManager.default.removeItem(atPath: folder("lacking") + packs[number])
            left[number] = try readable("lacking", isSealed: isSealed)
        }
        for (first, second) in Self.pairs(packs.count) {
            try copy(to: "linked")
            try writeFile(folder("linked") + packs[first], readFile(folder("whole") + packs[second]))
            try repair("linked", isSealed: isSealed)
            #expect(try readable("linked", isSealed: isSealed) == left[first], "\(packs[first]) <- \(packs[second])")
            let opened = try open("linked", isSealed: isSealed)
            let findings = try opened.packs().flatMap { opened.verifyPack($0) }
            #expect(opened.damages().isEmpty && findings.allSatisfy { $0.message.contains("base") }, "\(findings)")
        }
    }

    @Test(arguments: [false, true]) func `of two packs with each other's names nothing is lost`(isSealed: Bool) throws {
        let packs = try make(isSealed: isSealed)
        let whole = try readable("whole", isSealed: isSealed)
        #expect(whole.count == 6 + 11 + 16)
        for (first, second) in Self.pairs(packs.count) where first < second {
            try copy(to: "linked")
            try writeFile(folder("linked") + packs[first], readFile(folder("whole") + packs[second]))
            try writeFile(folder("linked") + packs[second], readFile(folder("whole") + packs[first]))
            // Something else is damaged as well, and is put right by the same repair.
            let third = packs.indices.first { $0 != first && $0 != second }!
            if !isSealed { try Damage.flip(folder("linked") + packs[third], at: 40) }
            try repair("linked", isSealed: isSealed)
            #expect(try readable("linked", isSealed: isSealed) == whole, "\(packs[first]) <-> \(packs[second])")
        }
    }

    /// Whatever packs look like: a repair ends, what could be read before it can be read after it, and a second one finds nothing
    /// to do.
    @Test(arguments: Rounds.seeds(16, oneIn: 5))
    func `property: a repair of packs that are damaged in any way loses nothing`(seed: UInt64) throws {
        let isSealed = seed % 4 == 0
        let packs = try make(isSealed: isSealed)
        var random = SeededGenerator(seed: seed)
        for round in 0..<6 {
            try copy(to: "hurt")
            if round % 3 == 2 {
                for suffix in ["", "-wal", "-shm"] {
                    try? FileManager.default.removeItem(atPath: folder("hurt/catalog.sqlite" + suffix))
                }
            }
            var done: [String] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let pack = packs.randomElement(using: &random)!
                let other = packs.randomElement(using: &random)!
                done.append("\(pack) <- \(other)")
                let bytes = try readFile(folder("hurt") + pack)
                try writeFile(
                    folder("hurt") + pack, Self.damaged(bytes, try readFile(folder("whole") + other), &random))
            }
            let before = try readable("hurt", isSealed: isSealed)
            try repair("hurt", isSealed: isSealed)
            let after = try readable("hurt", isSealed: isSealed)
            #expect(before.isSubset(of: after), "round \(round): \(done)")
            var again: [CheckEvent] = []
            try RepositoryRepair(try open("hurt", isSealed: isSealed)) { if case .finding = $0 { again.append($0) } }.run()
            #expect(again.isEmpty, "round \(round): \(done)")
        }
    }

    private static func damaged(_ bytes: [UInt8], _ other: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        let cut = Int.random(in: 0..<bytes.count, using: &random)
        var result = bytes
        switch Int.random(in: 0..<7, using: &random) {
        case 0: result = other
        case 1: result = Array(other.prefix(cut)) + bytes.dropFirst(cut)
        case 2: result = Array(bytes.prefix(cut)) + other.dropFirst(cut)
        case 3: result = Array(bytes.prefix(cut))
        case 4: result[cut] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &random)
        case 5: for index in cut..<min(bytes.count, cut + 4096) { result[index] = 0 }
        default: result += other
        }
        return result
    }
}

import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Random trees are the same after a copy between any two repositories.
@Suite(.rotating(oneIn: 3)) struct CopyPropertyTests {
    private struct Generator {
        var random: SeededGenerator
        let repository: Repository
        let writer: BackupWriter

        mutating func bytes() -> [UInt8] {
            let seed = UInt64.random(in: 1...6, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: return Array(TestData.random(100, seed: seed).prefix(Int.random(in: 0...100, using: &random)))
            case 1: return TestData.random(Int.random(in: 1...3_000, using: &random), seed: seed)
            case 2: return TestData.rows(Int.random(in: 1...9_000, using: &random), seed: seed)
            case 3:
                return TestData.random(900_000, seed: seed) + TestData.random(.random(in: 0...900_000, using: &random), seed: 9)
            case 4: return [UInt8](repeating: 7, count: Int.random(in: 1...400_000, using: &random))
            default: return CopyTree.database(version: seed)
            }
        }

        mutating func entry(_ name: FileName, depth: Int, earlier: TreeEntry?) throws -> TreeEntry {
            let time = Timestamp(seconds: Int64.random(in: -9...2_000_000_000, using: &random), nanoseconds: 5)
            let mode = UInt32.random(in: 0...0o777, using: &random)
            let metadata: EntryMetadata? =
                Int.random(in: 0..<4, using: &random) == 0 ? .of(owner: FileOwner(user: 1, group: mode)) : nil
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                return .symbolicLink(name: name, target: Array("../\(mode)".utf8), modificationTime: time, metadata: metadata)
            case 1...2 where depth < 4:
                return .directory(
                    name: name, mode: mode, modificationTime: time, stored: try folder(depth: depth + 1), metadata: metadata)
            default:
                let policies: [ChunkingPolicy] = [.media, .structuredText, .database(pageSizeBytes: 4_096)]
                let stored = try writer.store(
                    BytesSource(bytes()), policy: policies[Int.random(in: 0..<3, using: &random)],
                    earlier: earlier?.kind == .file ? earlier?.content : nil)
                return .file(name: name, mode: mode, modificationTime: time, stored: stored, metadata: metadata)
            }
        }

        mutating func folder(depth: Int, earlier: Directory? = nil) throws -> StoredDirectory {
            var entries: [TreeEntry] = []
            for number in 0..<Int.random(in: 0...7, using: &random) {
                let name = FileName(number == 3 ? "back\\slash\n\(depth)" : "entry-\(number)")
                entries.append(try entry(name, depth: depth, earlier: earlier?.entry(named: name)))
            }
            return try writer.store(entries)
        }
    }

    @Test(arguments: Rounds.part(of: CopyEnds.Kind.allCases, oneIn: 2), Rounds.seeds(2, oneIn: 2).map { $0 + 1 })
    func `random trees are copied whole`(kind: CopyEnds.Kind, seed: UInt64) throws {
        let ends = try CopyEnds(kind)
        var names: [FileName] = []
        for number in 1...3 {
            let earlier = try ends.source.snapshots().last.map { try ends.source.rootDirectory(of: $0) }
            let writer = try ends.source.makeWriter(packSizeBytes: 500_000)
            var generator = Generator(
                random: SeededGenerator(seed: seed * 10 + UInt64(number)), repository: ends.source, writer: writer)
            let root = try generator.folder(depth: 0, earlier: earlier)
            _ = try writer.commit(
                SnapshotRecord(
                    kind: .snapshot, name: FileName("s\(number)"), creationTime: Timestamp(seconds: Int64(number)),
                    parent: ends.source.snapshots().last?.id, root: root, archiveSizeBytes: seed, archiveLayout: [:],
                    attributes: [:]))
            names.append(FileName("s\(number)"))
        }
        try ends.copy()
        for name in names { try ends.expectSame(name) }
        try ends.expectSound(ends.target)
    }
}

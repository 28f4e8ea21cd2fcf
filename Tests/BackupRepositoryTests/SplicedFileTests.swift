import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Files of which most bytes are those of an earlier version. They must be stored exactly as if they were read from their start.
struct SplicedFileTests {
    /// Text of words, which compresses, with the number of each line.
    private static func text(_ generator: inout SeededGenerator, lineCount: Int) -> [UInt8] {
        let words = ["alpha", "beta", "gamma", "delta", "epsilon"]
        var bytes: [UInt8] = []
        for number in 0..<lineCount {
            let line = (0..<Int.random(in: 3...30, using: &generator)).map { _ in
                words[Int.random(in: 0..<words.count, using: &generator)]
            }
            bytes += Array("\(number) \(line.joined(separator: " "))\n".utf8)
        }
        return bytes
    }

    /// Changes of all kinds: inserted, removed and replaced ranges, at the start, at the end, next to one another.
    private static func change(
        _ old: [UInt8], _ generator: inout SeededGenerator, count: Int
    ) -> (pieces: [SplicedFile.Piece], new: [UInt8]) {
        var cuts = (0..<count).map { _ in Int.random(in: 0...old.count, using: &generator) }.sorted()
        if Bool.random(using: &generator) { cuts[0] = 0 }
        if Bool.random(using: &generator) { cuts[count - 1] = old.count }
        var pieces: [SplicedFile.Piece] = []
        var new: [UInt8] = []
        var position = 0
        for cut in cuts where cut >= position {
            pieces.append(.earlier(UInt64(position)..<UInt64(cut)))
            let inserted =
                Bool.random(using: &generator) ? text(&generator, lineCount: Int.random(in: 0...40, using: &generator)) : []
            pieces.append(.new(UInt64(new.count)..<UInt64(new.count + inserted.count)))
            new += inserted
            let removedCount = Bool.random(using: &generator) ? Int.random(in: 0...3_000, using: &generator) : 0
            position = min(old.count, cut + removedCount)
        }
        pieces.append(.earlier(UInt64(position)..<UInt64(old.count)))
        return (pieces, new)
    }

    @Test(arguments: Rounds.seeds(60, oneIn: 6))
    func `spliced files have the chunks, lists and sums of whole ones`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let repository = try Repository.create(at: folder("repository"))
        var bytes = Self.text(&generator, lineCount: 30_000)
        var earlier: StoredDerivedFile?
        for round in 0..<4 {
            let writer = try repository.makeWriter()
            let stored: StoredDerivedFile
            if let before = earlier {
                let (pieces, new) = Self.change(bytes, &generator, count: Int.random(in: 1...12, using: &generator))
                let file = SplicedFile(
                    pieces, earlier: StoredContentSource(before.content, in: repository), new: BytesSource(new))
                bytes = pieces.flatMap { piece in
                    switch piece {
                    case .earlier(let range): bytes[Int(range.lowerBound)..<Int(range.upperBound)]
                    case .new(let range): new[Int(range.lowerBound)..<Int(range.upperBound)]
                    }
                }
                #expect(try file.bytes(at: 0, upTo: bytes.count + 1) == bytes)
                stored = try #require(
                    try writer.storeSpliced(
                        file, earlier: before.content, chunkCRC32s: before.chunkCRC32s, policy: .structuredText))
                let whole = try writer.storeDerived(BytesSource(bytes), policy: .structuredText, earlier: before.content)
                #expect(stored.content == whole.content && stored.chunkCRC32s == whole.chunkCRC32s, "round \(round)")
                #expect(stored.recorded == whole.recorded)
            } else {
                stored = try writer.storeDerived(BytesSource(bytes), policy: .structuredText)
            }
            #expect(stored.recorded == .crc32(CRC32.of(bytes)))
            let entry = TreeEntry.derivedFile(
                name: "export.json", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
            let root = try writer.store([entry])
            let record = SnapshotRecord(
                kind: .snapshot, name: FileName("round-\(round)"), creationTime: Timestamp(seconds: Int64(round)), parent: nil,
                root: root,
                archiveSizeBytes: 0, archiveLayout: [:], attributes: [:])
            let snapshot = try writer.commit(record)
            let found = try repository.bytes(of: repository.rootDirectory(of: snapshot).entries[0].content, limitBytes: 1 << 26)
            #expect(found == bytes)
            earlier = stored
        }
        var check = RepositoryCheck(repository, readData: .all) { event in
            if case .finding(let finding) = event { Issue.record("\(finding)") }
        }
        _ = try check.run()
    }

    @Test func `what cannot be spliced is refused, and nothing is made up`() throws {
        var generator = SeededGenerator(seed: 1)
        let folder = try TemporaryFolder()
        let repository = try Repository.create(at: folder("repository"))
        let bytes = Self.text(&generator, lineCount: 30_000)
        let writer = try repository.makeWriter()
        let stored = try writer.storeDerived(BytesSource(bytes), policy: .structuredText)
        func file(_ range: Range<UInt64>) -> SplicedFile {
            SplicedFile([.earlier(range)], earlier: BytesSource(bytes), new: BytesSource([]))
        }
        try writer.publishChunks()
        // Sums of another file, a small file, and chunks that this repository does not have.
        for (sums, range) in [(Array(stored.chunkCRC32s.dropLast()), 0..<UInt64(bytes.count)), (stored.chunkCRC32s, 0..<1_000)] {
            #expect(
                try writer.storeSpliced(file(range), earlier: stored.content, chunkCRC32s: sums, policy: .structuredText) == nil)
        }
        let other = try Repository.create(at: folder("other")).makeWriter()
        let foreign = FileContent(elements: try repository.resolver.flatten(stored.content))
        #expect(
            try other.storeSpliced(
                file(0..<UInt64(bytes.count)), earlier: foreign, chunkCRC32s: stored.chunkCRC32s, policy: .structuredText) == nil)
    }
}

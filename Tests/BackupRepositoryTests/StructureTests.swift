import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Every structure survives being written and read; every cut and every flipped byte is an error or harmless, never a crash.
@Suite struct StructureTests {
    private static let digest = SHA256Hasher.hash([1, 2, 3])
    private static let content = FileContent(elements: [
        .literal([1, 2, 3]), .chunk(ChunkID(digest), plainLength: 77),
        .list(ChunkID(SHA256Hasher.hash([4])), plainLength: 1 << 40),
    ])
    private static let time = Timestamp(seconds: -3, nanoseconds: 999_999_999)

    private static func entries() throws -> [TreeEntry] {
        let stored = StoredFile(content: content, checksums: ContentHasher.hash([9]))
        let below = try Directory(entries: [.file(name: "x", mode: 0o600, modificationTime: time, stored: stored)])
        return [
            .symbolicLink(name: "z\n", target: [47, 255], modificationTime: time),
            .file(
                name: FileName(bytes: [0xff]), mode: 0o4755, modificationTime: time, stored: stored,
                sourceIdentity: SourceIdentity(inode: .max, changeTime: time)),
            .file(name: "a", mode: 0o600, modificationTime: time, content: .empty, checksums: ContentHasher.hash([])),
            .directory(
                name: "folder", mode: 0o700, modificationTime: time,
                stored: StoredDirectory(content: content, totals: below.totals)),
        ]
    }

    /// Calls `decode` with every prefix, which must fail, and with every byte changed, which must not crash.
    private func harm(_ bytes: [UInt8], _ decode: ([UInt8]) throws -> Void) {
        #expect(throws: Never.self) { try decode(bytes) }
        for count in bytes.indices { #expect(throws: BackupError.self) { try decode(Array(bytes[..<count])) } }
        #expect(throws: BackupError.self) { try decode(bytes + [0]) }
        for index in bytes.indices {
            for change: UInt8 in [1, 0x80, 0xff] {
                var damaged = bytes
                damaged[index] ^= change
                do { try decode(damaged) } catch { #expect(error is BackupError) }
            }
        }
    }

    @Test func directories() throws {
        let directory = try Directory(entries: try Self.entries())
        #expect(directory.entries.map(\.name.bytes) == [[0x61], Array("folder".utf8), [0x7a, 10], [0xff]])
        let decoded = try Directory(decoding: directory.encode())
        #expect(decoded.entries == directory.entries && decoded.totals == directory.totals)
        #expect(decoded.totals.fileCount == 3 && decoded.totals.directoryCount == 1)
        harm(directory.encode()) { _ = try Directory(decoding: $0) }
    }

    @Test func directoriesWithWrongNamesAreRefused() throws {
        let file = TreeEntry.symbolicLink(name: "a", target: [1], modificationTime: Self.time)
        #expect(errorCode { _ = try Directory(entries: [file, file]) } == .invalidArgument)
        for name: FileName in ["", ".", "..", "a/b", "nul\u{0}"] {
            let entry = TreeEntry.symbolicLink(name: name, target: [1], modificationTime: Self.time)
            #expect(errorCode { _ = try Directory(entries: [entry]) } == .invalidArgument)
        }
        // A hostile object that climbs out of its folder.
        let bytes = try Directory(entries: [.symbolicLink(name: "ab", target: [1], modificationTime: Self.time)]).encode()
        let position = try #require(bytes.firstRange(of: [0x61, 0x62])).lowerBound
        for name in [[UInt8(46), 46], [46, 47], [0, 97]] {
            var hostile = bytes
            hostile.replaceSubrange(position..<position + 2, with: name)
            #expect(errorCode { _ = try Directory(decoding: hostile) } == .repositoryDamaged)
        }
    }

    @Test func lists() throws {
        #expect(try ContentList.decode(ContentList.encode(Self.content)) == Self.content)
        harm(ContentList.encode(Self.content)) { _ = try ContentList.decode($0) }
    }

    @Test func records() throws {
        let record = SnapshotRecord(
            kind: .safety, name: "näme", creationTime: Self.time, parent: SnapshotID(Self.digest),
            root: StoredDirectory(content: Self.content, totals: try Directory(entries: try Self.entries()).totals),
            archiveSizeBytes: 5, archiveLayout: ["a": "b"], attributes: ["k": "v", "l": ""])
        #expect(try SnapshotRecord(decoding: record.encode()) == record)
        harm(record.encode()) { _ = try SnapshotRecord(decoding: $0) }
    }

    @Test func labels() throws {
        let id = SnapshotID(Self.digest)
        for (verified, tags) in [(nil, nil), (Self.time, nil), (nil, []), (Self.time, ["a", "größer"])]
            as [(Timestamp?, [String]?)]
        {
            let label = SnapshotLabel(name: "x", isPinned: true, verifiedAt: verified, tags: tags)
            #expect(try SnapshotLabel(decoding: label.encode(for: id), for: id) == label)
            harm(label.encode(for: id)) { _ = try SnapshotLabel(decoding: $0, for: id) }
            // Every single change is found.
            for index in label.encode(for: id).indices {
                var damaged = label.encode(for: id)
                damaged[index] ^= 0x10
                #expect(throws: BackupError.self) { try SnapshotLabel(decoding: damaged, for: id) }
            }
        }
        let other = SnapshotID(SHA256Hasher.hash([]))
        let bytes = SnapshotLabel(name: "x", isPinned: false, verifiedAt: nil).encode(for: id)
        #expect(errorCode { _ = try SnapshotLabel(decoding: bytes, for: other) } == .repositoryDamaged)
    }

    /// Byte by byte, as the format document says. A label without tags is what programs wrote before there were any.
    @Test func bytesOfLabels() throws {
        let id = SnapshotID(Self.digest)
        let start = Array("bfslabl\n".utf8)
        let middle = Self.digest.bytes + [1, 1, 0, 0, 0, UInt8(ascii: "x")]
        let plain = SnapshotLabel(name: "x", isPinned: true, verifiedAt: nil).encode(for: id)
        #expect(plain.dropLast(4).elementsEqual(start + [1, 0, 0, 0] + middle))
        let tagged = SnapshotLabel(name: "x", isPinned: true, verifiedAt: nil, tags: ["b"]).encode(for: id)
        #expect(tagged.dropLast(4).elementsEqual(start + [2, 0, 0, 0] + middle + [1, 0, 0, 0, 1, 0, 0, 0, UInt8(ascii: "b")]))
        // The example in the format document; its CRC-32 comes from zlib by way of Python.
        let example = """
            6266736c61626c0a0200000062acc2a62a6d17e22091d1ad156352e64ec4e743a3dbc6b8c8dd9c4a52b0eddf01070000
            0072656e616d65640200000004000000626573740600000073756d6d65723ee56fbb
            """
        let exampleID = try SnapshotID(
            #require(SHA256Digest(hexadecimal: "62acc2a62a6d17e22091d1ad156352e64ec4e743a3dbc6b8c8dd9c4a52b0eddf")))
        let exampleBytes = SnapshotLabel(name: "renamed", isPinned: true, verifiedAt: nil, tags: ["best", "summer"])
            .encode(for: exampleID)
        #expect(Hexadecimal.encode(exampleBytes) == example.filter { $0 != "\n" })
        var future = plain
        future[8] = 3
        #expect(errorCode { _ = try SnapshotLabel(decoding: future, for: id) } == .unsupportedVersion)
    }

    /// Structures of later versions are named as such.
    @Test func laterVersionsAreNotDamage() throws {
        let structures: [([UInt8], ([UInt8]) throws -> Void, Int)] = [
            (try Directory(entries: []).encode(), { _ = try Directory(decoding: $0) }, 4),
            (ContentList.encode(Self.content), { _ = try ContentList.decode($0) }, 4),
        ]
        for (bytes, decode, position) in structures {
            var later = bytes
            later[position] = 9
            #expect(errorCode { try decode(later) } == .unsupportedVersion)
        }
    }

    /// Lists that multiply into more pieces than memory are stopped by their own lengths.
    @Test func listsThatDoNotAddUpAreRefused() throws {
        var lists: [ChunkID: [UInt8]] = [:]
        func add(_ content: FileContent) -> ChunkID {
            let bytes = ContentList.encode(content)
            let id = ChunkID(SHA256Hasher.hash(bytes))
            lists[id] = bytes
            return id
        }
        var id = add(FileContent(elements: [.chunk(ChunkID(Self.digest), plainLength: 1)]))
        var length: UInt64 = 1
        for _ in 0..<5 {
            id = add(FileContent(elements: (0..<1000).map { _ in .list(id, plainLength: length) }))
            length *= 1000
        }
        let known = lists
        let resolver = ContentResolver(pieceCountLimit: 10_000) { (id) throws(BackupError) in known[id] ?? [] }
        #expect(errorCode { _ = try resolver.flatten(FileContent(elements: [.list(id, plainLength: length)])) } == .tooLarge)
        #expect(errorCode { _ = try resolver.flatten(FileContent(elements: [.list(id, plainLength: 5)])) } != nil)
        var deep = add(FileContent(elements: [.chunk(ChunkID(Self.digest), plainLength: 1)]))
        for _ in 0..<10 { deep = add(FileContent(elements: [.list(deep, plainLength: 1)])) }
        let all = lists
        let deepResolver = ContentResolver { (id) throws(BackupError) in all[id] ?? [] }
        #expect(
            errorCode { _ = try deepResolver.flatten(FileContent(elements: [.list(deep, plainLength: 1)])) } == .repositoryDamaged
        )
    }

    @Test func theCacheKeepsWhatWasUsedLast() {
        var cache = BoundedCache<Int, String>(costLimit: 10)
        for key in 1...5 { cache.insert("\(key)", for: key, cost: 2) }
        #expect(cache.value(for: 1) == "1")
        cache.insert("6", for: 6, cost: 4)
        #expect(cache.value(for: 2) == nil && cache.value(for: 3) == nil && cache.value(for: 1) == "1")
        #expect(cache.count == 4)
        cache.insert("large", for: 7, cost: 100)
        #expect(cache.count == 1 && cache.value(for: 7) == "large")
        cache.insert("small", for: 8, cost: 1)
        #expect(cache.count == 1 && cache.value(for: 8) == "small")
        cache.remove(8)
        #expect(cache.count == 0 && cache.value(for: 8) == nil)
        cache.insert("9", for: 9, cost: 3)
        #expect(cache.value(for: 9) == "9")
    }
}

import BackupCore
import Foundation
import Glibc
import ObjectStorage
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A writer knows which packs its backup needs.
@Suite struct KnownNeedsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private typealias File = (name: FileName, bytes: [UInt8], policy: ChunkingPolicy)

    /// Edits, replaces or keeps each file; the database is large enough for content lists.
    private func next(_ files: [File], replacing: Bool, _ random: inout SeededGenerator) -> [File] {
        files.map { file in
            var bytes = file.bytes
            switch replacing ? 0 : UInt8.random(in: 0..<4, using: &random) {
            case 0: bytes = TestData.random(bytes.count, seed: .random(in: 0..<1_000_000, using: &random))
            case 1:
                let start = Int.random(in: 0..<bytes.count - 200, using: &random)
                for offset in start..<start + 200 { bytes[offset] ^= 0x55 }
            default: break
            }
            return (file.name, bytes, file.policy)
        }
    }

    /// As the program does it: what is unchanged is taken over.
    private func backUp(
        _ name: FileName, _ files: [File], _ earlier: (files: [File], root: Directory)?, in repository: Repository
    ) throws -> Snapshot {
        let writer = try repository.makeWriter(packSizeBytes: 200_000, expectsSnapshots: false)
        var entries: [TreeEntry] = []
        for (index, file) in files.enumerated() {
            let known = earlier?.root.entry(named: file.name)
            if let known, earlier?.files[index].bytes == file.bytes, try writer.takeOver([known.content]) == [true] {
                entries.append(known)
                continue
            }
            let content = writer.makeContentWriter(file.policy, earlier: known?.content)
            try content.append(file.bytes)
            entries.append(
                .file(name: file.name, mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: try content.finish()))
        }
        return try writer.commit(named: name, entries: entries)
    }

    /// Whether a copy of the repository that has only these packs has all of a snapshot.
    private func isWhole(_ snapshot: Snapshot, _ files: [File], with packs: Set<PackID>, of repository: Repository) throws -> Bool
    {
        let path = folder("copy-\(RandomToken.make())")
        try FileManager.default.copyItem(atPath: repository.path, toPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let layout = RepositoryLayout(path: path)
        for pack in try repository.packs() where !packs.contains(pack) { try FileSystem.removeFile(layout.packPath(of: pack)) }
        for name in try FileSystem.names(in: path) where "\(name)".hasPrefix("catalog") {
            try FileSystem.removeFile("\(path)/\(name)")
        }
        let copy = try Repository.open(at: path)
        return try files.allSatisfy { try copy.file($0.name, in: snapshot.name) == $0.bytes }
    }

    @Test(arguments: Rounds.seeds(60, oneIn: 10))
    func `the packs that are known to be needed have all of a backup`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let repository = try Repository.create(at: folder("repository-\(seed)"))
        var files: [File] = [
            ("database", TestData.random(3_000_000, seed: seed), .database(pageSizeBytes: 4096)),
            ("photo", TestData.random(90_000, seed: seed + 1), .media),
            ("rows", TestData.rows(3_000, seed: seed + 2), .structuredText),
        ]
        var earlier: (files: [File], root: Directory)?
        var unneededCount = 0
        for number in 0..<5 {
            let snapshot = try backUp(FileName("s\(number)"), files, earlier, in: repository)
            let packs = try #require(repository.knownNeeds.withLock { $0.packs(of: snapshot.id) })
            #expect(try isWhole(snapshot, files, with: packs, of: repository), "\(number)")
            unneededCount += try repository.packs().count - packs.count
            earlier = (files, try repository.rootDirectory(of: snapshot))
            files = next(files, replacing: number == 2, &random)
        }
        // Otherwise nothing was left out.
        #expect(unneededCount > 0)
    }

    @Test func `nothing is claimed of a folder that was taken over by its name`() throws {
        let repository = try Repository.create(at: folder("repository"))
        try RecordedHistory.backUp("one", in: repository)
        let one = try #require(repository.snapshot(named: "one"))
        #expect(repository.knownNeeds.withLock { $0.packs(of: one.id) } != nil)
        // Its album is that of the first one.
        try RecordedHistory.backUp("two", in: repository, seconds: 1_001)
        let two = try #require(repository.snapshot(named: "two"))
        #expect(repository.knownNeeds.withLock { $0.packs(of: two.id) } == nil)
    }

    @Test func `a folder that is taken over with all that is in it has known needs`() throws {
        let repository = try Repository.create(at: folder("repository"))
        let first = try repository.makeWriter()
        let photo = TestData.random(90_000, seed: 1)
        let file = TreeEntry.file(
            name: "photo", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: try first.store(photo, policy: .media))
        let album = try first.store([file])
        func entry(_ stored: StoredDirectory, _ name: FileName = "album") -> TreeEntry {
            .directory(name: name, mode: 0o700, modificationTime: Timestamp(seconds: 5), stored: stored)
        }
        let outer = try first.store([entry(album)])
        let one = try first.commit(named: "one", entries: [entry(album), entry(outer, "outer")])
        let needed = try #require(repository.knownNeeds.withLock { $0.packs(of: one.id) })
        let second = try repository.makeWriter()
        #expect(try second.takeOver([file.content]) == [true])
        #expect(try second.takeOver(album, with: [file]))
        #expect(try second.takeOver(outer, with: [entry(album)]))
        let two = try second.commit(named: "two", entries: [entry(album), entry(outer, "outer")], seconds: 1_001)
        // All that the first one needed: the same file and folders.
        #expect(repository.knownNeeds.withLock { $0.packs(of: two.id) }?.isSuperset(of: needed) == true)
        // With a folder in it that was not looked at, nothing is claimed.
        let third = try repository.makeWriter()
        #expect(try third.takeOver(outer, with: [entry(album)]))
        let three = try third.commit(named: "three", entries: [entry(outer, "outer")], seconds: 1_002)
        #expect(repository.knownNeeds.withLock { $0.packs(of: three.id) } == nil)
    }

    @Test func `nothing is claimed of a list that was taken over by its name`() throws {
        let repository = try Repository.create(at: folder("repository"))
        let bytes = TestData.random(3_000_000, seed: 1)
        let first = try repository.makeWriter().commit(
            named: "one", files: [("database", bytes, .database(pageSizeBytes: 4096))])
        let entry = try #require(try repository.rootDirectory(of: first).entry(named: "database"))
        try #require(entry.content.hasLists)
        let unlooked = try repository.makeWriter().commit(named: "two", entries: [entry], seconds: 1_001)
        #expect(repository.knownNeeds.withLock { $0.packs(of: unlooked.id) } == nil)
        // More elements than a folder entry holds: they are stored as a content list.
        let long = FileContent.concatenating((0..<17).map { _ in entry.content })
        try #require(long.elements.count > ContentListBuilder.inlineElementLimit)
        let compacted = try repository.makeWriter().commit(
            named: "long", entries: [entry.replacing(content: long)], seconds: 1_003)
        #expect(repository.knownNeeds.withLock { $0.packs(of: compacted.id) } == nil)
        let writer = try repository.makeWriter()
        #expect(try writer.takeOver([entry.content]) == [true])
        let looked = try writer.commit(named: "three", entries: [entry], seconds: 1_002)
        #expect(repository.knownNeeds.withLock { $0.packs(of: looked.id) }?.isEmpty == false)
    }

    @Test func `a mirror is updated without a walk, and with one where a needed pack is missing`() throws {
        let repository = try Repository.create(at: folder("repository"))
        try RecordedHistory.backUp("one", in: repository)
        let storage = try FolderStorage.make(at: folder("bucket"))
        var state = MirrorState()
        #expect(try RepositoryMirror(of: repository, in: storage).update(&state).walkCount == 0)
        let snapshot = try repository.makeWriter().commit(
            named: "next", files: [("new", TestData.random(50_000, seed: 99), .media)], seconds: 3_000)
        let packs = try #require(repository.knownNeeds.withLock { $0.packs(of: snapshot.id) })
        for pack in packs { try FileSystem.removeFile(repository.layout.packPath(of: pack)) }
        let summary = try RepositoryMirror(of: repository, in: storage).update(&state)
        #expect(summary.walkCount == 1 && summary.addedSnapshotCount == 0 && summary.unreadable.count == 1, "\(summary)")
    }

    @Test func `a mirror with a part of a pack that is damaged here gets no record that needs it`() throws {
        let repository = try Repository.create(at: folder("repository"))
        let storage = try FolderStorage.make(at: folder("bucket"))
        var state = MirrorState()
        _ = try RepositoryMirror(of: repository, in: storage).update(&state)
        let snapshot = try repository.makeWriter().commit(
            named: "next", files: [("new", TestData.random(50_000, seed: 99), .media)], seconds: 3_000)
        for pack in try #require(repository.knownNeeds.withLock { $0.packs(of: snapshot.id) }) {
            let path = repository.layout.packPath(of: pack)
            var bytes = try readFile(path)
            _ = try storage.create(MirrorObject.pack(pack).name, ObjectDraft(Array(bytes.dropLast(10))))
            for index in 40..<60 { bytes[index] ^= 0xff }
            try OwnedDescriptor.open(path, O_WRONLY).writeAll(bytes)
        }
        let summary = try RepositoryMirror(of: repository, in: storage).update(&state)
        #expect(summary.addedSnapshotCount == 0 && !summary.unreadable.isEmpty, "\(summary)")
        #expect(try storage.list(prefix: "snapshots/", after: nil).objects.isEmpty)
    }

    @Test func `what is remembered is limited`() {
        var needs = KnownNeeds()
        let ids = (0..<200).map { SnapshotID(SHA256Hasher.hash([UInt8($0)])) }
        let packs = Set((0..<1_000).map { PackID(SHA256Hasher.hash(Array("\($0)".utf8))) })
        for id in ids { needs.note(packs, of: id) }
        #expect(ids.count { needs.packs(of: $0) != nil } == 65)
        #expect(needs.packs(of: ids[199]) == packs && needs.packs(of: ids[134]) == nil)
    }
}

import BackupCore
import Foundation
import Synchronization
import SystemIO
import TestSupport

@testable import BackupRepository

/// A few days of a small repository, recorded once for all tests: what was there, every change to a file after that, and what was
/// promised at which moment.
struct RecordedHistory: Sendable {
    typealias Contents = [(name: FileName, bytes: [UInt8], policy: ChunkingPolicy)]

    let root: String
    let beginning: DiskTree
    let recorder: FileRecorder
    let catalogs: CatalogState.Copies

    /// Small enough for several packs in a backup.
    static let packSizeBytes: UInt64 = 24_000

    /// What each snapshot holds, by the name it was made with.
    static let contents: [FileName: Contents] = {
        let database = TestData.random(40_000, seed: 1)
        var edited = database
        for offset in 20_000..<20_100 { edited[offset] ^= 0xff }
        let rows = TestData.rows(300, seed: 5)
        let photo = TestData.random(9_000, seed: 2)
        let tiny: [UInt8] = [1, 2, 3]
        let one: Contents = [
            ("database", database, .database(pageSizeBytes: 4096)), ("rows", rows, .structuredText), ("tiny", tiny, .media),
        ]
        let two: Contents = [
            ("database", edited, .database(pageSizeBytes: 4096)), ("photo", photo, .media),
            ("rows", rows + Array("more".utf8), .structuredText), ("tiny", tiny, .media),
        ]
        let next = two + [("new", TestData.random(5_000, seed: 77), .media)]
        return [
            "one": one, "two": two, "renamed": two, "three": one + [("photo", photo, .media)], "given-up": next, "next": next,
            "after": next,
        ]
    }()

    /// In the folder `album` of each snapshot.
    static let albumFile = TestData.random(3_000, seed: 3)

    /// Makes the history in a folder that is removed again.
    static let shared = Result { try RecordedHistory() }

    private init() throws {
        let folder = try TemporaryFolder()
        let root = folder("repository")
        self.root = root
        try Self.withRepository(root, create: true) { repository in try Self.backUp("one", in: repository) }
        beginning = try DiskTree(readingFrom: root)
        let before = try readFile(root + "/catalog.sqlite")
        let recorder = FileRecorder()
        self.recorder = recorder
        try FileObservation.observing(below: root, by: recorder) {
            try Self.withRepository(root, create: false) { repository in try Self.live(repository, recorder) }
        }
        catalogs = CatalogState.Copies(beginning: before, end: try readFile(root + "/catalog.sqlite"))
    }

    /// The catalog is whole in its one file when no process has the repository open.
    private static func withRepository(_ root: String, create: Bool, _ body: (Repository) throws -> Void) throws {
        try body(create ? try Repository.create(at: root) : try Repository.open(at: root))
    }

    private static func live(_ repository: Repository, _ recorder: FileRecorder) throws {
        recorder.promise(.init(kept: ["one"], possible: ["two"]))
        try backUp("two", in: repository)
        recorder.promise(.init(kept: ["one", "two"]))
        try requireDifferences(in: repository)
        let one = try require("one", in: repository)
        let two = try require("two", in: repository)

        try repository.setPinned(one, true)
        recorder.promise(.init(kept: ["one"], renaming: ["two", "renamed"]))
        try repository.renameSnapshot(two, to: "renamed")
        recorder.promise(.init(kept: ["one", "renamed"]))

        recorder.promise(.init(kept: ["renamed"], possible: ["one"]))
        try repository.removeSnapshot(one)
        recorder.promise(.init(kept: ["renamed"]))

        // Finds chunks of the snapshot that was removed.
        recorder.promise(.init(kept: ["renamed"], possible: ["three"]))
        try backUp("three", in: repository)
        recorder.promise(.init(kept: ["renamed", "three"]))

        // One is given up when some of its packs are published and others are not.
        let writer = try repository.makeWriter(packSizeBytes: packSizeBytes)
        for file in contents["given-up"] ?? [] { _ = try writer.store(file.bytes, policy: file.policy) }
        _ = try writer.store(TestData.random(60_000, seed: 8), policy: .database(pageSizeBytes: 4096))
        try writer.publishChunks()
        _ = try writer.store(TestData.random(10_000, seed: 9), policy: .database(pageSizeBytes: 4096))
        writer.abandon()

        // What only the removed snapshot needed is removed; packs of which a part is needed are rewritten.
        let summary = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
        if summary.removedPackCount + summary.rewrittenPackCount == 0 { throw BackupError(.notFound, "nothing was pruned") }

        // Removed in a way that can be undone, pruned, and brought back.
        let three = try require("three", in: repository)
        recorder.promise(.init(kept: ["renamed"], recoverable: ["three"]))
        try repository.withdrawSnapshots([three], at: SystemClock.now())
        _ = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
        _ = try repository.bringBackSnapshot(three)
        recorder.promise(.init(kept: ["renamed", "three"]))
    }

    /// That there are near-duplicates whose bases can be lost at all.
    private static func requireDifferences(in repository: Repository) throws {
        let root = try repository.snapshot(named: "two").map { try repository.rootDirectory(of: $0) }
        let database = try root?.entry(named: "database").map { try repository.pieces(of: $0.content) }
        let bases = (database ?? []).filter { piece in
            if case .chunk(let chunk) = piece { return chunk.base != nil }
            return false
        }
        if bases.isEmpty { throw BackupError(.notFound, "nothing in the history is stored as a difference") }
    }

    /// As the program does it: against the newest snapshot, with near-duplicates stored as differences and a folder taken over.
    static func backUp(_ name: FileName, in repository: Repository, seconds: Int64 = 1000) throws {
        let writer = try repository.makeWriter(packSizeBytes: packSizeBytes)
        let earlier = try repository.snapshots().last.map { try repository.rootDirectory(of: $0) }
        var entries: [TreeEntry] = []
        for file in contents[name] ?? [] {
            let content = writer.makeContentWriter(file.policy, earlier: earlier?.entry(named: file.name)?.content)
            try content.append(file.bytes)
            entries.append(
                .file(name: file.name, mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: try content.finish()))
        }
        entries.append(
            .directory(
                name: "album", mode: 0o700, modificationTime: Timestamp(seconds: 5),
                stored: try album(writer, repository, earlier?.entry(named: "album"))))
        try writer.commit(named: name, entries: entries, seconds: seconds)
    }

    private static func album(
        _ writer: BackupWriter, _ repository: Repository, _ earlier: TreeEntry?
    ) throws -> StoredDirectory {
        if let earlier, let totals = earlier.totals {
            let stored = StoredDirectory(content: earlier.content, totals: totals)
            let contents = try repository.directory(stored).entries.map(\.content)
            guard try writer.takeOver([stored.content] + contents).allSatisfy({ $0 }) else {
                throw BackupError(.repositoryDamaged, "the album of the backup before is not whole")
            }
            return stored
        }
        let stored = try writer.store(albumFile, policy: .media)
        return try writer.store([
            .file(name: "picture", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
        ])
    }

    /// What a snapshot lacks, or has otherwise than it was stored; `nil` when it is whole.
    static func flaw(of name: FileName, in repository: Repository) throws -> String? {
        guard let snapshot = repository.snapshot(named: name), let contents = contents[name] else {
            return "\(name) is not there"
        }
        let root = try repository.rootDirectory(of: snapshot)
        guard root.entries.map(\.name) == (contents.map(\.name) + ["album"]).sorted() else { return "other names in \(name)" }
        for file in contents where try repository.file(file.name, in: name) != file.bytes { return "\(file.name) of \(name)" }
        guard let album = root.entry(named: "album"), let picture = try repository.directory(of: album).entry(named: "picture"),
            try repository.bytes(of: picture.content, limitBytes: 1 << 20) == albumFile
        else { return "the album of \(name)" }
        return nil
    }

    private static func require(_ name: FileName, in repository: Repository) throws -> SnapshotID {
        guard let snapshot = repository.snapshot(named: name) else {
            throw BackupError(.notFound, "the history lacks the snapshot \(name)")
        }
        return snapshot.id
    }
}

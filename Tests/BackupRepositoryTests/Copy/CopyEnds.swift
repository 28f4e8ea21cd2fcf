import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Two repositories of a test, and the snapshots that are copied from one to the other.
struct CopyEnds {
    /// How the two differ.
    enum Kind: CaseIterable {
        case plain, toEncrypted, fromEncrypted, otherPassword, otherLengths, otherLengthsEncrypted
    }

    static let passwords = (source: "correct horse", target: "battery staple")

    let folder: TemporaryFolder
    let source: Repository
    let target: Repository

    init(_ kind: Kind) throws {
        folder = try TemporaryFolder()
        let isSourceEncrypted = [.fromEncrypted, .otherPassword, .otherLengthsEncrypted].contains(kind)
        let isTargetEncrypted = [.toEncrypted, .otherPassword, .otherLengthsEncrypted].contains(kind)
        source = try Self.create(folder("source"), isSourceEncrypted ? Self.passwords.source : nil)
        let made = try Self.create(folder("target"), isTargetEncrypted ? Self.passwords.target : nil)
        guard kind == .otherLengths || kind == .otherLengthsEncrypted else {
            target = made
            return
        }
        // Later versions may cut new repositories otherwise. Nothing is in this one yet.
        let config = folder("target/config")
        let text = String(decoding: try readFile(config), as: UTF8.self)
            .replacingOccurrences(of: "media: 262144 1048576 4194304", with: "media: 65536 131072 524288")
            .replacingOccurrences(of: "structured-text: 2048 8192 32768", with: "structured-text: 1024 4096 16384")
        #expect(text.contains("65536 131072") && text.contains("1024 4096"))
        try writeFile(config, Array(text.utf8))
        try FileManager.default.removeItem(atPath: folder("target/config.copy"))
        target = try Self.open(folder("target"), Self.passwords.target)
    }

    static func create(_ path: String, _ password: String?) throws -> Repository {
        try Repository.create(at: path, password: password.map { EncryptionTests.secret($0) }, cost: EncryptionTests.cheap)
    }

    static func open(_ path: String, _ password: String) throws -> Repository {
        try Repository.open(at: path) { (_) throws(BackupError) in .password(EncryptionTests.secret(password)) }
    }

    static let rules = CopyRules { path, start in
        if start.starts(with: CopyTree.databaseStart) { return .database(pageSizeBytes: 4_096) }
        return path.starts(with: "media/".utf8) ? .media : .structuredText
    } archive: { (original, _, _) throws(BackupError) in
        CopyRules.Archive(sizeBytes: original.record.archiveSizeBytes, attributes: [:])
    }

    /// Copies all snapshots, or those named, in the same direction or back.
    @discardableResult
    func copy(_ names: [FileName]? = nil, isBack: Bool = false, packSizeBytes: UInt64 = 300_000) throws -> [SnapshotCopy.Result] {
        let (from, to) = isBack ? (target, source) : (source, target)
        try from.refresh()
        let chosen = try names?.map { try #require(from.snapshot(named: $0)) } ?? from.snapshots()
        let copy = try SnapshotCopy(from: from, to: to, Self.rules, packSizeBytes: packSizeBytes)
        var results: [SnapshotCopy.Result] = []
        try copy.run(copy.plan(chosen, areNamed: names != nil), progress: nil) { results.append($0) }
        return results
    }

    /// The files of a snapshot and what is kept of them, as a reader has them that shares no code with the program.
    func read(_ snapshot: Snapshot, inTarget: Bool) throws -> (folder: String, metadata: String) {
        // The reader knows no labels.
        let name = snapshot.record.name
        let password = try folder.write(inTarget ? Self.passwords.target : Self.passwords.source, to: "password")
        let out = folder(RandomToken.make())
        let reader = ["env", "BACKUPFS_PASSWORD_FILE=\(password)", "python3", Fixtures.reader]
        let path = folder(inTarget ? "target" : "source")
        let found = try run(reader + ["read", path, name.description, out])
        #expect(found.status == 0, "\(found.output)")
        return (out, found.output)
    }

    /// Expects that a snapshot of the target has all that the one of the source has.
    func expectSame(_ name: FileName, as copied: FileName? = nil) throws {
        let (left, right) = (try #require(source.snapshot(named: name)), try #require(target.snapshot(named: copied ?? name)))
        let original = try read(left, inTarget: false)
        let copy = try read(right, inTarget: true)
        let difference = try run(["diff", "-r", "--no-dereference", original.folder, copy.folder])
        #expect(difference.status == 0, "\(name): \(difference.output)")
        #expect(original.metadata == copy.metadata)
        #expect(try Self.describe(left, in: source) == Self.describe(right, in: target))
    }

    /// A line for each entry, without what differs between repositories.
    static func describe(_ snapshot: Snapshot, in repository: Repository) throws -> [String] {
        var attributes = snapshot.record.attributes
        attributes[Snapshot.originalAttribute] = nil
        var lines = [
            "\(snapshot.kind) \(snapshot.creationTime) \(snapshot.isPinned) \(snapshot.tags) \(snapshot.record.archiveSizeBytes)",
            "\(snapshot.record.archiveLayout.prefixes.sorted { $0.key < $1.key }) \(snapshot.record.token)",
            "\(attributes.sorted { $0.key < $1.key }) \(snapshot.record.root.totals)",
        ]
        var cursor = TreeCursor(snapshot.record.root, in: repository)
        while let entry = try cursor.nextEntry() {
            lines.append(
                "\(cursor.path) \(entry.mode) \(entry.modificationTime) \(entry.size) \(String(describing: entry.checksums)) "
                    + "\(String(describing: entry.sourceIdentity)) \(entry.metadata?.holeBytes ?? 0)")
        }
        return lines
    }

    /// Expects that a check of all data finds nothing.
    func expectSound(_ repository: Repository) throws {
        var findings: [String] = []
        var check = RepositoryCheck(repository, readData: .all) { findings.append("\($0)") }
        #expect(try check.run().isSound && findings.isEmpty, "\(findings)")
    }

    static func packs(_ path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path + "/packs").filter { $0.hasSuffix(".pack") }.sorted()
    }
}

/// Trees with everything that a snapshot can hold.
enum CopyTree {
    static let databaseStart = Array("SQLite format 3\0".utf8)
    static let sourceID = "0123456789abcdef0123456789abcdef"

    /// A database whose pages are of text, some of which differ from version to version.
    static func database(version: UInt64) -> [UInt8] {
        var bytes = TestData.rows(9_000, seed: 7)
        bytes.replaceSubrange(0..<16, with: databaseStart)
        for place in [70_000, 180_000, 310_000] { bytes.replaceSubrange(place..<place + 3, with: Array("v\(version)!".utf8)) }
        return bytes
    }

    static func document(of id: SourceID, host: String = "host") -> SourceDocument {
        SourceDocument(
            id: id, storeID: "s", app: "cars", title: "Cars", hostName: host, machineID: "m", storePath: "/s", definition: nil,
            settings: "app: cars\n")
    }

    /// Makes a snapshot of version 1, 2, …; each shares most with the one before.
    @discardableResult
    static func backUp(
        _ name: FileName, version: UInt64, in repository: Repository, kind: SnapshotKind = .snapshot
    ) throws -> Snapshot {
        let earlier = try repository.snapshots().last.map { try repository.rootDirectory(of: $0) }
        let writer = try repository.makeWriter(packSizeBytes: 400_000)
        func file(
            _ name: FileName, _ bytes: [UInt8], _ policy: ChunkingPolicy, _ metadata: EntryMetadata? = nil
        ) throws -> TreeEntry {
            let stored = try writer.store(
                BytesSource(bytes), policy: policy, earlier: earlier?.entry(named: name).map(\.content))
            return .file(
                name: name, mode: 0o640, modificationTime: Timestamp(seconds: 5, nanoseconds: 6), stored: stored,
                sourceIdentity: SourceIdentity(inode: 9, changeTime: Timestamp(seconds: 8)), metadata: metadata)
        }
        let link = EntryMetadata.of(
            owner: FileOwner(user: 3, group: 4), link: EntryMetadata.Link(fileSystem: 0, inode: 77),
            extendedAttributes: [ExtendedAttribute(name: Array("user.comment".utf8), value: [0, 255])])
        let photo = TestData.random(2_500_000, seed: 3)
        let inner = try writer.store([
            file("photo.jpg", photo, .media, link), file("other-name.jpg", photo, .media, link),
            file(FileName("new-\(version).jpg"), TestData.random(90_000, seed: 100 + version), .media),
            .symbolicLink(name: "link", target: Array("photo.jpg".utf8), modificationTime: Timestamp(seconds: 4)),
        ])
        let media = try writer.store([
            .directory(name: "2024", mode: 0o750, modificationTime: Timestamp(seconds: 3), stored: inner),
            file("sparse", [UInt8](repeating: 0, count: 700_000), .media, .of(holeBytes: 696_320)), file("empty", [], .media),
            file("tiny", [1, 2, 3], .media),
        ])
        let rows = try file("rows.json", TestData.rows(20_000, seed: 40 + version), .structuredText)
        let export = FileContent.concatenating([FileContent(literal: Array("{\"rows\":".utf8)), rows.content])
        let root = try writer.store([
            rows, file("database.sqlite", database(version: version), .database(pageSizeBytes: 4_096)),
            .file(
                name: "export.json", mode: 0o600, modificationTime: Timestamp(seconds: 2), content: export,
                checksums: Checksums(of: Array("{\"rows\":".utf8) + TestData.rows(20_000, seed: 40 + version))),
            .directory(name: "media", mode: 0o700, modificationTime: Timestamp(seconds: 1), stored: media),
        ])
        if let id = SourceID(hexadecimal: sourceID) { try repository.write(document(of: id)) { $0 == nil } }
        return try writer.commit(
            SnapshotRecord(
                kind: kind, name: name, creationTime: Timestamp(seconds: Int64(1_000 * version), nanoseconds: 7),
                parent: repository.snapshots().last?.id, root: root, archiveSizeBytes: 123_456,
                archiveLayout: ["media/": "photos/"],
                attributes: ["app": "cars", "source": sourceID, "sequence": "\(version)", "tag": "first-\(version)"]))
    }
}

extension Checksums {
    init(of bytes: [UInt8]) {
        var hasher = ContentHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        self = hasher.finish()
    }
}

import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Fixtures/repository-v1-metadata was written by the first program that kept owners, hard links, holes and extended attributes
/// (directory objects of version 2), and must open for ever. What the files were is told by `getfattr`, `stat` and `sha256sum`.
@Suite struct MetadataFixtureTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> Repository {
        try FileManager.default.copyItem(atPath: Fixtures.folder + "/repository-v1-metadata", toPath: folder("repository"))
        return try Repository.open(at: folder("repository"))
    }

    @Test func `all that is kept of the files is there`() throws {
        let repository = try open()
        #expect(repository.damages().isEmpty)
        let snapshot = try #require(repository.snapshot(named: "first"))
        #expect(snapshot.mediaOwner == FileOwner(user: 1234, group: 1234))
        #expect(snapshot.publicAttributes["media-owner"] == nil && snapshot.publicAttributes["media-metadata"] == nil)
        let media = try repository.directory(of: #require(repository.rootDirectory(of: snapshot).entry(named: "media")))
        let one = try #require(media.entry(named: "one.jpg"))
        let comment = ExtendedAttribute(name: Array("user.comment".utf8), value: Array("a b".utf8))
        let binary = ExtendedAttribute(name: Array("user.binary".utf8), value: [0, 255])
        #expect(one.metadata?.extendedAttributes == [binary, comment] && one.metadata?.owner == nil)
        #expect(one.metadata?.link == EntryMetadata.Link(fileSystem: 0, inode: 16_605_794) && one.metadata?.holeBytes == 0)
        let folder = try #require(media.entry(named: "folder"))
        let attribute = ExtendedAttribute(name: Array("user.folder".utf8), value: Array("yes".utf8))
        #expect(folder.metadata == EntryMetadata.of(extendedAttributes: [attribute]))
        let second = try #require(repository.directory(of: folder).entry(named: "second"))
        #expect(second.metadata == one.metadata && second.isSameFile(as: one))
        #expect(media.entry(named: "link")?.metadata == EntryMetadata.of(owner: FileOwner(user: 5, group: 6)))
        let sparse = try #require(media.entry(named: "sparse"))
        #expect(sparse.metadata == EntryMetadata.of(owner: FileOwner(user: 7, group: 8), holeBytes: 995_328))
        #expect(
            sparse.checksums?.sha256.hexadecimal == "075fe1c40d35f4966773f646de62ce77641d60841d981ca37f2b2118fd04094c")
        // The document of its source was left out, since it tells of the machine that made it.
        var findings: [CheckFinding.Kind] = []
        var check = RepositoryCheck(repository, readData: .all) { event in
            if case .finding(let finding) = event { findings.append(finding.kind) } else { Issue.record("\(event)") }
        }
        #expect(try check.run().damagedFileCount == 0 && findings == [.source])
        // The example of the format document.
        let bytes = media.encode()
        #expect(SHA256Hasher.hash(bytes).hexadecimal == "459ad879ce0b596b4da1807329da797d97af1bf4957f0f6ebcb20027d64fa023")
        #expect(try Directory(decoding: bytes).entries == media.entries)
    }

    @Test func `the independent reader reads it`() throws {
        _ = try open()
        let told = try run(["python3", Fixtures.reader, "metadata", folder("repository"), "first"])
        #expect(
            told.output == """
                {"attributes": {"user.folder": "796573"}, "path": "media/folder"}
                {"attributes": {"user.binary": "00ff", "user.comment": "612062"}, "link": [0, 16605794], "path": "media/folder/second"}
                {"owner": [5, 6], "path": "media/link"}
                {"attributes": {"user.binary": "00ff", "user.comment": "612062"}, "link": [0, 16605794], "path": "media/one.jpg"}
                {"holes": 995328, "owner": [7, 8], "path": "media/sparse"}

                """)
        #expect(try run(["python3", Fixtures.reader, "restore", folder("repository"), "first", folder("out")]).status == 0)
    }

    /// Older programs read what has no metadata: the same bytes as theirs.
    @Test func `without metadata nothing but version 1 is written`() throws {
        let entry = TreeEntry.symbolicLink(name: "l", target: [65], modificationTime: Timestamp(seconds: 1))
        let plain = try Directory(entries: [entry]).encode()
        #expect(plain[4...7].elementsEqual([1, 0, 0, 0]))
        let owned = try Directory(entries: [entry.replacing(metadata: .of(owner: FileOwner(user: 1, group: 2)))]).encode()
        #expect(owned[4...7].elementsEqual([2, 0, 0, 0]) && owned.count == plain.count + 8)
        // Flags of version 2 are none in version 1.
        var wrong = owned
        wrong[4] = 1
        #expect(errorCode { _ = try Directory(decoding: wrong) } == .unsupportedVersion)
        var later = owned
        later[13] |= 64
        #expect(errorCode { _ = try Directory(decoding: later) } == .unsupportedVersion)
    }

    /// What no program writes is damage.
    @Test func `metadata that do not fit together are refused`() throws {
        func bytes(_ entry: TreeEntry) throws -> [UInt8] { try Directory(entries: [entry]).encode() }
        let link = TreeEntry.symbolicLink(name: "l", target: [65], modificationTime: Timestamp(seconds: 1))
        for metadata in [EntryMetadata.of(holeBytes: 1), .of(link: EntryMetadata.Link(fileSystem: 0, inode: 1))] {
            let wrong = try bytes(link.replacing(metadata: metadata))
            #expect(errorCode { _ = try Directory(decoding: wrong) } == .repositoryDamaged)
        }
        let (a, b) = (ExtendedAttribute(name: [97], value: []), ExtendedAttribute(name: [98], value: [1]))
        for attributes in [[b, a], [a, a], [ExtendedAttribute(name: [], value: [])]] {
            let wrong = try bytes(link.replacing(metadata: .of(extendedAttributes: attributes)))
            #expect(errorCode { _ = try Directory(decoding: wrong) } == .repositoryDamaged)
        }
        let right = try bytes(link.replacing(metadata: .of(extendedAttributes: [a, b])))
        for count in right.indices.dropFirst(12) {
            #expect(errorCode { _ = try Directory(decoding: Array(right[..<count])) } == .repositoryDamaged)
        }
    }
}

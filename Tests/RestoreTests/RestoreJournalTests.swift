import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// The journal of a restore: it says what it said, or is an error; never something else.
struct RestoreJournalTests {
    private static func samples() throws -> [RestoreJournal] {
        let id = try #require(SnapshotID(hexadecimal: String(repeating: "ab", count: 32)))
        let media = RestoreJournal.Media(path: "/a/photos", stagingPath: "/a/.backupfs-staging-x", stagedInode: 4711)
        return [
            RestoreJournal(state: .prepared, operation: "token", fileName: "old.json", safetySnapshot: nil, media: nil),
            RestoreJournal(state: .published, operation: "token", fileName: "mit ä\nund \"x\"", safetySnapshot: id, media: media),
            RestoreJournal(state: .prepared, operation: "", fileName: "", safetySnapshot: id, media: media),
            RestoreJournal(
                state: .prepared, operation: "token", fileName: "x.zip", safetySnapshot: id, strategy: .merge,
                media: .init(kind: .addition, path: "/a/photos", stagingPath: "/a/.backupfs-staging-x", stagedInode: 4711)),
            RestoreJournal(
                state: .published, operation: "token", fileName: "x", safetySnapshot: nil, strategy: .skip, media: nil),
        ]
    }

    @Test func `what was written comes back`() throws {
        let folder = try TemporaryFolder()
        #expect(try RestoreJournal.read(folder("journal")) == nil)
        for journal in try Self.samples() {
            try journal.write(to: folder("journal"))
            #expect(try RestoreJournal.read(folder("journal")) == journal)
        }
        #expect(try folder.sh("ls -A; stat -c %a journal") == "journal\n600")
    }

    /// A program of this version must read what another of this version has left: the bytes are fixed. The last four are the
    /// CRC-32 that `python3 -c 'import zlib…'` gives.
    @Test func `the bytes of a journal`() throws {
        let folder = try TemporaryFolder()
        let journal = RestoreJournal(
            state: .prepared, operation: "op", fileName: "f", safetySnapshot: nil,
            media: .init(path: "/m", stagingPath: "/s", stagedInode: 258))
        try journal.write(to: folder("journal"))
        let body: [UInt8] =
            Array("BFSJ".utf8) + [4, 0] + [8, 0, 0, 0] + Array("prepared".utf8) + [2, 0, 0, 0] + Array("op".utf8) + [1, 0, 0, 0]
            + Array("f".utf8) + [0, 0, 0, 0] + [2, 0, 0, 0] + Array("/m".utf8) + [2, 0, 0, 0] + Array("/s".utf8) + [
                2, 1, 0, 0, 0, 0, 0, 0,
            ] + [7, 0, 0, 0] + Array("replace".utf8) + [7, 0, 0, 0] + Array("content".utf8)
        let bytes = try folder.read("journal")
        #expect(Array(bytes.dropLast(4)) == body)
        #expect(
            try folder.sh(
                "python3 -c \"import zlib; d=open('journal','rb').read(); print(zlib.crc32(d[:-4])==int.from_bytes(d[-4:],'little'))\""
            )
                == "True")
    }

    /// What 0.1.0 wrote before there were other strategies than replace, made by that program.
    @Test func `a journal of version 1 is read`() throws {
        let folder = try TemporaryFolder()
        let body: [UInt8] =
            Array("BFSJ".utf8) + [1, 0] + [8, 0, 0, 0] + Array("prepared".utf8) + [2, 0, 0, 0] + Array("op".utf8) + [1, 0, 0, 0]
            + Array("f".utf8) + [0, 0, 0, 0] + [2, 0, 0, 0] + Array("/m".utf8) + [2, 0, 0, 0] + Array("/s".utf8) + [
                2, 1, 0, 0, 0, 0, 0, 0,
            ]
        // The CRC-32 that python3's zlib.crc32 gives.
        try folder.write(body + [0xBD, 0x03, 0xB6, 0x06], to: "journal")
        let journal = try #require(try RestoreJournal.read(folder("journal")))
        #expect(
            journal.state == .prepared && journal.operation == "op" && journal.fileName == "f" && journal.safetySnapshot == nil)
        #expect(journal.strategy == .replace)
        #expect(journal.media == .init(kind: .exchange, path: "/m", stagingPath: "/s", stagedInode: 258))
    }

    /// Reads a journal of versions 2 and 3, whose CRC-32 Python gives.
    private static func read(_ folder: TemporaryFolder, version: UInt8, state: String, kind: String) throws -> RestoreJournal? {
        let body: [UInt8] =
            Array("BFSJ".utf8) + [version, 0] + text(state) + text("op") + text("f") + text("") + text("/m") + text("/s") + [
                2, 1, 0, 0, 0, 0, 0, 0,
            ] + text("replace") + text(kind)
        try folder.write(body, to: "body")
        try folder.sh(
            "python3 -c \"import zlib; d=open('body','rb').read(); open('journal','wb').write(d+zlib.crc32(d).to_bytes(4,'little'))\""
        )
        return try RestoreJournal.read(folder("journal"))
    }

    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count), 0, 0, 0] + Array(text.utf8) }

    /// What was written before the content of a media folder was exchanged in place.
    @Test func `a journal of version 2 is read`() throws {
        let journal = try #require(try Self.read(TemporaryFolder(), version: 2, state: "prepared", kind: "exchange"))
        #expect(journal.media == .init(kind: .exchange, path: "/m", stagingPath: "/s", stagedInode: 258))
    }

    /// What was written before the list of staged entries had sizes and times: journal and list.
    @Test func `a journal of version 3 and its list are read`() throws {
        let folder = try TemporaryFolder()
        let journal = try #require(try Self.read(folder, version: 3, state: "published", kind: "content"))
        #expect(journal.state == .published)
        #expect(journal.media == .init(kind: .content, path: "/m", stagingPath: "/s", stagedInode: 258))
        try folder.write("4711 a/b c.jpg\u{0}12 d\u{0}", to: "list")
        let entries = try StagedEntries(at: folder("list")).entries
        #expect(entries.map(\.path) == [["a", "b c.jpg"], ["d"]] && entries.map(\.inode) == [4711, 12])
        #expect(entries.allSatisfy { $0.size == nil && $0.modificationTime == nil })
    }

    @Test func `the list of staged entries of version 4`() throws {
        let folder = try TemporaryFolder()
        try folder.write("4711,3,-2,999999999 a/b\u{0}", to: "list")
        let entry = try #require(try StagedEntries(at: folder("list")).entries.first)
        #expect(entry.path == ["a", "b"] && entry.inode == 4711 && entry.size == 3)
        #expect(entry.modificationTime == Timestamp(seconds: -2, nanoseconds: 999_999_999))
        for text in ["x a\u{0}", "1,2 a\u{0}", "1,2,3,4,5 a\u{0}", "1,,3,4 a\u{0}", "1"] {
            try folder.write(text, to: "list")
            #expect(failure { _ = try StagedEntries(at: folder("list")) }?.code == .damagedContent, "\(text)")
        }
    }

    @Test func `no flipped bit and no truncation is taken for a journal`() throws {
        let folder = try TemporaryFolder()
        let journal = try Self.samples()[1]
        try journal.write(to: folder("journal"))
        let bytes = try folder.read("journal")
        var codes: Set<BackupError.Code?> = []
        for index in bytes.indices {
            for mask: UInt8 in [0x01, 0x80, 0xFF] {
                var damaged = bytes
                damaged[index] ^= mask
                try folder.write(damaged, to: "journal")
                codes.insert(failure { _ = try RestoreJournal.read(folder("journal")) }?.code)
            }
        }
        for count in 0..<bytes.count {
            try folder.write(Array(bytes[..<count]), to: "journal")
            codes.insert(failure { _ = try RestoreJournal.read(folder("journal")) }?.code)
        }
        try folder.write(bytes + [0], to: "journal")
        codes.insert(failure { _ = try RestoreJournal.read(folder("journal")) }?.code)
        #expect(codes == [.damagedContent])
    }

    @Test func `a journal of a later version is refused as such`() throws {
        let folder = try TemporaryFolder()
        try Self.samples()[0].write(to: folder("journal"))
        var bytes = Array(try folder.read("journal").dropLast(4))
        bytes[4] = 5
        try folder.write(bytes + withUnsafeBytes(of: CRC32.of(bytes).littleEndian) { Array($0) }, to: "journal")
        #expect(failure { _ = try RestoreJournal.read(folder("journal")) }?.code == .unsupportedVersion)
    }

    @Test func `a damaged journal says what to do`() throws {
        let folder = try TemporaryFolder()
        try folder.write("rubbish of some length", to: "journal")
        let error = failure { _ = try RestoreJournal.read(folder("journal")) }
        #expect(
            error?.description
                == "\(folder.path)/journal: the journal of an interrupted restore is damaged: its checksum differs. "
                + "Keep a copy of the store, check the app's data, and then remove this file.")
    }
}

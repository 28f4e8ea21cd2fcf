import AppData
import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// What a dropped file is, whether it is whole, and what its list of digests says.
struct DroppedFileTests {
    @Test(arguments: [
        (Array("{}".utf8), DroppedFormat.json), (Array(" \r\n\t[".utf8), .json), ([0xEF, 0xBB, 0xBF] + Array("{".utf8), .json),
        (Array("PK\u{3}\u{4}".utf8), .zip), (Array("PK\u{5}\u{6}".utf8), .zip), (Array("SQLite format 3\0".utf8), .sqlite),
    ])
    func `the first bytes say what it is`(bytes: [UInt8], format: DroppedFormat) throws {
        let folder = try TemporaryFolder()
        // The name says nothing.
        for name in ["a.json", "a.zip", "a"] {
            try folder.write(bytes + Array("rest".utf8), to: name)
            #expect(try DroppedFormat.detect(SharedFile(path: folder(name))) == format)
        }
    }

    @Test(
        arguments: [
            [], [0], Array("x".utf8), Array("<html>".utf8), Array("PK".utf8), Array("SQLite format 4\0".utf8),
            [0xFF, 0xFE, 0x7B, 0],
            [UInt8](repeating: 32, count: 600),
        ] as [[UInt8]])
    func `anything else is refused`(bytes: [UInt8]) throws {
        let folder = try TemporaryFolder()
        try folder.write(bytes, to: "f")
        let error = failure { _ = try DroppedFormat.detect(SharedFile(path: folder("f"))) }
        #expect(error?.code == .invalidContent)
        #expect(error?.message == "Invalid file format. Please select a valid backup file.")
    }

    @Test func `a file is whole when nothing is missing at its end`() throws {
        let folder = try TemporaryFolder()
        let export = Array(Diary.export().utf8)
        try folder.sh("sqlite3 d.sqlite 'create table t (x); insert into t values (1)'")
        try folder.write(export, to: "export.json")
        try folder.sh("python3 -c \"import zipfile; z=zipfile.ZipFile('a.zip','w',8); z.write('export.json'); z.close()\"")
        for name in ["export.json", "d.sqlite", "a.zip"] {
            #expect(CompletenessCheck.isComplete(folder(name)), "\(name)")
            let bytes = try folder.read(name)
            for count in Set([0, 1, 15, 50, 100, bytes.count / 2, bytes.count - 3]) {
                try folder.write(Array(bytes.prefix(count)), to: "part")
                #expect(!CompletenessCheck.isComplete(folder("part")), "\(name), \(count) bytes")
            }
        }
        #expect(!CompletenessCheck.isComplete(folder("none")))
        try folder.write("[1, 2]", to: "f")
        #expect(CompletenessCheck.isComplete(folder("f")))
        try folder.write("{\"a\": 1}}", to: "f")
        #expect(!CompletenessCheck.isComplete(folder("f")))
    }

    private static let digest = String(repeating: "0123456789abcdef", count: 4)

    private static func read(_ text: String) throws -> [String: String] {
        var output: [String: String] = [:]
        for (name, digest) in try ChecksumListingReader.read(Array(text.utf8), path: "x") {
            output[String(decoding: name, as: UTF8.self)] = digest.hexadecimal
        }
        return output
    }

    @Test func `a listing is read as sha256sum writes it`() throws {
        let folder = try TemporaryFolder()
        try folder.sh(
            "printf a > plain; printf b > 'with space'; printf c > \"$(printf 'new\\nline')\"; printf d > 'back\\slash'; printf e > \"$(printf 'cr\\r')\""
        )
        let text =
            try folder.sh("sha256sum plain 'with space' \"$(printf 'new\\nline')\" 'back\\slash' \"$(printf 'cr\\r')\"") + "\n"
        let digests = try Self.read(text)
        #expect(digests.keys.sorted() == ["back\\slash", "cr\r", "new\nline", "plain", "with space"])
        #expect(digests["plain"] == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
        #expect(try Self.read("") == [:])
        #expect(
            try Self.read("\(Self.digest) *binary\n\(Self.digest)   two blanks\n").keys.sorted() == [
                "  two blanks".dropFirst().description, "binary",
            ])
    }

    @Test(arguments: [
        "rubbish\n", "\(digest)\n", "\(digest)  \n", "\(digest) x\n", "\(digest.dropLast())  name\n", "\(digest)x  name\n",
        "\(digest)  a\n\(digest)  a\n", "\\\(digest)  bad\\x\n", "\\\(digest)  ends\\\n", "zz\(digest.dropFirst(2))  name\n",
    ])
    func `a listing that is not one is damage`(text: String) throws {
        #expect(
            failure { _ = try ChecksumListingReader.read(Array(text.utf8), path: "x") }?.code
                == .damagedContent)
    }
}

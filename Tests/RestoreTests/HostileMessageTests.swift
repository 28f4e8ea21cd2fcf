import AppData
import BackupCore
import Formats
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// What a file from anywhere makes messages say: no more than fits on a screen, and nothing that a terminal obeys.
struct HostileMessageTests {
    /// It would clear the screen, and is longer than a name that is shown whole.
    private static let name = "\u{1B}[2J\n" + String(repeating: "e\u{301}", count: 5_000)

    private static func requirePlain(_ error: BackupError?) throws {
        let error = try #require(error)
        for text in ([error.message] + error.findings).map(\.english) {
            #expect(text.utf8.count < 2_000, "\(text.utf8.count)")
            #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(text.prefix(500))")
        }
    }

    @Test func `a name that stands twice in a JSON object`() throws {
        let tokenizer = JSONTokenizer(MemorySource("{\"a\\u001B[2J\\u0007\": 1, \"a\\u001B[2J\\u0007\": 2}"))
        try Self.requirePlain(failure { while try tokenizer.next() != .end {} })
        let accents = "e" + String(repeating: "\u{301}", count: 100_000)
        let long = JSONTokenizer(MemorySource("{\"\(accents)\": 1, \"\(accents)\": 2}"))
        try Self.requirePlain(failure { while try long.next() != .end {} })
    }

    @Test func `a member that the definition does not know`() throws {
        let text = Diary.export().replacing(
            "\"file\": \"new.jpg\"", with: "\"file\": \"new.jpg\", \"a\\u001B[2J\\u0007\": 1")
        let summary = try WireImport(MemorySource(text), definition: Diary.definition()).summary
        #expect(summary.warnings == ["Unknown fields were ignored: photos.a�[2J� (1)."])
    }

    @Test func `a file that is missing in the archive, and one that is not as it should be`() throws {
        func check(path: String, sizes: [[UInt8]: UInt64], isComplete: Bool) -> BackupError? {
            let entry = ManifestEntry(
                key: .integer(1), label: "photo 1", recordPath: Array(path.utf8), archivePath: Array(path.utf8), sizeBytes: 7,
                md5: nil, sha256: nil)
            let check = ManifestCheck(
                mediaPaths: ArchiveMediaPaths(layout: .identity), isComplete: isComplete, pointer: nil, archivePath: "a.zip",
                digests: [:],
                sizes: sizes, allowsDamage: false, leftOut: [])
            return failure { _ = try check.run([entry]) }
        }
        let path = "media/" + String(repeating: "\u{1B}[2J\n", count: 30)
        try Self.requirePlain(check(path: path, sizes: [:], isComplete: true))
        try Self.requirePlain(check(path: path, sizes: [Array(path.utf8): 1], isComplete: true))
        try Self.requirePlain(check(path: Self.name, sizes: [:], isComplete: true))
    }

    @Test func `the device and the app that an export is from, in a preview`() throws {
        let folder = try TemporaryFolder()
        let database = try Diary.database(in: folder)
        try folder.write(
            Diary.export().replacing("\"appVersion\": \"1.0\"", with: "\"appVersion\": \"1\\u001B[2J\\r\""), to: "a.json")
        let operation = RestoreOperation(
            database: database, mediaPath: folder("app/photos"), journalPath: folder("journal"), workPath: folder("work"),
            savedMedia: .everything)
        let checked = try operation.check(folder("a.json"))
        #expect(checked.summary.appVersion == "1\u{1B}[2J\r")
        let report = RestoreReport(
            result: .preview, fileName: "a.json", startedAt: Timestamp(seconds: 0), finishedAt: Timestamp(seconds: 0),
            checked: checked)
        #expect(report.text.contains("App version: 1�[2J�\n"))
    }
}

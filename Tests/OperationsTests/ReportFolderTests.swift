import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// `reports/` of a store.
struct ReportFolderTests {
    private func report(
        _ seconds: Int64, _ facts: OperationFacts = OperationFacts(), error: BackupError? = nil
    ) -> OperationReport {
        let record = OperationRecord(
            .backup, startedAt: Timestamp(seconds: seconds), durationMilliseconds: 1_234,
            result: error == nil ? .ok : .failed, facts: facts)
        return OperationReport(record, error: error, in: .english)
    }

    @Test func `a report comes back with all that it says`() throws {
        let folder = try TemporaryFolder()
        var facts = OperationFacts()
        facts.snapshot = "a\"b\n<c>"
        (facts.safetyBackup, facts.strategy, facts.unreadableCount) = ("safe.json", "merge", 3)
        facts.note(details: ["first", "zwei: ü\u{1F600}"])
        let reports = ReportFolder(storeAt: folder.path)
        try reports.add(report(1_700_000_000, facts))
        let name = try #require(try reports.names().first)
        #expect(name == "\(SystemClock.localStamp(Timestamp(seconds: 1_700_000_000)))_backup")
        let text = String(decoding: try reports.report(name, as: .txt, in: .english).content, as: UTF8.self)
        #expect(text.hasSuffix("\n\nfirst\nzwei: ü\u{1F600}\n"))
        for line in [
            "Operation:         backup", "Duration:          1.23 s", "Safety backup:     safe.json", "Unreadable files:  3",
        ] {
            #expect(text.contains(line), "\(text)")
        }
        let page = String(decoding: try reports.report(name, as: .html, in: .german).content, as: UTF8.self)
        #expect(page.contains("<html lang=\"de\">") && page.contains("../safety/safe.json") && !page.contains("<c>"))
        #expect(page.contains("../snapshots/a%22b%0A%3Cc%3E/"))
        let json = try reports.report(name, as: .json, in: .english).content
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        #expect(object["snapshot"] as? String == "a\"b\n<c>" && object["text"] as? String == "first\nzwei: ü\u{1F600}")
        #expect(object["version"] as? Int == 1 && object["unreadable"] as? Int == 3)
    }

    /// The form of version 1: it stays readable.
    @Test func `a report of version 1 is read`() throws {
        let folder = try TemporaryFolder()
        let json = """
            {
              "version": 1,
              "operation": "restore",
              "automatic": false,
              "startedAt": "2026-01-11T14:30:00Z",
              "durationMilliseconds": 61234,
              "result": "failed",
              "error": "noSpace",
              "snapshot": null,
              "sizeBytes": 2048,
              "files": 2,
              "records": 10,
              "storedBytes": null,
              "freedBytes": null,
              "removed": null,
              "remote": null,
              "strategy": "merge",
              "format": "zip",
              "safetyBackup": "safety.zip",
              "unreadable": null,
              "text": "old.zip: not restored. The disk is full.\\nNothing was changed."
            }

            """
        try FileSystem.makeDirectories(folder("reports"))
        try FileSystem.writeFileAtomically(folder("reports/x.json"), Array(json.utf8))
        let text = try ReportFolder(storeAt: folder.path).report("x", as: .txt, in: .english).content
        #expect(
            String(decoding: text, as: UTF8.self) == """
                Operation:      restore
                Started:        \(SystemClock.localTime(Timestamp(seconds: 1_768_141_800)).english)
                Duration:       1 min 1 s
                Result:         failed (noSpace)
                Safety backup:  safety.zip
                Strategy:       merge
                Records:        10
                Files:          2
                Size:           2.0 KiB

                old.zip: not restored. The disk is full.
                Nothing was changed.

                """)
    }

    @Test func `the error of an operation that reports nothing else is its text`() throws {
        let error = BackupError(.inputOutput, "the disk is gone", path: "/x", remedy: "Look for it.", findings: ["a", "b"])
        let folder = try TemporaryFolder()
        let reports = ReportFolder(storeAt: folder.path)
        try reports.add(report(1, error: error))
        let text = String(decoding: try reports.report(try reports.names()[0], as: .txt, in: .english).content, as: UTF8.self)
        #expect(text.hasSuffix("\n\n/x: the disk is gone. Look for it.\n- a\n- b\n"))
    }

    @Test func `reports of one second have names of their own, and other files are not reports`() throws {
        let folder = try TemporaryFolder()
        let reports = ReportFolder(storeAt: folder.path)
        for _ in 0..<3 { try reports.add(report(100)) }
        let stem = "\(SystemClock.localStamp(Timestamp(seconds: 100)))_backup"
        for name in [".hidden.json", "draft.json.tmp-1", "note.txt"] {
            try FileSystem.writeFileAtomically(folder("reports/\(name)"), [])
        }
        try FileSystem.writeFileAtomically(folder("reports/torn.json"), Array("{\"version\": 1, \"oper".utf8))
        try FileSystem.writeFileAtomically(folder("reports/later.json"), Array("{\"version\": 2}".utf8))
        #expect(try reports.names() == [stem, "\(stem)_2", "\(stem)_3", "later", "torn"])
        for name in ["torn", "later"] {
            #expect(errorCode { _ = try reports.report(name, as: .txt, in: .english) } == .damagedContent)
            #expect(try !reports.report(name, as: .json, in: .english).content.isEmpty)
        }
        #expect(errorCode { _ = try reports.report("none", as: .txt, in: .english) } == .notFound)
    }

    @Test func `the oldest are removed, by number and by age, and a wrong clock leaves the newest`() throws {
        let folder = try TemporaryFolder()
        let reports = ReportFolder(storeAt: folder.path)
        for index in 0..<(ReportFolder.countLimit + 5) { try reports.add(report(Int64(1_000_000 + index))) }
        let names = try reports.names()
        #expect(names.count == ReportFolder.countLimit)
        #expect(names[0] == "\(SystemClock.localStamp(Timestamp(seconds: 1_000_005)))_backup")
        // As if a year and more had passed since all of them were written.
        let old = Date(timeIntervalSinceNow: -Double(ReportFolder.ageLimitSeconds + 60))
        for name in names {
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: folder("reports/\(name).json"))
        }
        try reports.add(report(2_000_000))
        #expect(try reports.names().count == ReportFolder.leastCount)
        #expect(try reports.names().last == "\(SystemClock.localStamp(Timestamp(seconds: 2_000_000)))_backup")
    }

    @Test func `reports from the future and links are not in the way`() throws {
        let folder = try TemporaryFolder()
        let reports = ReportFolder(storeAt: folder.path)
        for index in 0..<(ReportFolder.countLimit + 20) {
            try reports.add(report(2_209_000_000 + Int64(index)))
            let name = "\(SystemClock.localStamp(Timestamp(seconds: 2_209_000_000 + Int64(index))))_backup"
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 2_209_000_000)], ofItemAtPath: folder("reports/\(name).json"))
        }
        try reports.add(report(1_700_000_000))
        #expect(try reports.names().first == "\(SystemClock.localStamp(Timestamp(seconds: 1_700_000_000)))_backup")
        #expect(try reports.names().count == ReportFolder.countLimit)
        try FileManager.default.createSymbolicLink(atPath: folder("reports/link.json"), withDestinationPath: "/etc/hostname")
        #expect(errorCode { _ = try reports.report("link", as: .json, in: .english) } != nil)
    }

    @Test func `operations that began have one, and others do not`() {
        func isKept(_ operation: OperationKind, _ result: OperationResult, _ error: BackupError.Code? = nil) -> Bool {
            var facts = OperationFacts()
            facts.error = error
            return OperationReport.isKept(
                of: OperationRecord(
                    operation, startedAt: Timestamp(seconds: 1), durationMilliseconds: 1, result: result, facts: facts))
        }
        #expect(isKept(.backup, .ok) && isKept(.backup, .failed, .noSpace) && isKept(.backup, .cancelled, .interrupted))
        #expect(isKept(.restore, .refused, .invalidContent) && isKept(.check, .failed, .repositoryDamaged))
        #expect(!isKept(.backup, .skipped) && !isKept(.restore, .refused, .busy) && !isKept(.backup, .refused, .locked))
        #expect(!isKept(.mount, .ok) && !isKept(.rename, .ok) && !isKept(.recovery, .ok))
    }

    @Test func `a report has no more lines than a reader can use`() {
        var facts = OperationFacts()
        facts.note(details: (0..<1_000).map { "line \($0)" })
        facts.note(details: ["one more"])
        #expect(facts.details.count == 201 && facts.details.last?.english == "…")
    }
}

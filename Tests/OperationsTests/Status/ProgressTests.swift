import BackupCore
import Foundation
import Glibc
import Restore
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Progress reports of operations: the words and percentages of the apps' documents.
struct ProgressTests {
    /// Records what it receives.
    private final class Listener: Sendable {
        private let all = Mutex<[OperationProgress]>([])
        var handler: ProgressHandler { { [self] progress in all.withLock { $0.append(progress) } } }
        var told: [OperationProgress] { all.withLock { $0 } }

        /// `30 Copying photos`, without repetitions.
        var lines: [String] {
            var lines: [String] = []
            for progress in told {
                let line = "\(progress.percent.map(String.init) ?? "-") \(progress.message)"
                if lines.last != line { lines.append(line) }
            }
            return lines
        }

        var percentsRise: Bool {
            let percents = told.compactMap(\.percent)
            return zip(percents, percents.dropFirst()).allSatisfy { $0 <= $1 } && !percents.isEmpty
        }
    }

    /// Requirements EXP-01, PRG-01, PRG-02, PRG-03, PRG-05, PRG-06, ZIP-02.
    @Test func `a backup of SmilePile goes by the percentages of its documents`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --app smilepile --store $S >/dev/null
            for i in 1 2 3; do head -c 3000 /dev/urandom > $S/app/photos/$i.jpg; done
            """)
        let listener = Listener()
        let result = try BackupOperation(store: Store.open(sandbox.storePath)).run(
            label: "one", tag: nil, progress: listener.handler)
        #expect(result.mediaBytesRead == 9_000)
        #expect(
            listener.lines == [
                "0 Starting backup", "10 Gathering data", "20 Gathering photos", "30 Copying photos", "43 Copying photos (1/3)",
                "56 Copying photos (2/3)", "70 Copying photos (3/3)", "70 Creating metadata", "80 Creating ZIP archive",
                "100 Archiving files (4/4)", "100 Backup complete",
            ])
        // Exactly the entries of the archive: three photos and metadata.json.
        #expect(try sandbox.sh("backupfs export one --zip -o $R/x.zip --store $S; unzip -Z1 $R/x.zip | wc -l").hasSuffix("\n4"))
        let copying = try #require(listener.told.last { $0.phase == "Copying photos" })
        #expect(copying.totalBytes == 9_000 && copying.processedBytes == 9_000 && copying.totalItems == 3)
    }

    @Test func `PRG-01, PRG-08: a backup of the charging tracker says one thing, and ends at 100`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        let store = try Store.open(sandbox.storePath)
        let listener = Listener()
        _ = try BackupOperation(store: store).run(label: "one", tag: nil, progress: listener.handler)
        #expect(listener.lines.first == "0 Creating backup...")
        #expect(listener.lines.last == "100 Backup complete")
        #expect(Set(listener.told.map(\.message.english)) == ["Creating backup...", "Backup complete"])
        #expect(listener.percentsRise && listener.told.dropLast().allSatisfy { $0.percent ?? 100 <= 99 })
        // Some progress in between is reported, by bytes.
        #expect(listener.told.contains { (1...98).contains($0.percent ?? 0) })
        let end = try #require(listener.told.last)
        #expect(end.processedBytes == end.totalBytes && end.processedBytes > 500_000)
        // Nothing has changed: nothing is read.
        let again = Listener()
        _ = try BackupOperation(store: store).run(label: "two", tag: nil, progress: again.handler)
        #expect(again.told.last?.processedBytes == 0 && again.lines.last == "100 Backup complete" && again.percentsRise)
    }

    @Test func `many files, first new and then as they were, never make a percentage fall`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --app smilepile --store $S >/dev/null; cd $S/app/photos
            for i in $(seq 1 1500); do echo $i > $i.jpg; done; wait_settled .
            """)
        let store = try Store.open(sandbox.storePath)
        for label in ["one", "two"] {
            let listener = Listener()
            _ = try BackupOperation(store: store).run(label: label, tag: nil, progress: listener.handler)
            #expect(listener.percentsRise)
            #expect(listener.lines.contains("70 Creating metadata"), "\(listener.lines)")
            // Whether or not the counting thread was fast enough: in the end all of them were copied.
            #expect(listener.told.contains { $0.processedItems == 1_500 && $0.totalItems == 1_500 })
        }
    }

    @Test func `a folder is counted at once when it is small, and beside the backup when it is not`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/small/in $R/large/in; echo 12345 > $R/small/one; echo 123 > $R/small/in/two; ln -s one $R/small/link
            cd $R/large/in; for i in $(seq 1 1200); do echo > $i; done
            """)
        let found = Mutex<[String]>([])
        let note: @Sendable (UInt64, UInt64) -> Void = { files, bytes in found.withLock { $0.append("\(files) \(bytes)") } }
        let small = MediaListing(sandbox("small"), amongMedia: .none, earlier: nil, found: note)
        #expect(found.withLock { $0 } == ["2 10"])
        small.end()
        let large = MediaListing(sandbox("large"), amongMedia: .none, earlier: nil, found: note)
        for _ in 0..<500 where found.withLock({ $0.count }) < 2 { usleep(10_000) }
        large.end()
        #expect(found.withLock { $0 } == ["2 10", "1200 1200"])
    }

    @Test func `PRG-07, PRG-08, RST-21: a restore says what it does, and how it has ended`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null; backupfs export --json -o $R/x.json --store $S >/dev/null")
        let store = try Store.open(sandbox.storePath)
        let listener = Listener()
        _ = try RestoreRunner(store: store).run(ImportSource(file: sandbox("x.json")), progress: listener.handler)
        #expect(listener.lines.first == "0 Restoring data...")
        #expect(listener.lines.contains("60 Importing data..."), "\(listener.lines)")
        #expect(listener.lines.last == "100 Restore completed")
        #expect(listener.percentsRise && listener.told.dropLast().allSatisfy { $0.percent ?? 100 <= 99 })
        #expect(
            Set(listener.told.map(\.message.english)) == ["Restoring data...", "Importing data...", "Restore completed"])

        try sandbox.write(#"{"metadata": {}}"#, to: "bad.json")
        let refused = Listener()
        #expect(throws: BackupError.self) {
            try RestoreRunner(store: store).run(ImportSource(file: sandbox("bad.json")), progress: refused.handler)
        }
        #expect(refused.lines.last == "- Validation failed")
    }

    @Test func `EXP-13, PRG-04, PRG-08: an export says what it does, and how it has ended`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null")
        let store = try Store.open(sandbox.storePath)
        for form in [ExportOperation.Form.json, .archive(.zip)] {
            let listener = Listener()
            try ExportOperation(store: store, snapshotName: "one", progress: listener.handler).write(form, to: sandbox("x"))
            #expect(listener.lines.first == "0 Preparing export..." && listener.lines.last == "100 Export completed")
            #expect(listener.told.last?.processedBytes == FileSystem.statusIfPresent(sandbox("x"))?.size && listener.percentsRise)
        }
    }

    @Test func `PRG-12: programs get the bytes and the time that is left`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        let script = """
            backupfs backup --store $S --json | jq -s -c 'map(select(.message_type == "status")) |
              (map(.percent) | . == sort and (map(type) | unique == ["number"])), .[-1].percent, .[-1].message,
              .[-1].bytes_done == .[-1].total_bytes, .[-1].seconds_remaining'
            """
        #expect(try sandbox.sh(script) == "true\n100\n\"Backup complete\"\ntrue\n0")
    }
}

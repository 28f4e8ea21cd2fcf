import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository
@testable import Operations

/// Records of snapshots whose numbers only an attacker writes: commands report what they can, and none crashes.
@Suite struct HostileRecordTests {
    /// A snapshot like `one` with the largest totals and sizes that a record can hold.
    private static func forge(_ store: Store) throws {
        let made = try store.snapshot(named: "one").record
        var writer = ByteWriter()
        for _ in 0..<7 { writer.append(UInt64.max) }
        var reader = ByteReader(writer.bytes)
        let totals = try DirectoryTotals(decoding: &reader)
        for name in ["huge", "huger"] {
            _ = try store.repository.makeWriter().commit(
                SnapshotRecord(
                    kind: .snapshot, name: FileName(name), creationTime: made.creationTime, parent: nil,
                    root: StoredDirectory(content: made.root.content, totals: totals), archiveSizeBytes: .max,
                    archiveLayout: [:], attributes: made.attributes))
        }
    }

    @Test(arguments: [
        "snapshots", "snapshots --json", "stats", "stats --json", "status", "status --json", "status --prometheus", "ls huge",
        "diff one huge", "diff huge huger --json", "find one.jpg", "verify huge", "check", "check --read-data",
        "export huge --zip -o $R/huge.zip", "export huge --tar -o $R/huge.tar", "restore huge --yes",
        "restore huge --target $R/target",
        "backup", "tag huge", "pin huge", "delete huge", "prune", "forget --keep-last 1 --dry-run", "history",
    ])
    func `numbers at their limits`(command: String) throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        _ = try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil)
        try Self.forge(store)
        let result = try sandbox.run("backupfs \(command) --store $S; exit $?")
        #expect(result.exitCode < 10, "\(command): \(result)")
    }

    @Test func `an automatic backup that has failed as often as a number can say fails once more`() {
        var state = ScheduleState(schedule: "every 1h", handledAt: Timestamp(seconds: 0))
        state.failureCount = .max
        state.noteFailure(at: Timestamp(seconds: 1_000_000))
        #expect(state.failureCount == .max && state.retryAt != nil)
    }
}

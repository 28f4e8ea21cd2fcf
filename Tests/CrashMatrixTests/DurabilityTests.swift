import TestSupport
import Testing

/// A kill loses nothing that the kernel has, so it never shows a missing fsync. This shows it: each step of a restore finds
/// durable what it relies on.
struct DurabilityTests {
    private static let log = "store/app/database.sqlite-wal"
    private static let journal = "store/restore.journal"
    private static let staging = "store/app/.backupfs-staging-*"

    /// Where a step begins, and what must not be lost from then on.
    private static func steps(_ calls: [RecordedCall]) throws -> [(name: String, index: Int, reliesOn: [String])] {
        func first(after index: Int, _ condition: (RecordedCall) -> Bool) throws -> Int {
            try #require(calls.indices.dropFirst(index + 1).first { condition(calls[$0]) })
        }
        let begun = try first(after: -1) { $0.name == "rename" && $0.path == journal }
        let staged = try first(after: begun) { $0.path == staging }
        let prepared = try first(after: staged) { $0.name == "rename" && $0.path == journal }
        let transaction = try first(after: prepared) { $0.name == "pwrite" && $0.path == log }
        // The first photo leaves its place, or comes to it.
        let published = try first(after: transaction) {
            $0.name == "rename" && ($0.path.hasPrefix("store/app/photos") || $0.path.hasPrefix("\(staging)/old"))
        }
        let told = try first(after: published) { $0.name == "rename" && $0.path == journal }
        let marker = try first(after: told) { $0.name == "pwrite" && $0.path == log }
        let removed = try first(after: marker) { ["unlink", "rmdir"].contains($0.name) && $0.path.hasPrefix(staging) }
        let reported = try first(after: removed) { $0.path.hasPrefix("store/restore/last.json") }
        let forgotten = try first(after: reported) { $0.name == "unlink" && $0.path == journal }
        let backup = ["store/repository/packs", "store/repository/snapshots", "store/repository"]
        let database = ["store/app/database.sqlite", log]
        return [
            ("media are staged", staged, [journal, "store"] + backup.dropLast()),
            ("the transaction begins", transaction, [journal, "store", staging, "store/app"] + backup.dropLast()),
            ("media are published", published, database + ["store/app", staging]),
            ("the journal says so", told, database + ["store/app/photos", "store/app"]),
            ("the marker goes", marker, [journal, "store"]),
            ("what is left goes", removed, database + ["store/app/photos"]),
            ("it is reported", reported, database),
            ("the journal goes", forgotten, database + ["store/restore/last.json", "store/restore/last.txt", "store/restore"]),
        ].map { ($0.0, $0.1, $0.2.map { String($0) }) }
    }

    /// What a step relies on and a power cut could take away.
    private static func missing(_ calls: [RecordedCall]) throws -> [String] {
        var unsynced = UnsyncedFiles()
        var done = 0
        var missing: [String] = []
        for step in try steps(calls) {
            for call in calls[done..<step.index] { unsynced.apply(call) }
            done = step.index
            // Of the store and the app's folder the names in it, not what else lies there.
            let wide = ["store", "store/app"]
            missing += unsynced.among(step.reliesOn.filter { !wide.contains($0) }).map { "\($0) when \(step.name)" }
            missing += wide.filter { step.reliesOn.contains($0) && unsynced.paths.contains($0) }.map { "\($0) when \(step.name)" }
        }
        return missing
    }

    @Test(arguments: Scenario.archives)
    func `SAF-09: each step of a restore relies on what is durable`(scenario: Scenario) throws {
        let calls = try Expectation.of(scenario).calls
        #expect(try Self.missing(calls) == [])
        // Had one of these been forgotten, it would be noticed.
        for forgotten in ["fdatasync \(Self.log)", "fsync \(Self.journal).tmp-*", "syncfs \(Self.staging)", "fsync store"] {
            let others = calls.filter { "\($0.name) \($0.path)" != forgotten }
            #expect(others.count < calls.count, "\(forgotten)")
            #expect(try Self.missing(others) != [], "\(forgotten)")
        }
    }

    /// SQLite ends a transaction by removing the journal, and leaves it to others to make that durable (`PRAGMA synchronous =
    /// FULL`). If it came back after the photos had been exchanged, the records would be the old ones.
    @Test func `the removal of a rollback journal is durable before the media are exchanged`() throws {
        let scenario = Scenario.archives[0]
        let world = try World(copying: Template.of(scenario.template).world)
        try world.shell("sqlite3 $S/app/database.sqlite 'pragma journal_mode = delete'")
        try world.backupfs(
            scenario.arguments(world), FaultLayer.environment(folder: world.path, logPath: world.logPath)
        ).requireSuccess()
        let calls = RecordedCall.read(world.logPath)
        let journal = "store/app/database.sqlite-journal"
        let committed = try #require(calls.firstIndex { $0.name == "unlink" && $0.path == journal })
        let exchanged = try #require(
            calls.indices.first {
                $0 > committed && calls[$0].name == "rename" && calls[$0].path.hasPrefix("\(Self.staging)/old")
            })
        func unsynced(_ calls: some Sequence<RecordedCall>) -> Bool {
            var unsynced = UnsyncedFiles()
            for call in calls { unsynced.apply(call) }
            return unsynced.paths.contains("store/app")
        }
        #expect(unsynced(calls[...committed]))
        #expect(!unsynced(calls[..<exchanged]))
    }
}

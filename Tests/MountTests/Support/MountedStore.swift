import Glibc
import TestSupport
import Testing

extension Sandbox {
    /// A clock that stands still, for tests of exact names.
    static let fixedClock = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]

    /// Runs a test with a new store, mounted.
    /// - Parameters:
    ///   - setUp: more arguments for `init`: `--sample` fills the store.
    ///   - extra: environment of the process that serves the mount.
    static func withMount(
        _ setUp: String = "", _ extra: [String: String] = [:], _ body: (Sandbox) throws -> Void
    ) throws {
        try use { sandbox in
            try sandbox.sh("backupfs init --store $S \(setUp)", extra)
            try sandbox.mount(extra)
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    func mount(_ extra: [String: String] = [:], options: String = "", at place: SourceLocation = #_sourceLocation) throws {
        try sh("backupfs mount --store $S \(options) $M", extra, at: place)
    }

    /// Unmounts normally and waits until the process that served it has ended.
    func unmount(at place: SourceLocation = #_sourceLocation) throws {
        // A program that has just ended or been killed may still be having its files closed.
        try sh(
            "wait_until fusermount3 -u $M",
            at: place)
        #expect(mounts == [], sourceLocation: place)
        #expect(waitForProcesses(), "still running: \(processes)", sourceLocation: place)
    }

    func remount(_ extra: [String: String] = [:]) throws {
        try unmount()
        try mount(extra)
    }

    /// Kills the process that serves the mount and waits until it is gone; the dead mount stays.
    func crash() throws {
        for daemon in daemons { kill(daemon, SIGKILL) }
        #expect(waitForProcesses())
    }

    /// Waits until `path` exists, or until it is gone.
    func wait(for path: String, toExist: Bool = true, at place: SourceLocation = #_sourceLocation) throws {
        for _ in 0..<6_000 {
            if (access(path, F_OK) == 0) == toExist { return }
            usleep(5_000)
        }
        Issue.record("waited in vain for \(path)", sourceLocation: place)
    }

    // MARK: The app's data

    /// Everything in the app's database, read beside the mount. Sorted: a restore leaves rows of settings in place, and adds
    /// others after them.
    func databaseDump(store: String = "$S") throws -> String {
        try sh("sqlite3 -readonly \(store)/app/database.sqlite .dump | sort")
    }

    /// The live export without its creation time.
    func liveExport() throws -> String { try sh("cat $M/live/export.json | sed '0,/\"createdAt\"/{/\"createdAt\"/d}'") }

    /// The state that a rejected or undone restore must not change.
    func state() throws -> String { try databaseDump() + "\n" + liveExport() }

    /// Names in a folder of the mount, sorted.
    func names(_ folder: String, at place: SourceLocation = #_sourceLocation) throws -> [String] {
        try sh("ls -A \"$M/\(folder)\"", at: place).split(separator: "\n").map(String.init)
    }

    /// The last restore's report.
    func report(_ filter: String, at place: SourceLocation = #_sourceLocation) throws -> String {
        try sh("jq -r '\(filter)' $M/restore/last.json", at: place)
    }
}

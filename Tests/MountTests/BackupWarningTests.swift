import TestSupport
import Testing

/// Warnings of a backup that no command prints: one of the schedule, or one made by `mkdir`.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct BackupWarningTests {
    private static let isBehind = "no old backups were removed: the clock is behind the backup before, of 2026-02-20 10:00:00"

    /// A store whose newest backup is from February.
    private func sandbox(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            sandbox.variables["BACKUPFS_SCHEDULE"] = nil
            try sandbox.sh(
                "backupfs init --store $S --sample; backupfs backup --if-due --store $S", Self.time("2026-01-10T10:00:00Z"))
            try sandbox.sh("backupfs backup --label february --store $S", Self.time("2026-02-20T10:00:00Z"))
            // Otherwise there is nothing new to back up.
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where rowid = 1'")
            try body(sandbox)
        }
    }

    private static func time(_ text: String) -> [String: String] { ["BACKUPFS_NOW": text] }

    private func wait(_ sandbox: Sandbox, until script: String) throws {
        try sandbox.sh("wait_until \(script)")
    }

    private func warnings(_ sandbox: Sandbox) throws -> String { try sandbox.sh("jq -r '.lastBackup.warnings[]' $M/status.json") }

    @Test func `warnings of the schedule's backup are in the status, the log and mount.log`() throws {
        try sandbox { sandbox in
            let now = Self.time("2026-01-12T09:00:00Z")
            try sandbox.sh("backupfs mount --store $S $M", now)
            try wait(sandbox, until: "grep -q 'clock is behind' $M/status.json")
            #expect(try warnings(sandbox).hasPrefix(Self.isBehind))
            let name = "2026-01-12_09-00-00"
            #expect(try sandbox.sh("backupfs status --store $S", now).contains("\nWarning: \(Self.isBehind)"))
            #expect(
                try sandbox.sh("backupfs status --json --store $S | jq -r '.lastBackup | .name, .warnings[0]'", now).hasPrefix(
                    "\(name)\n\(Self.isBehind)"))
            // It is not a reason for an alarm at night: the backup exists.
            let checked = try sandbox.sh("backupfs status --check 26h --store $S", now).split(separator: "\n")
            #expect(checked.first == "OK. Last backup: 2026-01-12 09:00:00", "\(checked)")
            #expect(checked.count == 2 && checked[1].hasPrefix("Warning: \(Self.isBehind)"), "\(checked)")
            #expect(
                try sandbox.sh("backupfs status --check 26h --json --store $S | jq -c '[.healthy, (.warnings | length)]'", now)
                    == "[true,1]")
            #expect(
                try sandbox.sh(
                    "jq -r 'select(.phase == \"warning\") | [.level, .op, .warning, .snapshot, .automatic] | join(\" \")' $S/backupfs.log"
                ) == "warning backup clock \(name) true")
            #expect(try sandbox.sh("cat $S/mount.log").hasPrefix("warning: \(name): \(Self.isBehind)"))
            try sandbox.unmount()
        }
    }

    @Test func `warnings of mkdir are shown until there is a backup without any`() throws {
        try sandbox { sandbox in
            let now = Self.time("2026-01-11T09:00:00Z").merging(["BACKUPFS_SCHEDULE": "off"]) { $1 }
            let mount = try sandbox.start("exec backupfs mount -f --store $S $M 2>$R/said", now)
            try wait(sandbox, until: "[ -e $M/status.json ]")
            try sandbox.sh("mkdir $M/snapshots/one")
            #expect(try warnings(sandbox).hasPrefix(Self.isBehind))
            #expect(try sandbox.sh("cat $R/said").hasPrefix("warning: one: \(Self.isBehind)"))
            #expect(
                try sandbox.sh("jq -r 'select(.phase == \"warning\") | [.warning, .snapshot] | join(\" \")' $S/backupfs.log")
                    == "clock one")
            // The newest backup has changed meanwhile.
            try sandbox.sh("mv $M/snapshots/one $M/snapshots/two")
            #expect(try warnings(sandbox).hasPrefix(Self.isBehind))
            try sandbox.sh("rmdir $M/snapshots/two")
            #expect(try warnings(sandbox) == "")
            try sandbox.sh("backupfs undelete two --store $S")
            #expect(try warnings(sandbox).hasPrefix(Self.isBehind))
            // Its clock is that of the backup before it.
            try sandbox.sh("mkdir $M/snapshots/three")
            #expect(try warnings(sandbox) == "")
            #expect(!(try sandbox.sh("backupfs status --store $S", now)).contains("Warning"))
            #expect(try sandbox.sh("ls $S | grep -c warnings || true") == "0")
            #expect(try sandbox.sh("wc -l < $R/said") == "1")
            try sandbox.sh("backupfs umount --store $S")
            #expect(try mount.wait().exitCode == 0)
        }
    }

    @Test func `a backup of the schedule that is not whole says so`() throws {
        try Sandbox.use { sandbox in
            sandbox.variables["BACKUPFS_SCHEDULE"] = "daily"
            try sandbox.sh(
                """
                mkdir $R/media; mkfifo $R/media/pipe; sqlite3 $R/notes.sqlite "create table n(id integer primary key); insert into n values(1)"
                backupfs init --store $S --database $R/notes.sqlite --media $R/media
                backupfs backup --if-due --store $S
                """, Self.time("2026-01-10T10:00:00Z"))
            try sandbox.sh("backupfs mount --store $S $M", Self.time("2026-01-12T09:00:00Z"))
            let message = "the backup 2026-01-12_09-00-00 is not whole: 1 file could not be read or is damaged"
            try wait(sandbox, until: "grep -q 'not whole' $M/status.json")
            #expect(try warnings(sandbox).hasPrefix(message))
            #expect(try sandbox.sh("cat $S/mount.log").contains(message))
            try sandbox.unmount()
        }
    }
}

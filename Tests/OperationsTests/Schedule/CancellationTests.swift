import Foundation
import TestSupport
import Testing

/// A signal or another command ends a running operation, which leaves nothing partly done.
struct CancellationTests {
    /// Runs a command that pauses at a point, and a second script meanwhile; returns both outputs and the first one's exit code.
    private func whilePaused(at point: String, _ command: String, _ meanwhile: String, in sandbox: Sandbox) throws -> String {
        try sandbox.sh(
            """
            rm -f $R/pause.reached; touch $R/pause
            # Or else it ignores SIGINT.
            set -m
            BACKUPFS_FAULT="\(point)=pause:$R/pause" \(command) > $R/first 2>&1 & first=$!
            wait_paused $R/pause $first
            [ -e $R/pause.reached ]
            \(meanwhile)
            wait $first && code=0 || code=$?
            cat $R/first; echo "exit $code"
            """, ["OWN": sandbox.path])
    }

    static let points = ["backup.begun", "backup.pack-written", "backup.catalog-updated", "backup.record-written"]

    @Test(arguments: points, ["kill -INT $first", "kill -TERM $first", "backupfs cancel --store $S"])
    func `SCH-12, PRG-15, CON-01, CON-04: a backup is cancelled at any point`(point: String, how: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --label one --store $S; printf 1 > $S/app/photos/new.jpg")
        let state = try sandbox.sh("find $S/repository/packs $S/repository/snapshots $S/spool -type f | sort")
        let text = try whilePaused(at: point, "backupfs backup --label two --store $S", how, in: sandbox)
        #expect(text.contains("backupfs: cancelled\n") && text.hasSuffix("exit 130"), "\(text)")
        #expect(text.contains("Ended: backup") == how.contains("cancel"))
        #expect(try sandbox.sh("find $S/repository/packs $S/repository/snapshots $S/spool -type f | sort") == state)
        #expect(
            try sandbox.sh("ls $S")
                == "app\napp.yaml\nbackupfs.log\nhistory.jsonl\nidentity\nlast-backup\noperation.lock\nreports\nrepository\nrestore\nspool\nstore.yaml"
        )
        #expect(
            try sandbox.sh("backupfs backup --label two --store $S; backupfs check --read-data --store $S | tail -1")
                == "two\nNo damage was found.")
    }

    @Test(arguments: [
        "restore.safety-made", "restore.media-staged", "restore.journal-written", "restore.rows-inserted",
        "restore.before-commit",
    ])
    func `SAF-01: a restore that is cancelled leaves the old data`(point: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            "backupfs backup --label one --store $S; rm $S/app/photos/one.jpg; sqlite3 $S/app/database.sqlite 'delete from photos'"
        )
        let state = try sandbox.sh(PhotoDiary.describe)
        let text = try whilePaused(at: point, "backupfs restore one --yes --store $S", "backupfs cancel --store $S", in: sandbox)
        #expect(text.contains("cancelled; nothing was changed") && text.hasSuffix("exit 130"), "\(text)")
        #expect(try sandbox.sh(PhotoDiary.describe) == state)
        #expect(
            try sandbox.sh("ls $S/spool; ls $S | grep -c journal || true") == "CACHEDIR.TAG\n0"
                || sandbox.sh("ls -A $S/spool") == "CACHEDIR.TAG")
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "failed")
    }

    @Test(arguments: ["restore.committed", "restore.media-published", "restore.journal-published"])
    func `a restore that is committed is finished`(point: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let state = try sandbox.sh(PhotoDiary.describe)
        try sandbox.sh(
            "backupfs backup --label one --store $S; rm $S/app/photos/one.jpg; sqlite3 $S/app/database.sqlite 'delete from photos'"
        )
        let text = try whilePaused(
            at: point, "backupfs restore one --yes --store $S",
            // On a busy machine the commit may take a while.
            """
            wait_until '[ "$(sqlite3 $S/app/database.sqlite "select count(*) from photos")" = 3 ]'
            kill -INT $first; wait_taken $first; rm $R/pause
            """, in: sandbox)
        #expect(text.hasSuffix("exit 0"), "\(text)")
        #expect(try sandbox.sh(PhotoDiary.describe) == state)
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "success")
    }

    @Test func `nothing runs, nothing is cancelled`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null")
        #expect(
            try sandbox.sh("backupfs cancel --store $S; backupfs cancel --json --store $S")
                == "Nothing is running.\n{\"message_type\":\"cancelled\",\"operation\":null,\"version\":1}")
        #expect(try sandbox.run("backupfs cancel --store $R/none").exitCode == 10)
    }

    @Test func `a backup that is made by itself gives way`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null")
        try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        let text = try whilePaused(
            at: "backup.begun", "env BACKUPFS_NOW=2026-01-11T10:00:00Z backupfs backup --if-due --store $S",
            "backupfs status --json --store $S | jq -r .operation.operation; backupfs backup --label mine --store $S", in: sandbox
        )
        #expect(text == "automatic backup\nmine\nbackupfs: cancelled\nexit 130", "\(text)")
        #expect(try sandbox.sh("grep -E 'retry|failures' $S/schedule.state") == "retry-at: 2026-01-11T10:01:00Z")
        #expect(try sandbox.sh("ls $S | grep -c last-error || true") == "0")
        // The backup is made up for.
        #expect(
            try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-11T10:01:00Z"])
                == "Nothing has changed since the backup mine.")
    }
}

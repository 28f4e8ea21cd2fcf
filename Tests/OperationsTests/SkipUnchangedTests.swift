import TestSupport
import Testing

/// `backupfs backup --skip-if-unchanged`.
struct SkipUnchangedTests {
    @Test func `a backup is skipped only when nothing at all has changed`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app smilepile --sample --store $S >/dev/null; mkdir -p $S/app/photos/empty")
        let skip = "backupfs backup --skip-if-unchanged --store $S"
        // Without an earlier backup there is nothing to compare with.
        #expect(try sandbox.sh("\(skip) --label one") == "one")
        #expect(try sandbox.sh("\(skip) --label two") == "Nothing has changed since the backup one.")
        let skipped = try sandbox.sh("\(skip) --json | jq -c 'select(.message_type == \"skipped\") | [.reason, .next]'")
        #expect(skipped == #"["unchanged",null]"#)
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[].name'") == "one")
        // A time alone, an empty folder and a row are changes, each by itself.
        for (name, change) in [
            ("time", "touch -d 2001-02-03 $S/app/photos/empty"), ("folder", "mkdir $S/app/photos/other"),
            ("file", "echo x > $S/app/photos/other/x.jpg"), ("mode", "chmod 600 $S/app/photos/other/x.jpg"),
            ("gone", "rm -r $S/app/photos/other"),
            ("row", "sqlite3 $S/app/database.sqlite \"update categories set name = name || '.' where id = 1\""),
        ] {
            try sandbox.sh(change)
            #expect(try sandbox.sh("\(skip) --label \(name)") == name)
            #expect(try sandbox.sh("\(skip) --label more") == "Nothing has changed since the backup \(name).")
        }
        try sandbox.sh("backupfs check --store $S >/dev/null")
        // The history says that it was skipped, and not that it failed.
        #expect(
            try sandbox.sh("backupfs history --json --store $S | jq -r '[.[].result] | unique | join(\" \")'") == "ok skipped")
    }

    @Test func `options that rule each other out are refused`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        try sandbox.fails("backupfs backup --if-due --skip-if-unchanged --store $S", saying: "--skip-if-unchanged", exitCode: 2)
    }
}

import Foundation
import TestSupport
import Testing

@testable import Operations

/// The command `notify`: which operations it reports, and that it delays nothing.
struct NoticeTests {
    private static let note =
        "echo $BACKUPFS_OPERATION,$BACKUPFS_RESULT,$BACKUPFS_NAME,$BACKUPFS_TITLE,$BACKUPFS_MESSAGE >> told; env | sort > environment"

    private func sandbox(_ settings: String, app: String = "keeptrack") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app \(app) --store $S >/dev/null")
        let text = try sandbox.sh("cat $S/store.yaml")
        try sandbox.write(text + "\n\(settings)\n", to: "store/store.yaml")
        return sandbox
    }

    @Test func `an operation that a user requested has a notification, whether it succeeds or not`() throws {
        let sandbox = try sandbox("notify: '\(Self.note)'")
        try sandbox.sh(
            """
            SECRET=x DISPLAY=:9 backupfs backup --label "my 'own' \\$name" --store $S >/dev/null
            backupfs export --json -o $R/x.json --store $S >/dev/null; backupfs restore $R/x.json --yes --store $S >/dev/null
            echo '{}' > $R/bad.json; ! backupfs restore $R/bad.json --yes --store $S 2>/dev/null
            ! BACKUPFS_FAULT=backup.begun=fail backupfs backup --label three --store $S 2>/dev/null
            ! backupfs backup --label "my 'own' \\$name" --store $S 2>/dev/null
            backupfs restore $R/x.json --dry-run --store $S >/dev/null
            """)
        let told = try sandbox.sh("cat $S/told").split(separator: "\n").map(String.init)
        #expect(told.count == 4, "\(told)")
        #expect(told[0] == "backup,success,my 'own' $name,KeepTrack,The backup my 'own' $name has been made.")
        #expect(told[1] == "restore,success,x.json,KeepTrack,The data has been restored from x.json.")
        #expect(told[2].hasPrefix("restore,failed,bad.json,KeepTrack,The restore from bad.json failed: "))
        #expect(told[3] == "backup,failed,three,KeepTrack,The backup failed: an injected fault at backup.begun")
    }

    @Test func `it finds nothing in its environment but what it needs`() throws {
        let sandbox = try sandbox("notify: '\(Self.note)'")
        try sandbox.sh("SECRET=x DISPLAY=:9 backupfs backup --label one --store $S >/dev/null")
        let names = try sandbox.sh("cut -d= -f1 $S/environment").split(separator: "\n").map(String.init)
        let expected: Set = [
            "BACKUPFS_APP", "BACKUPFS_MESSAGE", "BACKUPFS_NAME", "BACKUPFS_OPERATION", "BACKUPFS_RESULT", "BACKUPFS_STORE",
            "BACKUPFS_TITLE", "DISPLAY", "HOME", "LC_ALL", "PATH",
        ]
        // The shell adds its own.
        #expect(Set(names).subtracting(["PWD", "OLDPWD", "SHLVL", "_", "USER", "XDG_RUNTIME_DIR"]) == expected)
    }

    @Test func `SCH-07: the schedule's backups have no notification`() throws {
        let sandbox = try sandbox("notify: '\(Self.note)'\nskip-unchanged: no")
        // Due: a day after the store was created.
        try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-11T12:00:00Z"])
        try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-13T12:00:00Z"])
        #expect(try sandbox.sh("backupfs snapshots --tag automatic --json --store $S | jq length") == "1")
        #expect(try sandbox.sh("ls $S | grep -c told || true") == "0")
    }

    @Test func `STA-05: the app's definition says whether, and the settings have the last word`() throws {
        let tracker = try sandbox("notify: '\(Self.note)'", app: "ev-charging-tracker")
        try tracker.sh("backupfs backup --label one --store $S >/dev/null; ! ls $S/told 2>/dev/null")
        try tracker.sh("backupfs config set notifications on --store $S; backupfs backup --label two --store $S >/dev/null")
        #expect(try tracker.sh("cut -d, -f1-3 $S/told") == "backup,success,two")
        let off = try sandbox("notify: '\(Self.note)'\nnotifications: off")
        try off.sh("backupfs backup --label one --store $S >/dev/null; ! ls $S/told 2>/dev/null")
        #expect(
            try tracker.sh("backupfs config unset notifications --store $S; backupfs config get notifications --store $S")
                == "off")
    }

    @Test(arguments: ["exit 7", "kill -9 $$", "/no/such/program", "yes"]) func `whatever it does, the backup is made`(
        command: String
    ) throws {
        let sandbox = try sandbox("notify: '\(command)'")
        let result = try sandbox.run("time -p backupfs backup --label one --store $S")
        #expect(result.exitCode == 0 && result.output == "one\n")
        #expect(!result.errors.contains("backupfs"))
        // `yes` would run forever.
        let seconds = try #require(result.errors.firstMatch(of: /real ([0-9]+)/)?.1)
        #expect(Int(seconds) ?? 100 <= 30)
    }
}

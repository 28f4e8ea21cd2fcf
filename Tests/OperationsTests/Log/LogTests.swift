import TestSupport
import Testing

/// The log, as programs read it.
struct LogTests {
    private func sandbox(_ app: String = "ev-charging-tracker") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app \(app) --store $S >/dev/null")
        return sandbox
    }

    /// One operation for each line of the script, with its exit code.
    @Test func `each operation has one line, however it ends`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            export BACKUPFS_STORE=$S; cd $R
            backupfs backup --label one; ! backupfs backup --label one
            ! BACKUPFS_FAULT=backup.begun=fail backupfs backup
            backupfs export one --zip -o one.zip; backupfs export --csv csv; backupfs export one --tar -o - > one.tar
            backupfs restore one.zip --yes; head -c 100 one.zip > half.zip; ! backupfs restore half.zip --yes
            ! BACKUPFS_FAULT=restore.committed backupfs restore one.zip --yes
            backupfs restore one --target target; ! backupfs restore one --target csv
            backupfs check; backupfs check --repair --yes; backupfs verify one
            mkfifo $S/app/photos/pipe; ! backupfs backup --label two; rm $S/app/photos/pipe
            backupfs forget two --yes; backupfs delete one --yes; backupfs prune; backupfs prune --dry-run
            """)
        let told = try sandbox.sh(
            "jq -r '[.op, .result // \"-\", .error // \"-\", .fileKind // \"-\", .level, .snapshot // .outcome // .format // \"-\"] | join(\" \")' $S/backupfs.log"
        )
        #expect(
            told == """
                backup ok - - info one
                backup refused alreadyExists - warning -
                backup failed inputOutput - error -
                export ok - - info one
                export ok - - info csv
                export ok - - info one
                restore ok - - info zip
                restore refused damagedContent imported warning -
                recovery ok - - info completed
                extract ok - - info one
                extract refused notEmpty other warning one
                check ok - - info -
                repair ok - - info -
                verify ok - - info one
                backup - - - warning two
                backup ok sourceUnreadable media warning two
                retention - - - info two
                forget ok - - info two
                retention - - - info one
                delete ok - - info one
                prune ok - - info -
                """)
        let others =
            #"select((.phase != "ended" and .phase != "warning" and .op != "retention") or .app != "photo-diary" or .pid < 2)"#
        #expect(try sandbox.sh("jq -r '\(others)' $S/backupfs.log") == "")
        #expect(try sandbox.sh("stat -c %a $S/backupfs.log $S/history.jsonl | paste -sd' '") == "600 600")
    }

    @Test func `LOG-01: time, result and sizes stand in it as they are`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --label one --json --store $S | tail -1 > $R/summary; backupfs export one --zip -o $R/one.zip --store $S
            backupfs restore $R/one.zip --yes --store $S
            """, ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
        #expect(
            try sandbox.sh(
                "grep '\"op\":\"backup\"' $S/backupfs.log | jq -e -c 'select(.op==\"backup\")|.ts,.result,.startedAt,.records' | paste -sd' '"
            )
                == #""2026-01-11T14:30:00Z" "ok" "2026-01-11T14:30:00Z" 3"#)
        #expect(
            try sandbox.sh("jq -c 'select(.op==\"backup\")|[.fileSize,.files,.storedBytes]' $S/backupfs.log")
                == sandbox.sh("jq -c '[.bytes,.files,.bytes_stored]' $R/summary"))
        #expect(
            try sandbox.sh("jq -c 'select(.op!=\"backup\")|.fileSize' $S/backupfs.log | paste -sd' '")
                == sandbox.sh("echo $(stat -c %s $R/one.zip) $(stat -c %s $R/one.zip)"))
        #expect(try sandbox.sh("jq -c 'select(.durationMs < 0 or .durationMs > 60000)' $S/backupfs.log") == "")
    }

    @Test func `the schedule tells of itself, at the level it is asked for`() throws {
        let sandbox = try sandbox()
        func due(_ now: String, _ environment: [String: String] = [:]) throws {
            _ = try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now].merging(environment) { $1 })
        }
        try sandbox.sh("backupfs config set log-level trace --store $S")
        try due("2026-01-10T10:00:00Z")
        try due("2026-01-11T00:00:00Z", ["BACKUPFS_FAULT": "backup.begun=fail"])
        try sandbox.sh("backupfs config set log-level info --store $S")
        try due("2026-01-11T00:01:00Z")
        try due("2026-01-12T00:00:00Z")
        #expect(
            try sandbox.sh("jq -c '[.level,.op,.phase,.automatic,.result,.dueAt,.error,.snapshot]' $S/backupfs.log") == """
                ["trace","schedule","not-due",null,null,"2026-01-11T00:00:00Z",null,null]
                ["debug","schedule","due",null,null,"2026-01-11T00:00:00Z",null,null]
                ["debug","backup","begun",true,null,null,null,null]
                ["error","backup","ended",true,"failed",null,"inputOutput",null]
                ["warning","schedule","retry",null,null,"2026-01-11T00:05:00Z","inputOutput",null]
                ["info","backup","ended",true,"ok",null,null,"2026-01-11_00-01-00"]
                ["info","backup","ended",true,"skipped",null,null,"2026-01-11_00-01-00"]
                """)
    }

    @Test func `levels: settings, environment and the command line, the later the stronger`() throws {
        let sandbox = try sandbox()
        func lines(_ command: String, _ environment: [String: String] = [:]) throws -> String {
            try sandbox.sh(
                "rm -f $S/backupfs.log; \(command) >/dev/null; { cat $S/backupfs.log 2>/dev/null || true; } | jq -r .phase | paste -sd' '",
                environment)
        }
        let export = "backupfs export --json -o $R/x.json --store $S"
        #expect(try lines(export) == "ended")
        #expect(try lines("\(export) --log-level debug") == "begun ended")
        #expect(try lines("\(export) --log-level warning") == "")
        #expect(try lines(export, ["BACKUPFS_LOG_LEVEL": "debug"]) == "begun ended")
        #expect(try lines("\(export) --log-level error", ["BACKUPFS_LOG_LEVEL": "debug"]) == "")
        #expect(try lines("backupfs config set log-level critical --store $S; \(export)") == "")
        #expect(try lines(export, ["BACKUPFS_LOG_LEVEL": "info"]) == "ended")
        #expect(try lines(export, ["BACKUPFS_LOG_LEVEL": "loud"]) == "", "what cannot be read counts for nothing")
        #expect(try sandbox.run("\(export) --log-level loud").exitCode == 2)
        let check = try sandbox.run("backupfs config check --store $S", ["BACKUPFS_LOG_LEVEL": "inof"])
        #expect(
            check.exitCode == 1 && check.errors.contains("$BACKUPFS_LOG_LEVEL: it cannot be “inof”. Did you mean info?"),
            "\(check)")
        #expect(
            try sandbox.sh("backupfs config get log-level --store $S", ["BACKUPFS_LOG_LEVEL": "debug"]) == "debug")
    }

    @Test func `where it goes: a file, standard error, nowhere`() throws {
        let sandbox = try sandbox()
        let export = "backupfs export --json -o $R/x.json --store $S"
        try sandbox.sh("\(export) --log-file $R/other.log; \(export) --log-file - 2> $R/stderr.log")
        try sandbox.sh(
            "cd $R; BACKUPFS_LOG_FILE=third.log \(export); BACKUPFS_LOG=none \(export); BACKUPFS_LOG=stderr \(export) 2> fourth.log"
        )
        try sandbox.sh(
            "backupfs config set log-file logs.txt --store $S; \(export); backupfs config set log none --store $S; \(export)")
        #expect(
            try sandbox.sh("cd $R; jq -r .op other.log stderr.log third.log fourth.log $S/logs.txt | paste -sd' '")
                == "export export export export export")
        #expect(try sandbox.sh("ls $S | grep -c backupfs.log || true") == "0")
    }

    @Test func `a log that cannot be written makes nothing fail`() throws {
        let sandbox = try sandbox()
        let export = "backupfs export --json -o $R/x.json --store $S"
        for place in ["$R/none/x.log", "$R", "/dev/full", "/proc/x"] {
            let result = try sandbox.run("\(export) --log-file \(place)")
            #expect(result.exitCode == 0 && result.errors == "", "\(place): \(result)")
        }
        try sandbox.sh("rm -f $S/history.jsonl; mkdir $S/backupfs.log $S/history.jsonl; backupfs backup --label one --store $S")
        #expect(
            try sandbox.sh(
                "backupfs snapshots --json --store $S | jq -r '.[].name'; backupfs status --json --store $S | jq -c .history")
                == "one\n[]")
    }

    @Test func `two processes that log at once rotate files without losing or tearing a line`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            """
            backupfs config set log-size-bytes 4096 --store $S; backupfs config set log-files 20 --store $S
            work() { for i in $(seq 40); do backupfs export --json -o $R/$1.json --log-level debug --store $S >/dev/null & echo $! >> $R/pids; wait $!; done; }
            work a & work b & wait
            """)
        #expect(
            try sandbox.sh("cat $S/backupfs.log* | wc -l; cat $S/backupfs.log* | jq -r .phase | sort | uniq -c | tr -s ' '")
                == "160\n 80 begun\n 80 ended")
        #expect(try sandbox.sh("cat $S/backupfs.log* | jq -r .pid | sort -u") == sandbox.sh("sort -u $R/pids"))
        #expect(
            try sandbox.sh(
                "find $S -name 'backupfs.log*' -size +4096c | wc -l; ls $S/backupfs.log* | wc -l | sed 's/^[5-9]$/several/'")
                == "0\nseveral")
        #expect(try sandbox.sh("backupfs history --json --last 1000 --store $S | jq length") == "80")
    }

    @Test func `what cannot be set is refused`() throws {
        let sandbox = try sandbox()
        for (setting, remedy) in [
            ("log syslog", "Write one of file, journal, stderr, none."), ("log-level inof", "Did you mean info?"),
            ("log-size-bytes 100", "Give a whole number of bytes from 4096 to 1099511627776."),
            ("log-files 101", "Give a whole number of files from 0 to 100."),
        ] {
            let result = try sandbox.run("backupfs config set \(setting) --store $S")
            #expect(result.exitCode == 1 && result.errors.contains(remedy), "\(setting): \(result.errors)")
        }
    }
}

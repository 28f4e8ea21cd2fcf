import Glibc
import TestSupport
import Testing

/// The log lines of a mount and of operations through it.
struct LogTests {
    @Test func `a mount, its end, and what is done through it have a line each`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $S --sample; backupfs mount --store $S $M
                mkdir $M/snapshots/one; cp $M/snapshots/one/export.json $M/restore/; ! cp /bin/true $M/restore/canary.json
                mv $M/snapshots/one $M/snapshots/two; rmdir $M/snapshots/two; ! backupfs mount -f --store $S $M; backupfs umount --store $S
                """)
            #expect(
                try sandbox.sh("jq -r '[.op,.result,.error,.snapshot,.removed] | map(. // \"-\") | join(\" \")' $S/backupfs.log")
                    == """
                    mount ok - - -
                    backup ok - one -
                    restore ok - - -
                    restore refused invalidContent - -
                    rename ok - two -
                    delete ok - two 1
                    mount refused locked - -
                    unmount ok - - -
                    """)
            #expect(try sandbox.sh("jq -r 'select(.op == \"mount\") | .pid' $S/backupfs.log | head -1") != "0")
            #expect(try sandbox.sh("grep -c canary $S/backupfs.log || true") == "0")
            #expect(
                try sandbox.sh("backupfs history --store $S --json | jq -r '[.[].operation] | join(\" \")'")
                    == "backup restore restore rename delete")
        }
    }

    @Test func `SIGHUP has a mount log at another level, to another file, and leaks no descriptor`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample; backupfs mount --store $S $M")
            let daemon = try #require(sandbox.daemons.first)
            func backUp(_ name: String) throws { try sandbox.sh("mkdir $M/snapshots/\(name)") }
            /// Reloading the settings takes a moment, and there is no notification when it is done.
            func reload(_ setting: String, until condition: String) throws {
                try sandbox.sh("backupfs config set \(setting) --store $S")
                kill(daemon, SIGHUP)
                try sandbox.sh(
                    "wait_until 'mkdir $M/snapshots/try; rmdir $M/snapshots/try; \(condition)'")
            }
            try backUp("one")
            #expect(try sandbox.sh("jq -r .phase $S/backupfs.log | sort -u") == "ended")
            try reload("log-level debug", until: "grep -q begun $S/backupfs.log")
            try reload(
                "log-level error",
                until:
                    "n=$(wc -l < $S/backupfs.log); mkdir $M/snapshots/x; rmdir $M/snapshots/x; [ $(wc -l < $S/backupfs.log) = $n ]"
            )
            try reload("log-file other.log", until: "true")
            try reload("log-level info", until: "[ -s $S/other.log ]")
            for number in 1...5 { try backUp("more-\(number)") }
            #expect(
                try sandbox.sh("ls -l /proc/\(daemon)/fd | grep -c -e backupfs.log -e other.log -e history.jsonl || true") == "0")
            #expect(
                try sandbox.sh(
                    "jq -r 'select(.snapshot | startswith(\"more\")?) | .result' $S/other.log | sort | uniq -c | tr -s ' '")
                    == " 5 ok")
            try sandbox.unmount()
        }
    }

    /// As systemd starts it: standard error is the journal; a program of the test stands in for its socket.
    @Test func `a service logs to the journal, the backups of its schedule too`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write(
                """
                import socket, sys
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                listener.bind(sys.argv[1])
                listener.settimeout(60)
                while True:
                    entry = dict(line.split("=", 1) for line in listener.recv(1 << 20).decode().split("\\n") if line)
                    print(entry["BACKUPFS_OPERATION"], entry["BACKUPFS_RESULT"], entry.get("BACKUPFS_AUTOMATIC"), flush=True)
                    if entry["BACKUPFS_OPERATION"] == "unmount": break
                """, to: "journal.py")
            // Its schedule began some days ago: a backup is due when it is mounted.
            try sandbox.sh("backupfs init --store $S --sample; touch $R/stream")
            let begun = ["BACKUPFS_NOW": "2026-01-10T10:00:00Z", "BACKUPFS_SCHEDULE": "daily"]
            try sandbox.sh("backupfs backup --if-due --store $S", begun)
            let journal = try sandbox.start("exec python3 $R/journal.py $R/socket > $R/entries")
            let service = try sandbox.start(
                """
                wait_until [ -S $R/socket ]
                export JOURNAL_STREAM=$(stat -c %d:%i $R/stream) BACKUPFS_JOURNAL_SOCKET=$R/socket BACKUPFS_SCHEDULE=daily
                exec backupfs mount -f --store $S $M 2>> $R/stream
                """)
            try sandbox.sh(
                "wait_until grep -q '^backup' $R/entries; backupfs umount --store $S")
            #expect(try service.wait().exitCode == 0)
            #expect(try journal.wait().exitCode == 0)
            let entries = try sandbox.sh("cat $R/entries").split(separator: "\n")
            #expect(entries.first == "mount ok None")
            #expect(entries.dropFirst().first == "backup ok true")
            #expect(entries.last == "unmount ok None")
            #expect(try sandbox.sh("ls $S | grep -c backupfs.log || true") == "0")
        }
    }

    @Test func `the level trace has a line for each request, and the metrics count them at every level`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "backupfs init --store $S --sample; backupfs mount --log-level trace --store $S $M; mkdir $M/snapshots/one")
            try sandbox.sh("cat $M/snapshots/one/export.json > $R/read.json; ! cat $M/snapshots/canary-none")
            func requests(_ condition: String) throws -> Int {
                let lines = try sandbox.sh("jq -c 'select(.op == \"request\" and \(condition))' $S/backupfs.log | wc -l")
                return try #require(Int(lines))
            }
            #expect(
                try requests(
                    #".phase == "read" and .level == "trace" and .result == "ok" and .inode > 1 and .offset == 0 and .length > 0 and .durationUs >= 0"#
                ) >= 1)
            #expect(try requests(#".phase == "lookup" and .result == "failed" and .errno == "ENOENT""#) >= 1)
            #expect(try sandbox.sh("grep -c -e canary -e export.json $S/backupfs.log || true") == "0", "no names")
            /// The mount writes its counts every five seconds.
            func count(_ metric: String, atLeast limit: Int) throws -> Int {
                let script = """
                    count() { backupfs status --prometheus --store $S | sed -n 's/^backupfs_fuse_\(metric)"} //p'; }
                    wait_until '[ "$(count)" -ge \(limit) ]'; count
                    """
                return try #require(Int(try sandbox.sh(script)))
            }
            let reads = #"requests_total{.*operation="read"#
            let first = try count(reads, atLeast: 1)
            #expect(first >= 1)
            #expect(try count(#"request_failures_total{.*errno="ENOENT"#, atLeast: 1) >= 1)
            // At another level the counters go on, and no line is added.
            try sandbox.unmount()
            #expect(try sandbox.sh("backupfs status --prometheus --store $S | grep -c fuse_request || true") == "0")
            let lines = try requests("true")
            try sandbox.mount()
            try sandbox.sh("cat $M/snapshots/one/export.json > $R/read.json")
            #expect(try count(reads, atLeast: 1) >= 1)
            try sandbox.sh("cat $M/snapshots/one/archive.zip > $R/read.zip")
            #expect(try count(reads, atLeast: 2) >= 2)
            #expect(try requests("true") == lines)
            try sandbox.unmount()
        }
    }
}

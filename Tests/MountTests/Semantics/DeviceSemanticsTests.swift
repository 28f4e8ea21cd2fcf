import SystemIO
import TestSupport
import Testing

/// Two mounted stores of KeepTrack that share a folder, each with an app that writes into its database.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct DeviceSemanticsTests {
    /// Two stores, `$R/a` and `$R/b`, of which those named are mounted at `$R/ma` and `$R/mb`.
    private func use(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                mkdir $R/cloud $R/ma $R/mb
                for device in a b; do
                    backupfs init --app keeptrack --store $R/$device >/dev/null
                    sed -i '$i device-sync: shared\\nremotes:\\n  shared:\\n    url: '$R'/cloud\\n    after-backup: "no"' $R/$device/store.yaml
                    sqlite3 $R/$device/app/database.sqlite "INSERT INTO app_settings VALUES ('cloud_sync_enabled', 'true')"
                    backupfs mount --store $R/$device $R/m$device
                done
                """)
            try body(sandbox)
            try sandbox.sh("for device in a b; do wait_until fusermount3 -u $R/m$device; done")
            #expect(sandbox.waitForProcesses(), "still running: \(sandbox.processes)")
        }
    }

    private func sql(_ sandbox: Sandbox, _ device: String, _ statement: String) throws -> String {
        try sandbox.sh("sqlite3 -cmd '.timeout 10000' $R/\(device)/app/database.sqlite \"\(statement)\"")
    }

    private func add(_ sandbox: Sandbox, _ device: String, _ number: Int, _ name: String) throws {
        _ = try sql(
            sandbox, device,
            """
            INSERT INTO entries VALUES ('00000000-0000-4000-8000-0000000000\(number)', '2026-01-11T08:00:00Z', '\(name)', 1.5, 'cups', 0)
            """)
    }

    @Test func `S85: REM-11, REM-12, what the app adds on one side can be read in the other's mount, and back`() throws {
        try use { sandbox in
            try add(sandbox, "a", 10, "from a")
            try sandbox.sh("wait_until \"jq -e '.entries[0].name == \\\"from a\\\"' $R/mb/live/export.json\"")
            try add(sandbox, "b", 11, "from b")
            try sandbox.sh("wait_until \"grep -q 'from b' $R/ma/live/data/entries.json\"")
            _ = try sql(sandbox, "b", "UPDATE entries SET name = 'changed by b' WHERE name = 'from a'")
            try sandbox.sh("wait_until \"grep -q 'changed by b' $R/ma/live/export.json\"")
            _ = try sql(sandbox, "a", "DELETE FROM entries WHERE name = 'from b'")
            try sandbox.sh("wait_until '! grep -q \\\"from b\\\" $R/mb/live/export.json'")
            #expect(try sql(sandbox, "a", "SELECT name FROM entries") == "changed by b")
            #expect(try sql(sandbox, "b", "SELECT name FROM entries") == "changed by b")
            try sandbox.sh(
                "wait_until \"jq -e '.deviceSync | .queued == 0 and .uploaded == 2 and .lastFetch != null' $R/ma/status.json\"")
            #expect(
                try sandbox.sh("jq -c '.deviceSync | [.remote, .conflicts, .waitingDeletions, .error]' $R/ma/status.json")
                    == #"["shared",0,0,null]"#)
        }
    }

    @Test func `S86: two apps that write at the same time end with the same records`() throws {
        try use { sandbox in
            // Each changes ten records of its own and ten that both have, at the same time as the other.
            let insert = """
                for n in $(seq 10 29); do
                    sqlite3 -cmd '.timeout 20000' $R/$device/app/database.sqlite "INSERT INTO entries VALUES \
                ('00000000-0000-4000-8000-00000000$device$device$n', '2026-01-11T08:00:00Z', '$device', $n, 'cups', 0); \
                INSERT INTO goals (id, name) VALUES ('00000000-0000-4000-8000-0000000000$n', '$device $n') \
                ON CONFLICT DO UPDATE SET name = excluded.name"
                done
                """
            try sandbox.sh("for device in a b; do ( \(insert) ) & done; wait")
            let dump = "SELECT id, name, amount FROM entries ORDER BY id; SELECT id, name FROM goals ORDER BY id"
            try sandbox.sh(
                """
                equal() {
                    [ "$(jq -c '[.deviceSync.queued, .deviceSync.error]' $R/ma/status.json $R/mb/status.json)" = $'[0,null]\\n[0,null]' ] &&
                    [ "$(sqlite3 $R/a/app/database.sqlite "\(dump)")" = "$(sqlite3 $R/b/app/database.sqlite "\(dump)")" ] &&
                    [ "$(sqlite3 $R/a/app/database.sqlite 'SELECT count(*) FROM entries')" = 40 ]
                }
                wait_until equal
                """)
            #expect(try sql(sandbox, "a", "PRAGMA integrity_check; SELECT count(*) FROM goals") == "ok\n20")
        }
    }

    @Test func `S87: REM-14, switched off in the app, the remote does not change, and switched on it goes on`() throws {
        try use { sandbox in
            try add(sandbox, "a", 10, "from a")
            try sandbox.sh("wait_until \"grep -q 'from a' $R/mb/live/export.json\"")
            _ = try sql(sandbox, "a", "UPDATE app_settings SET value = 'false'")
            let list = "cd $R/cloud; find . -type f -printf '%P %s %T@\\n' | sort"
            let before = try sandbox.sh(list)
            try add(sandbox, "a", 11, "private")
            // The other device goes on, and reads the remote again and again meanwhile.
            try sandbox.sh(
                """
                fetched() { jq '.deviceSync.lastFetch | fromdate' $R/mb/status.json; }
                first=$(fetched)
                later() { [ $(fetched) -ge $((first + 5)) ]; }
                wait_until later
                """)
            #expect(try sandbox.sh(list) == before)
            _ = try sql(sandbox, "a", "UPDATE app_settings SET value = 'true'")
            try sandbox.sh("wait_until \"grep -q private $R/mb/live/export.json\"")
        }
    }

    @Test func `an unreachable remote delays nothing, and the changes come when it is back`() throws {
        try use { sandbox in
            try sandbox.sh("mv $R/cloud $R/away")
            try add(sandbox, "a", 10, "offline")
            try sandbox.sh(
                "wait_until \"jq -e '.deviceSync | .error.code == \\\"offline\\\" and .queued == 1' $R/ma/status.json\"")
            #expect(try sandbox.sh("grep -c offline $R/ma/live/export.json") == "1")
            try sandbox.sh("mv $R/away $R/cloud; wait_until \"grep -q offline $R/mb/live/export.json\"")
        }
    }
}

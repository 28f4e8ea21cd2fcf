import TestSupport
import Testing

/// The operations on a store so far.
struct HistoryTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app keeptrack --store $S >/dev/null")
        return sandbox
    }

    @Test func `STA-04: it has what was done, when, how it ended and how much it was`() throws {
        let sandbox = try sandbox()
        #expect(
            try sandbox.sh(
                "backupfs history --store $S; backupfs history --automatic --store $S; backupfs history --json --store $S")
                == "Nothing has been done yet.\nThe schedule has not started a backup yet.\n[]")
        try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        try sandbox.sh(
            "backupfs backup --label mine --json --store $S | tail -1 > $R/summary", ["BACKUPFS_NOW": "2026-01-10T11:00:00Z"])
        try sandbox.sh("! backupfs backup --label mine --store $S", ["BACKUPFS_NOW": "2026-01-10T12:00:00Z"])
        try sandbox.sh(
            "backupfs config set skip-unchanged no --store $S; backupfs backup --if-due --store $S",
            ["BACKUPFS_NOW": "2026-01-11T12:00:00Z"])
        #expect(
            try sandbox.sh(
                "backupfs history --json --store $S | jq -c '.[] | [.operation,.automatic,.started_at,.result,.error,.snapshot]'")
                    == """
                    ["backup",false,"2026-01-10T11:00:00Z","ok",null,"mine"]
                    ["backup",false,"2026-01-10T12:00:00Z","refused","alreadyExists",null]
                    ["backup",true,"2026-01-11T12:00:00Z","ok",null,"2026-01-11_12-00-00"]
                    """)
        #expect(
            try sandbox.sh("backupfs history --json --store $S | jq -c '.[0] | [.size_bytes,.files,.stored_bytes]'")
                == sandbox.sh("jq -c '[.bytes,.files,.bytes_stored]' $R/summary"))
        #expect(
            try sandbox.sh(
                "backupfs history --json --store $S | jq -c '.[] | select(.duration_milliseconds < 0 or .duration_milliseconds > 60000)'"
            ) == "")
        #expect(try sandbox.sh("backupfs history --automatic --json --store $S | jq -r '.[].snapshot'") == "2026-01-11_12-00-00")
        #expect(try sandbox.sh("backupfs history --last 2 --json --store $S | jq -r '.[].result' | paste -sd' '") == "refused ok")
        #expect(
            try sandbox.sh(
                "backupfs status --json --store $S | jq -c '.history | map([.operation, .startedAt, .result, .storedBytes])'")
                == sandbox.sh(
                    "backupfs history --json --store $S | jq -c 'map([.operation, .started_at, .result, .stored_bytes])'"))
        #expect(try sandbox.sh("backupfs history --json --store $S | jq -r 'map(.version) | unique[]'") == "1")
        let lines = try sandbox.sh(
            "backupfs history --store $S | sed -E 's/[0-9]+\\.[0-9]+ s/TIME/; s/[0-9.]+ KiB/SIZE/g; s/ +/ /g'"
        ).split(separator: "\n")
        #expect(lines.first == "Started Operation Result Duration Size New Backup")
        #expect(lines.dropFirst().first == "2026-01-10 11:00:00 backup ok TIME SIZE SIZE mine")
        #expect(lines.dropFirst(2).first?.hasPrefix("2026-01-10 12:00:00 backup refused (alreadyExists) TIME") == true)
        for number in ["0", "1001", "x"] {
            #expect(try sandbox.run("backupfs history --last \(number) --store $S").exitCode == 2)
        }
        #expect(try sandbox.run("backupfs history --store $R/none").exitCode == 10)
    }

    @Test func `what is cancelled has not failed`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            """
            touch $R/wait; BACKUPFS_FAULT=backup.begun=pause:$R/wait backupfs backup --store $S & backup=$!
            wait_until 'backupfs status --json --store $S | jq -e .operation'
            ! backupfs prune --store $S; backupfs cancel --store $S; rm $R/wait; ! wait $backup
            """)
        #expect(
            try sandbox.sh(
                "backupfs history --json --store $S | jq -c '.[] | [.operation,.result,.error]'; jq -r .level $S/backupfs.log | paste -sd' '"
            ) == """
                ["prune","refused","busy"]
                ["backup","cancelled","interrupted"]
                warning notice
                """)
    }

    @Test func `what a crash left is passed over`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S
            { head -c 100 $S/history.jsonl; echo; head -c 512 /dev/zero; echo; echo '{"operation":"backup"}'; echo '[1]'; echo nonsense
              sed 's/"backup"/"dance"/' $S/history.jsonl; printf '{"operation":"bac'; } >> $S/history.jsonl
            backupfs backup --label two --store $S
            """)
        #expect(try sandbox.sh("backupfs history --json --store $S | jq -r '.[].snapshot' | paste -sd' '") == "one two")
    }

    @Test func `it does not grow for ever, and keeps the last thousand`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S
            python3 - $S/history.jsonl <<'END'
            import sys
            line = open(sys.argv[1]).read()
            with open(sys.argv[1], "w") as file:
                for number in range(5000): file.write(line.replace('"one"', '"old-%04d"' % number))
            END
            backupfs backup --label two --store $S
            """)
        #expect(
            try sandbox.sh("wc -l < $S/history.jsonl; stat -c %a $S/history.jsonl; ls -A $S | grep -c tmp || true")
                == "1001\n600\n0"
        )
        #expect(
            try sandbox.sh(
                "backupfs history --json --last 1000 --store $S | jq -r 'length, .[0].snapshot, .[-2].snapshot, .[-1].snapshot' | paste -sd' '"
            )
                == "1000 old-4001 old-4999 two")
        // With names of maximum length, it is not rewritten each time.
        try sandbox.sh(
            "sed -i 's/old-/\(String(repeating: "x", count: 1_500))/' $S/history.jsonl; backupfs backup --label three --store $S")
        #expect(try sandbox.sh("stat -c %s $S/history.jsonl | sed -E 's/^[45][0-9]{5}$/half/'") == "half")
    }
}

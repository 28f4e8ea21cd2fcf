import TestSupport
import Testing

/// The journal, replaced by a socket of the test.
struct LogJournalTests {
    /// Prints each received entry as a line of JSON, as the native protocol defines it.
    private static let journal = """
        import json, os, socket, struct, sys
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(sys.argv[1])
        listener.settimeout(30)
        for _ in range(int(sys.argv[2])):
            data, entry = listener.recv(1 << 20), {}
            while data:
                name, data = data.split(b"\\n", 1)
                if b"=" in name:
                    name, value = name.split(b"=", 1)
                else:
                    size = struct.unpack("<Q", data[:8])[0]
                    value, data = data[8:8 + size], data[8 + size + 1:]
                entry[name.decode()] = value.decode()
            print(json.dumps(entry), flush=True)
        """

    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(Self.journal, to: "journal.py")
        try sandbox.sh("backupfs init --app keeptrack --store $S >/dev/null")
        return sandbox
    }

    /// Runs a script with a journal that receives this many entries.
    private func listening(_ sandbox: Sandbox, _ count: Int, _ script: String) throws {
        try sandbox.sh(
            """
            python3 $R/journal.py $R/socket \(count) > $R/entries & journal=$!
            wait_until [ -S $R/socket ]
            export BACKUPFS_JOURNAL_SOCKET=$R/socket
            \(script)
            wait $journal
            """)
    }

    @Test func `an entry has a field for each member`() throws {
        let sandbox = try sandbox()
        try listening(
            sandbox, 2,
            """
            backupfs config set log journal --store $S; backupfs backup --label one --store $S
            ! backupfs backup --label one --store $S
            """)
        #expect(
            try sandbox.sh(
                "jq -c '[.PRIORITY,.SYSLOG_IDENTIFIER,.BACKUPFS_OPERATION,.BACKUPFS_PHASE,.BACKUPFS_RESULT,.BACKUPFS_APP,.BACKUPFS_SNAPSHOT,.BACKUPFS_ERROR]' $R/entries"
            ) == """
                ["6","backupfs","backup","ended","ok","keeptrack","one",null]
                ["4","backupfs","backup","ended","refused","keeptrack",null,"alreadyExists"]
                """)
        #expect(
            try sandbox.sh(
                "head -1 $R/entries | jq -r '.BACKUPFS_FILE_SIZE, .BACKUPFS_STORED_BYTES, .BACKUPFS_DURATION_MS, .BACKUPFS_FILES'"
            )
            .split(separator: "\n").allSatisfy { (Int($0) ?? 0) > 0 })
        #expect(try sandbox.sh("head -1 $R/entries | jq -r .MESSAGE").wholeMatch(of: /backup ok in \d+\.\d{3} s/) != nil)
        #expect(
            try sandbox.sh("tail -1 $R/entries | jq -r .MESSAGE").wholeMatch(
                of: /backup refused \(alreadyExists\) in \d+\.\d{3} s/)
                != nil)
        #expect(try sandbox.sh("ls $S | grep -c log || true") == "0", "not in the file as well")
    }

    @Test func `a service of systemd logs to the journal, and what it starts does not`() throws {
        let sandbox = try sandbox()
        let export = "backupfs export --json -o $R/x.json --store $S >/dev/null"
        try listening(
            sandbox, 1,
            """
            touch $R/stream; export JOURNAL_STREAM=$(stat -c %d:%i $R/stream)
            \(export) 2>> $R/stream
            \(export) 2>> $R/elsewhere; \(export) --log-file $R/named.log 2>> $R/stream
            """)
        #expect(
            try sandbox.sh("jq -r .BACKUPFS_OPERATION $R/entries; jq -r .op $S/backupfs.log $R/named.log")
                == "export\nexport\nexport")
    }

    @Test func `without a journal the file has it`() throws {
        let sandbox = try sandbox()
        let export = "backupfs export --json -o $R/x.json --store $S >/dev/null"
        try sandbox.sh(
            "backupfs config set log journal --store $S; BACKUPFS_JOURNAL_SOCKET=$R/none \(export); BACKUPFS_JOURNAL_SOCKET=relative \(export)"
        )
        #expect(try sandbox.sh("jq -r .op $S/backupfs.log") == "export\nexport")
    }
}

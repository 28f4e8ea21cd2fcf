import TestSupport
import Testing

@testable import Operations

/// An app that keeps its database locked is distinguished from another operation: exit code 13, which no service treats as a
/// success.
struct DatabaseInUseTests {
    /// Holds `$S/app/database.sqlite` while `$R/hold` exists; `$holder` is its process.
    static let hold = """
        trap 'rm -f $R/hold; wait' EXIT; touch $R/hold
        python3 - $S/app/database.sqlite $R/hold $R/held <<'END' & holder=$!
        import os, sqlite3, sys, time
        connection = sqlite3.connect(sys.argv[1], isolation_level=None)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE"); connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        open(sys.argv[3], "w").close()
        any(not os.path.exists(sys.argv[2]) or time.sleep(0.02) for _ in range(6_000))
        END
        wait_until [ -e $R/held ]

        """
    static let letGo = "rm $R/hold; wait $holder; rm $R/held"

    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S")
        return sandbox
    }

    @Test func `U-B4: an app that holds its database has an exit code of its own`() throws {
        let sandbox = try sandbox()
        let codes = try sandbox.sh(
            Self.hold + """
                for command in "backup --label two" "export --json -o $R/x.json" "restore one --yes" "backup --if-due"; do
                  BACKUPFS_NOW=2027-01-11T00:00:00Z backupfs $command --store $S 2>> $R/told && exit 1; echo $?
                done
                BACKUPFS_NOW=2027-01-11T01:00:00Z backupfs backup --json --store $S 2> $R/error.json && exit 1; echo $?
                \(Self.letGo)
                """)
        #expect(codes == "13\n13\n13\n13\n13")
        #expect(try sandbox.sh("grep -c 'the app holds its database locked' $R/told") == "4")
        #expect(
            try sandbox.sh("jq -c 'select(.message_type == \"exit_error\") | [.code, .error, .message]' $R/error.json")
                == #"[13,"databaseInUse","the app holds its database locked"]"#)
        // It is available again, and the attempts had no effect.
        #expect(
            try sandbox.sh("backupfs backup --label three --store $S; backupfs snapshots --json --store $S | jq length")
                == "three\n2")
    }

    @Test func `U-B4: another operation stays exit code 11`() throws {
        let sandbox = try sandbox()
        let text = try sandbox.sh(
            """
            trap 'rm -f $R/pause' EXIT; touch $R/pause; BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --label two --store $S >/dev/null & backup=$!
            wait_until 'backupfs status --json --store $S | jq -e .operation'
            backupfs backup --label three --json --store $S 2> $R/told && exit 1; echo $?; jq -r .error $R/told
            BACKUPFS_NOW=2027-01-11T00:00:00Z backupfs backup --if-due --store $S 2>/dev/null && exit 1; echo $?
            rm $R/pause; wait $backup
            """)
        #expect(text == "11\nbusy\n11")
    }

    @Test func `a lock of the app is not waited for, and a failed restore may be tried again`() throws {
        let sandbox = try sandbox()
        let text = try sandbox.sh(
            Self.hold + """
                backupfs restore one --yes --wait=5min -v --store $S 2> $R/told && exit 1; echo $?; \(Self.letGo)
                grep -c Waiting $R/told || true; tail -1 $R/told
                """)
        #expect(text == "13\n0\nRun the same command to try again.")
    }

    @Test(arguments: ["system/backupfs-backup@.service", "user/backupfs-backup.service"])
    func `U-B4: the units take another operation for a success, and no app that holds its database`(unit: String) throws {
        let sandbox = try Sandbox()
        let folder = Machine.projectPath + "/mount-scripts/systemd/"
        #expect(try sandbox.sh("grep ^SuccessExitStatus '\(folder)\(unit)'") == "SuccessExitStatus=11")
    }
}

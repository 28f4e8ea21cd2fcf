import TestSupport
import Testing

@testable import Operations

/// `--wait`: commands that wait for a lock held by another operation.
struct LockWaitTests {
    /// A store in which a backup has begun and runs while `$R/pause` exists; `$backup` is its process.
    private static let busy = """
        backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S; touch $R/pause
        BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --label two --store $S & backup=$!
        wait_until 'backupfs status --json --store $S | jq -e .operation'

        """

    @Test func `U-C11: without --wait a lock is an error at once, with it the command goes on when it is free`() throws {
        let sandbox = try Sandbox()
        let text = try sandbox.sh(
            Self.busy + """
                for wait in "" --wait=0s "--wait 1s"; do backupfs restore one $wait --yes --store $S 2>> $R/told && exit 1; echo $?; done
                (wait_until grep -q Waiting $R/waiting; rm $R/pause) &
                backupfs restore one --wait -v --yes --store $S 2> $R/waiting | head -1; wait $backup; grep -c Waiting $R/waiting
                """)
        #expect(
            text.split(separator: "\n").map(String.init).filter { !["one", "two"].contains($0) } == [
                "11", "11", "11", "one: Imported 3 cars, 1200 expenses, 8 maintenance records, 4 notifications.", "1",
            ], "\(text)")
        #expect(try sandbox.sh("grep -c 'another operation is running: backup' $R/told") == "3")
        #expect(try sandbox.sh("grep Waiting $R/waiting").hasPrefix("Waiting: another operation is running: backup, by process "))
    }

    @Test(arguments: [
        "backup --label three", "delete one --yes", "forget --keep-last 5 --yes", "prune", "check --repair --yes", "undo --yes",
    ])
    func `every command that takes the store's lock or the repository's waits`(command: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S; backupfs restore one --yes --store $S >/dev/null"
        )
        let text = try sandbox.sh(
            """
            touch $R/pause; BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --label two --store $S >/dev/null & backup=$!
            wait_until 'backupfs status --json --store $S | jq -e .operation'
            backupfs \(command) --store $S >/dev/null 2>&1 && exit 1; echo $?
            (wait_until grep -q Waiting $R/waiting; rm $R/pause) &
            backupfs \(command) --wait=1min --verbose --store $S > $R/done 2> $R/waiting || cat $R/waiting; echo $?; wait $backup
            """)
        #expect(text == "11\n0")
    }

    /// As a timer may call it: whether a backup is due is decided again when the other operation has ended.
    @Test func `U-C11: the backup of a schedule waits as well, and is not made twice`() throws {
        let sandbox = try Sandbox()
        let text = try sandbox.sh(
            Self.busy + """
                backupfs config set schedule daily --store $S; backupfs config set skip-unchanged no --store $S
                export BACKUPFS_NOW=2027-01-11T00:00:00Z; backupfs backup --if-due --store $S > $R/begun 2>&1 || true
                export BACKUPFS_NOW=2027-01-12T00:00:00Z
                for wait in "" --wait=0s; do backupfs backup --if-due $wait --store $S 2>> $R/told && exit 1; echo $?; done
                (wait_until grep -q Waiting $R/waiting; rm $R/pause) &
                backupfs backup --if-due --wait=1min -v --store $S 2> $R/waiting; echo $?; wait $backup
                backupfs backup --if-due --wait --store $S
                """)
        let lines = text.split(separator: "\n").map(String.init).filter { !["one", "two"].contains($0) }
        #expect(lines == ["11", "11", "2027-01-12_00-00-00", "0", "Not due until 2027-01-13 00:00:00."], "\(text)")
        #expect(try sandbox.sh("backupfs snapshots --tag automatic --json --store $S | jq length") == "1")
    }

    @Test func `of timers that wait for the same lock one makes the backup`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            Self.busy + """
                backupfs config set schedule daily --store $S; backupfs config set skip-unchanged no --store $S
                printf 'schedule: daily\nhandled-at: 2027-01-10T00:00:00Z\n' > $S/schedule.state
                export BACKUPFS_NOW=2027-01-12T00:00:00Z
                for i in 1 2 3; do backupfs backup --if-due --wait=1min -v --store $S > $R/out$i 2> $R/waiting$i & eval "job$i=$!"; done
                for i in 1 2 3; do wait_until grep -q Waiting $R/waiting$i; done
                rm $R/pause; wait $job1; wait $job2; wait $job3; wait $backup
                """)
        #expect(try sandbox.sh("cat $R/out? | grep -c '^2027-01-12_00-00-00$'") == "1")
        #expect(try sandbox.sh("cat $R/out? | grep -c '^Not due until'") == "2")
    }

    @Test func `Ctrl-C ends the wait, and what is no length of time is refused`() throws {
        let sandbox = try Sandbox()
        let text = try sandbox.sh(
            Self.busy + """
                backupfs restore one --wait -v --yes --store $S 2> $R/waiting & waiting=$!
                wait_until grep -q Waiting $R/waiting; kill -TERM $waiting
                wait $waiting && exit 1; echo $?; tail -1 $R/waiting; rm $R/pause; wait $backup
                """)
        #expect(text.contains("130\n") && text.contains("cancelled; nothing was changed"), "\(text)")
        for time in ["soon", "5", "1mo"] {
            let result = try sandbox.run("backupfs backup --wait=\(time) --store $S")
            #expect(result.exitCode == 2, "\(result)")
        }
    }
}

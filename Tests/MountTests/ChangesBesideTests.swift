import Glibc
import TestSupport
import Testing

/// Changes of the repository by other processes while the kernel has cached its state.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ChangesBesideTests {
    /// The kernel has cached all names of the backup when a command deletes it and makes another one with the same name.
    @Test func `STA-10: a backup that a command deleted is gone when the command returns, and its name may mean another`() throws
    {
        try Sandbox.withMount("--sample") { sandbox in
            for number in 1...8 {
                try sandbox.sh(
                    """
                    sqlite3 $S/app/database.sqlite "update cars set name = 'car \(number)'"
                    backupfs backup --label one --store $S >/dev/null
                    [ "$(jq -r '.cars[0].name' $M/snapshots/one/export.json)" = 'car \(number)' ]
                    find $M/snapshots/one -type f | wc -l >/dev/null; stat $M/snapshots/one/data/cars.json >/dev/null
                    backupfs backup --label two --store $S >/dev/null
                    backupfs forget one --yes --store $S >/dev/null
                    [ ! -e $M/snapshots/one ]; [ ! -e $M/snapshots/one/data/cars.json ]
                    [ "$(ls $M/snapshots | tr '\\n' ' ')" = 'latest two ' ]
                    backupfs backup --label one --store $S >/dev/null; backupfs forget two --yes --store $S >/dev/null
                    [ -s $M/snapshots/one/data/cars.json ]; [ ! -e $M/snapshots/two ]
                    backupfs backup --label rest --store $S >/dev/null; backupfs forget one --yes --store $S >/dev/null
                    backupfs backup --label three --store $S >/dev/null
                    backupfs forget rest --yes --store $S >/dev/null; rmdir $M/snapshots/three
                    """)
            }
        }
    }

    @Test func `a record that another process takes away is noticed within a second`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one $M/snapshots/two; stat $M/snapshots/one/export.json >/dev/null")
            try sandbox.sh(
                """
                mv $S/repository/snapshots/*.snapshot $R/home/
                begin=$SECONDS; wait_until '! [ -e $M/snapshots/one ]'; [ $((SECONDS - begin)) -lt 10 ]
                [ -z "$(ls $M/snapshots)" ]
                mv $R/home/*.snapshot $S/repository/snapshots/
                [ -s $M/snapshots/one/export.json ]; [ "$(ls $M/snapshots | wc -l)" = 3 ]
                """)
        }
    }

    @Test func `a mount ends at once while a user deletes what it shows`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample")
            try sandbox.mount()
            try sandbox.sh(
                "for i in 1 2 3 4 5 6; do backupfs backup --label b$i --store $S >/dev/null; done; find $M/snapshots >/dev/null")
            // Read before a command runs: a process with a lower number would be mistaken for the mount.
            let daemon = try #require(sandbox.daemons.first)
            let remover = try sandbox.start(
                "for i in 1 2 3 4 5; do backupfs forget b$i --yes --store $S >/dev/null || exit 1; done")
            let lister = try sandbox.start("for i in $(seq 40); do ls -lR $M/snapshots >/dev/null 2>&1; done; true")
            try sandbox.sh("wait_until '! [ -e $M/snapshots/b1 ]'")
            #expect(kill(daemon, SIGTERM) == 0)
            #expect(try remover.wait(limitSeconds: 60).exitCode == 0)
            _ = try lister.wait(limitSeconds: 60)
            #expect(sandbox.waitForProcesses())
            #expect(sandbox.mounts == [])
            #expect(try sandbox.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "b6")
        }
    }
}

import TestSupport
import Testing

/// Rows of the requirements that are tested with a mount, each named by its number. Rows covered by a test of another suite are
/// named there.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct MountRowTests {
    @Test func `FEV-02: a backup's attributes are what its export says of itself`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let export = "$M/snapshots/one/export.json"
            for (attribute, member) in [
                ("created-at", "createdAt"), ("app-version", "appVersion"), ("device", "deviceName"),
                ("schema-version", "databaseSchemaVersion"),
            ] {
                let told = try sandbox.sh("getfattr --only-values -n user.backupfs.\(attribute) $M/snapshots/one")
                #expect(try told == sandbox.sh("jq -r .metadata.\(member) \(export)") && !told.isEmpty, "\(attribute)")
            }
        }
    }

    @Test func `VAL-18, RST-15: the preview of a dropped file is that of the command, and it restores the same`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/export.json $R/a.json; cp $R/a.json $M/restore/preview/")
            let before = try sandbox.state()
            let command = try sandbox.sh("backupfs restore $R/a.json --dry-run --store $S | sed 1,2d")
            let lines = Set(try sandbox.sh("sed 1,2d $M/restore/preview/a.json.preview.txt").split(separator: "\n"))
            for line in command.split(separator: "\n") { #expect(lines.contains(line), "\(line)") }
            for source in ["$R/a.json", "$M/snapshots/one/export.json"] {
                try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses'; cp \(source) $M/restore/")
                #expect(try sandbox.state() == before, "\(source)")
            }
        }
    }

    @Test func `PER-02: a thousand entries are listed and read in 50 ms`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $S --app keeptrack >/dev/null
                sqlite3 $S/app/database.sqlite "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
                insert into entries select printf('%08x-0000-4000-8000-000000000000', i), '2026-01-02T00:00:00Z', 'Water', 1, 'cups', 1 from n"
                """)
            try sandbox.mount()
            try sandbox.python(
                """
                def look():
                    os.listdir(M + "/live/data")
                    count = len(json.load(open(M + "/live/data/entries.json")))
                    assert count == 1000, count
                assert answers_in(0.05, look), "it takes longer each time"
                """)
            try sandbox.unmount()
        }
    }
}

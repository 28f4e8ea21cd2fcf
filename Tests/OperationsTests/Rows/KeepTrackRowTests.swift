import Foundation
import TestSupport
import Testing

@testable import Operations

/// Rows of the requirements for KeepTrack, each named by its number. Rows tested by another suite are named there.
struct KeepTrackRowTests {
    private static let now = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]

    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app keeptrack --store $S >/dev/null")
        return sandbox
    }

    private static let fill = """
        sqlite3 $S/app/database.sqlite "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
          insert into entries select printf('%08x-0000-4000-8000-000000000000', i), '2026-01-02T00:00:00Z', 'Water', 1, 'cups', 1 from n"
        """

    @Test func `ARC-09, FKT-01, FKT-02, FKT-03, FKT-05: four kinds of records, with the documents' members`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "
              INSERT INTO entries VALUES ('00000000-0000-4000-8000-000000000001','2026-01-02T00:00:00Z','Water',2.5,'cups',1);
              INSERT INTO intake_types (id, name, unit, amount, frequency) VALUES ('00000000-0000-4000-8000-000000000002','Tea','cup',1,'daily');
              INSERT INTO goals (id, name, dates, is_active) VALUES ('00000000-0000-4000-8000-000000000003','Walk','[\\"2026-01-02T00:00:00Z\\"]',1);
              INSERT INTO app_settings VALUES ('cloud_sync_enabled','true')"
            """)
        #expect(
            try sandbox.sh(
                "cd $R; backupfs export --store $S; jq -c 'keys, .entries[0], .intakeTypes[0], .settings' Keep*", Self.now)
                    == """
                    KeepTrack_Backup_2026-01-11_14-30-00.json
                    ["entries","exportDate","goals","intakeTypes","settings","version"]
                    {"amount":2.5,"date":"2026-01-02T00:00:00Z","goalMet":true,"id":"00000000-0000-4000-8000-000000000001","name":"Water","units":"cups"}
                    {"amount":1,"frequency":"daily","id":"00000000-0000-4000-8000-000000000002","name":"Tea","unit":"cup"}
                    {"autoBackupEnabled":true,"cloudSyncEnabled":true}
                    """)
        #expect(
            try sandbox.sh("cd $R; jq -c '.goals[0] | .id, .name, .dates, .isActive' Keep*") == """
                "00000000-0000-4000-8000-000000000003"
                "Walk"
                ["2026-01-02T00:00:00Z"]
                true
                """)
        // Pretty printed, and each collection is a file of the backup.
        #expect(try #require(Int(sandbox.sh("wc -l < $R/Keep*"))) > 20)
        try sandbox.sh("backupfs backup --label one --store $S; backupfs restore one --target $R/out --store $S >/dev/null")
        #expect(try sandbox.sh("ls $R/out/data") == "entries.json\ngoals.json\nintakeTypes.json")
        #expect(try sandbox.sh("cd $R/out; jq -c .goals export.json | cmp - <(jq -c . data/goals.json)") == "")
    }

    @Test func `FKT-06, SEC-05: README.txt says how a copy is encrypted`() throws {
        let sandbox = try Self.sandbox()
        let readme = try String(decoding: Store.open(sandbox.storePath).readme, as: UTF8.self)
        #expect(readme.contains("gpg"), "\(readme)")
    }

    /// The best of three runs: the machine may be busy for a moment.
    @Test func `PER-03, PER-04, PER-05, PER-06: a thousand entries are exported, added, backed up and migrated in time`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh(
            "\(Self.fill); backupfs export --json -o $R/x.json --store $S; sed 's/\"Water\"/\"Tea\"/' $R/x.json > $R/y.json")
        let time = "start=$(date +%s%N); COMMAND; echo $((($(date +%s%N) - start) / 1000000))"
        func best(_ command: String, before: String = "true") throws -> Int {
            try (1...3).map { _ in
                try #require(Int(sandbox.sh("\(before); " + time.replacing("COMMAND", with: "\(command) >/dev/null"))))
            }.min() ?? .max
        }
        #expect(try best("backupfs export --json -o $R/out.json --store $S") < 1_000)
        #expect(try best("backupfs restore $R/y.json --strategy merge --yes --store $S") < 2_000)
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite \"select count(*) from entries where name = 'Tea'\"") == "1000")
        #expect(try best("backupfs backup --tag automatic --store $S") < 5_000)
        try sandbox.sh("mkdir $R/old; jq .entries $R/x.json > $R/old/entries.json")
        let empty = "rm -rf $R/empty; backupfs init --app keeptrack --store $R/empty >/dev/null"
        #expect(try best("backupfs app migrate $R/old --store $R/empty", before: empty) < 10_000)
        #expect(try sandbox.sh("sqlite3 $R/empty/app/database.sqlite 'select count(*) from entries'") == "1000")
    }
}

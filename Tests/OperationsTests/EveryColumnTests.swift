import TestSupport
import Testing

/// Databases in which every column of every table has a value, even one that the data's wire format lacks: whatever a restore
/// does, the database is the same before and after it, and after its undo. An incomplete file is refused.
@Suite struct EveryColumnTests {
    /// A known app, a version of its wire formats, and the tables and columns that exports of that version omit.
    struct Case: Sendable, CustomTestStringConvertible {
        let app: String
        let version: Int
        var left: [String] = []
        /// Statements that empty them.
        var emptying = ""

        var testDescription: String { "\(app) \(version)" }
    }

    private static let evCommon = """
        INSERT INTO cars VALUES (1,'Car',1,60.5,'USD',100,50,'2025-01-01T00:00:00Z','2025-01-02T00:00:00Z','R18','R19','metric','electric');
        INSERT INTO expenses VALUES (1,'2025-01-03T00:00:00Z',10.5,'Home (7kW)',60,'12.5','n',1,'charging','USD',1,'95',30.25);
        INSERT INTO planned_maintenance VALUES (1,1,'tyres','2026-12-01T00:00:00Z',1);
        INSERT INTO delayed_notifications VALUES ('n1','t','b','2026-12-01T00:00:00Z');
        INSERT INTO maintenance_plans VALUES (1,1,'brakes','soon','2026-12-01T00:00:00Z',70,'2025-01-04T00:00:00Z');
        INSERT INTO scheduled_notifications VALUES (1,1,'x','2026-12-01T00:00:00Z',1,'2025-01-04T00:00:00Z');
        INSERT INTO documents VALUES (1,1,'Insurance','policy.pdf','pdf',123,'2025-01-05T00:00:00Z','2025-01-06T00:00:00Z');
        INSERT INTO ideas VALUES (1,1,'tow bar','https://example.org','strong','2025-01-05T00:00:00Z','2025-01-06T00:00:00Z');
        INSERT OR REPLACE INTO user_settings VALUES ('preferred_currency','EUR'),('preferred_language','de'),('other','kept');
        INSERT OR REPLACE INTO app_metadata VALUES ('app_version','2026.1'),('device_name','phone'),('other','kept');
        """

    private static let fillings = [
        "ev-charging-tracker": evCommon,
        "keeptrack": """
        INSERT INTO entries VALUES ('00000000-0000-4000-8000-000000000001','2026-01-01T08:00:00Z','Water',1.5,'cups',1);
        INSERT INTO intake_types VALUES ('00000000-0000-4000-8000-000000000002','Tea','cup',2.5,'green','daily');
        INSERT INTO goals VALUES ('00000000-0000-4000-8000-000000000003','Drink','much','["2026-01-01T08:00:00Z"]',0,1,3.5,'cups','daily');
        INSERT OR REPLACE INTO app_settings VALUES ('accepted_license_version','1'),('auto_backup_enabled','true'),('cloud_sync_enabled','true'),
            ('last_backup_date','2026-01-01T08:00:00Z'),('notifications_enabled','false'),('preferred_units','metric'),('theme','dark');
        """,
        "photo-library": "INSERT OR REPLACE INTO app_metadata VALUES ('device_name','phone'),('other','kept');",
        "smilepile": """
        INSERT INTO categories VALUES (1,'cars','Cars',3,'ic_car','#F44336',1,1700000000123),(2,'n','N',4,'ic_n','#E91E63',0,1700000000124);
        INSERT INTO photos VALUES (1,'a.jpg',2,'p',0,1700000000000,3,640,480),(2,'asset.png',1,'q',1,1700000000001,4,2,2);
        INSERT OR REPLACE INTO app_settings VALUES ('is_dark_mode','true'),('has_pin','true'),('has_pattern','true'),('kid_safe_mode_enabled','true'),
            ('delete_protection_enabled','true'),('other','kept');
        INSERT OR REPLACE INTO app_metadata VALUES ('app_version','1.2'),('other','kept');
        """,
    ]

    private static let evOfLater = Case(
        app: "ev-charging-tracker", version: 0, left: ["delayed_notifications", "planned_maintenance"],
        emptying: "DELETE FROM delayed_notifications; DELETE FROM planned_maintenance")

    static let cases: [Case] =
        [2, 6, 7, 9].map { Case(app: evOfLater.app, version: $0, left: evOfLater.left, emptying: evOfLater.emptying) } + [
            Case(
                app: "ev-charging-tracker", version: 1,
                left: [
                    "cars.car_type", "cars.front_wheel_size", "cars.measurement_system", "cars.rear_wheel_size", "documents",
                    "expenses.fuel_type", "expenses.fuel_volume", "ideas", "maintenance_plans", "scheduled_notifications",
                ],
                emptying: """
                    DELETE FROM documents; DELETE FROM ideas; DELETE FROM maintenance_plans; DELETE FROM scheduled_notifications;
                    UPDATE cars SET car_type = NULL, front_wheel_size = NULL, measurement_system = NULL, rear_wheel_size = NULL;
                    UPDATE expenses SET fuel_type = NULL, fuel_volume = NULL
                    """),
            Case(app: "keeptrack", version: 1), Case(app: "photo-library", version: 1),
            Case(app: "smilepile", version: 1), Case(app: "smilepile", version: 2),
        ]

    private static func sandbox(_ each: Case) throws -> Sandbox {
        let sandbox = try Sandbox()
        let filling = try #require(fillings[each.app])
        try sandbox.write(
            filling + "UPDATE app_metadata SET value = '\(each.version)' WHERE key = 'schema_version';", to: "fill.sql")
        try sandbox.sh(
            """
            backupfs init --store $S --app \(each.app) >/dev/null; sqlite3 -bail $S/app/database.sqlite <$R/fill.sql
            if [ -d $S/app/photos ]; then printf one >$S/app/photos/a.jpg; fi
            """)
        // The case covers every column.
        #expect(
            try sandbox.sh(
                """
                for table in $(sqlite3 $S/app/database.sqlite "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%migrations'")
                do for column in $(sqlite3 $S/app/database.sqlite "SELECT name FROM pragma_table_info('$table')")
                   do sqlite3 $S/app/database.sqlite "SELECT '$table.$column' WHERE NOT EXISTS (SELECT 1 FROM $table WHERE $column IS NOT NULL)"
                done; done
                """) == "")
        return sandbox
    }

    /// All rows, independent of order.
    private static let dump = "sqlite3 $S/app/database.sqlite .dump | grep ^INSERT | sort"

    @Test(arguments: Rounds.part(of: cases, oneIn: 3))
    func `a restore gives back every column, and an edited file is refused`(_ each: Case) throws {
        let sandbox = try Self.sandbox(each)
        let before = try sandbox.sh(Self.dump)
        let backup = try sandbox.run("backupfs backup --label A --store $S")
        #expect(backup.exitCode == 0, "\(backup.errors)")
        // An export contains its creation time, to the second. No safety backup with other data may have the same file.
        try sandbox.sh("wait_second")
        let names = each.left.joined(separator: ", ")
        if !each.left.isEmpty {
            #expect(backup.errors.contains(names), "\(backup.errors)")
            #expect(try sandbox.sh("backupfs status --store $S").contains(names))
            // It is not the backup's own export, so only its fields are available.
            let edited = try sandbox.run(
                "backupfs export A --output $R/a.json --store $S; jq -c . $R/a.json > $R/edited.json; backupfs restore $R/edited.json --yes --strategy replace --store $S"
            )
            #expect(edited.exitCode != 0 && edited.errors.contains(names), "\(edited.errors)")
            #expect(try sandbox.sh(Self.dump) == before)
        }
        let verified = try sandbox.run("backupfs verify A --store $S")
        #expect(verified.exitCode == 0, "\(verified.output)")
        try Self.expectSameAfterRestoreAndUndo(sandbox, each)
        guard !each.left.isEmpty else { return }
        // The backup's own files bring it back into a database that lacks it.
        let full = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore A --target $R/files --store $S >/dev/null")
        for file in ["database.sqlite", "export.json"] {
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite '\(each.emptying)'; backupfs restore $R/files/\(file) --yes --strategy replace --store $S >/dev/null"
            )
            #expect(try sandbox.sh(Self.dump) == full, "\(file)")
        }
        // So does the file in a store that does not know the backup, as far as there are fields: the rest is reported.
        try sandbox.sh("backupfs init --app \(each.app) --store $R/other >/dev/null")
        let foreign = try sandbox.run("backupfs restore $R/files/database.sqlite --yes --store $R/other")
        #expect(foreign.exitCode == 0 && (foreign.output + foreign.errors).contains(names), "\(foreign)")
    }

    private static func expectSameAfterRestoreAndUndo(_ sandbox: Sandbox, _ each: Case) throws {
        // SmilePile's version 1 is read, and written as version 2.
        let before = try sandbox.sh(
            """
            backupfs backup --label B --store $S; backupfs verify B --store $S >/dev/null
            \(dump) | sed "\(each.app == "smilepile" ? "s/'schema_version','1'/'schema_version','2'/" : "")"
            """
        ).split(separator: "\n").dropFirst().joined(separator: "\n")
        try sandbox.sh("backupfs restore B --yes --strategy replace --store $S >/dev/null")
        #expect(try sandbox.sh(dump) == before)
        try sandbox.sh(
            "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --strategy replace --store $S >/dev/null")
        #expect(try sandbox.sh(dump) == before)
    }

    @Test func `what the app adds while a restore runs is not lost either`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null; backupfs backup --label A --store $S
            touch $R/pause; BACKUPFS_FAULT=restore.safety-made=pause:$R/pause backupfs restore A --yes --store $S >$R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore
            sqlite3 $S/app/database.sqlite "INSERT INTO ideas VALUES (1,1,'tow bar',NULL,NULL,'2025-01-05T00:00:00Z','2025-01-06T00:00:00Z')"
            rm $R/pause; wait $restore; sqlite3 $S/app/database.sqlite 'SELECT count(*) FROM ideas' | grep -x 0
            backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S
            sqlite3 $S/app/database.sqlite 'SELECT title FROM ideas' | grep -x 'tow bar'
            """)
    }
}

import AppData
import BackupCore
import BackupRepository
import Restore
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// A store whose data arrives in another version of the app's wire format: everything it shows then uses that version.
struct WireFormatTests {
    private static func makeStore(_ sandbox: Sandbox) throws -> Store {
        try sandbox.write(ReleasedAppDocument.text, to: "real.json")
        try sandbox.write(SampleDocument.text, to: "documents.json")
        return try StoreCreation().create(at: sandbox.storePath)
    }

    /// The clock at which the released app's document was made: the export is then identical.
    private static let clock = ["BACKUPFS_NOW": "2026-06-25T10:00:00Z"]

    @Test func `what the released app wrote is what every way of exporting gives`() throws {
        let sandbox = try Sandbox()
        _ = try Self.makeStore(sandbox)
        try sandbox.sh(
            """
            backupfs restore $R/real.json --yes --store $S > $R/answer
            grep 'Imported 1 cars, 1 notifications, 0 documents, 2 expenses, 1 ideas, 1 maintenance records.$' $R/answer
            backupfs export --json -o $R/live.json --store $S; cmp $R/real.json $R/live.json
            backupfs backup --label one --store $S
            backupfs export one --json -o $R/one.json --store $S; cmp $R/real.json $R/one.json
            backupfs restore one --target $R/files --store $S; cd $R/files
            cmp $R/real.json export.json
            [ "$(jq .schemaVersion manifest.json)" = 9 ]
            [ "$(jq -c .records manifest.json)" = '{"cars":1,"delayedNotifications":1,"documents":0,"expenses":2,"ideas":1,"plannedMaintenance":1}' ]
            [ "$(ls data | tr '\\n' ' ')" = 'cars.json delayedNotifications.json documents.json expenses.json ideas.json plannedMaintenance.json ' ]
            jq -S . data/expenses.json | cmp - <(jq -S .expenses $R/real.json)
            backupfs verify one --store $S
            # A second backup of the unchanged database is the same.
            backupfs backup --label two --store $S; backupfs diff one two --store $S
            backupfs export two --json -o $R/two.json --store $S; cmp $R/real.json $R/two.json
            backupfs export --csv $R/csv --store $S; head -1 $R/csv/ideas.csv | grep -x $'carId,createdAt,descriptionText,id,title,updatedAt,url\\r'
            """, Self.clock)
    }

    @Test func `back to the documents' form, and to the released app's by its backup and by its database`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        try sandbox.sh(
            """
            backupfs restore $R/real.json --yes --store $S; backupfs backup --label real --store $S
            backupfs restore $R/documents.json --yes --store $S
            backupfs export --json -o $R/a.json --store $S
            cmp <(jq 'del(.metadata.createdAt)' $R/a.json) <(jq 'del(.metadata.createdAt)' $R/documents.json)
            for table in maintenance_plans scheduled_notifications documents ideas
            do [ "$(sqlite3 $S/app/database.sqlite "SELECT count(*) FROM $table")" = 0 ]; done
            backupfs backup --label plain --store $S
            backupfs restore real --yes --store $S; backupfs export --json -o $R/b.json --store $S; cmp $R/real.json $R/b.json
            [ "$(sqlite3 $S/app/database.sqlite "SELECT count(*) FROM planned_maintenance")" = 0 ]
            backupfs restore plain --yes --store $S
            backupfs restore real --target $R/files --store $S
            backupfs restore $R/files/database.sqlite --yes --store $S
            backupfs export --json -o $R/c.json --store $S; cmp $R/real.json $R/c.json
            """, Self.clock)
        let changes = try json(store.file("changes.json", in: "plain"))
        let records = try #require(changes["records"] as? [String: [String: Any]])
        #expect(records["ideas"]?["removed"] as? Int == 1 && records["plannedMaintenance"]?["changed"] as? Int == 1)
    }

    @Test func `VAL-04: a store of before has its database brought up, and keeps its data`() throws {
        let sandbox = try Sandbox()
        _ = try Self.makeStore(sandbox)
        let dump =
            ".mode list\nSELECT * FROM cars; SELECT * FROM expenses; SELECT * FROM user_settings; SELECT * FROM app_metadata;"
        try sandbox.write(dump, to: "dump.sql")
        try sandbox.sh(
            """
            backupfs restore $R/documents.json --yes --store $S; cd $S/app
            # As the first version of this program made it.
            sqlite3 database.sqlite "DELETE FROM grdb_migrations WHERE identifier LIKE '2-%'; DROP TABLE ideas; DROP TABLE documents;
                DROP TABLE maintenance_plans; DROP TABLE scheduled_notifications; ALTER TABLE expenses DROP COLUMN fuel_volume;
                ALTER TABLE expenses DROP COLUMN fuel_type; ALTER TABLE cars DROP COLUMN car_type;
                ALTER TABLE cars DROP COLUMN measurement_system; ALTER TABLE cars DROP COLUMN rear_wheel_size;
                ALTER TABLE cars DROP COLUMN front_wheel_size"
            sqlite3 database.sqlite < $R/dump.sql > $R/before
            cp database.sqlite $R/old.sqlite
            backupfs status --store $S
            sqlite3 database.sqlite 'SELECT count(front_wheel_size) FROM cars; SELECT count(*) FROM ideas' | tr '\\n' ' ' | grep -x '0 0 '
            sqlite3 database.sqlite "SELECT name FROM pragma_table_info('cars') LIMIT 9" | wc -l | grep -x 9
            cmp <(sqlite3 database.sqlite 'SELECT * FROM user_settings') <(sqlite3 $R/old.sqlite 'SELECT * FROM user_settings')
            cmp <(sqlite3 database.sqlite 'SELECT id, date, energy_charged, cost, notes FROM expenses') \\
                <(sqlite3 $R/old.sqlite 'SELECT id, date, energy_charged, cost, notes FROM expenses')
            # A database from before can be restored.
            backupfs restore $R/old.sqlite --yes --store $S
            backupfs restore $R/real.json --yes --store $S
            """, Self.clock)
    }

    @Test func `preview and report tell the file's version`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        let text = try RestoreRunner(store: store).preview(ImportSource(file: sandbox("real.json"))).text
        for line in ["Schema version: 9", "Ideas: 1", "Documents: 0", "App version: 2026.6.2"] {
            #expect(text.contains("\n\(line)\n"), "\(text)")
        }
    }
}

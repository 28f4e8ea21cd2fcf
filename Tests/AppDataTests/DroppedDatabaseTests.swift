import AppData
import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@Suite("A database file from anywhere")
struct DroppedDatabaseTests {
    private let folder: TemporaryFolder
    private let definition: AppDefinition
    private var path: String { folder("dropped file?#%.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
        definition = try AppDefinition.builtIn(named: "ev-charging-tracker")
    }

    /// A good file, changed by `sql`.
    private func drop(_ sql: String = "") throws {
        let database = try AppDatabase.create(at: folder("app.sqlite"), definition: definition)
        try database.replaceAll(from: SampleData(definition: definition, expenseCount: 600))
        try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.copyDatabase(to: path) }
        if !sql.isEmpty { #expect(try sqlite(path, sql) == "") }
    }

    private func refusal() throws -> BackupError {
        try #require(throws: BackupError.self) { try DroppedDatabase(path: path, definition: definition) }
    }

    @Test("a copy of the app's database restores to the same data")
    func good() throws {
        try drop()
        let before = try FileSystem.readFile(path)
        let dropped = try DroppedDatabase(path: path, definition: definition)
        let now = Timestamp(seconds: 1_768_141_800)
        let summary = try ImportValidator(definition: definition, now: now).validate(dropped)
        #expect(summary.successMessage == "Imported 3 cars, 600 expenses, 8 maintenance records, 4 notifications.")
        #expect(summary.appVersion == "2026.1.1")
        #expect(summary.deviceName == "iPhone 15 Pro")
        let target = try AppDatabase.create(at: folder("target.sqlite"), definition: definition)
        try target.replaceAll(from: dropped, expectedCounts: summary.recordCounts)
        let dump =
            "select * from cars; select * from expenses; select * from planned_maintenance; select * from delayed_notifications; select * from user_settings; select * from app_metadata order by 1"
        #expect(try sqlite(folder("target.sqlite"), dump) == sqlite(folder("app.sqlite"), dump))
        #expect(try FileSystem.readFile(path) == before)
    }

    @Test("a file in WAL mode is read without its log being made")
    func writeAheadLog() throws {
        try drop()
        let bytes = try FileSystem.readFile(path)
        var changed = bytes
        changed.replaceSubrange(18..<20, with: [2, 2])
        try FileSystem.writeFileAtomically(path, changed)
        _ = try DroppedDatabase(path: path, definition: definition)
        #expect(try !FileSystem.exists(path + "-wal"))
        #expect(try FileSystem.readFile(path) == changed)
    }

    @Test("a database without app version or settings takes the defaults")
    func defaults() throws {
        try drop("delete from app_metadata where key <> 'schema_version'; delete from user_settings")
        let summary = try ImportValidator(definition: definition, now: Timestamp(seconds: 1_768_141_800))
            .validate(DroppedDatabase(path: path, definition: definition))
        #expect(summary.appVersion == "unknown")
    }

    @Test("its schema version counts")
    func version() throws {
        try drop("update app_metadata set value = '0' where key = 'schema_version'")
        let dropped = try DroppedDatabase(path: path, definition: definition)
        let error = try #require(throws: BackupError.self) { try ImportValidator(definition: definition).validate(dropped) }
        #expect(error.code == .unsupportedVersion)
        #expect(error.message == "This backup is from an incompatible version of the app.")
    }

    @Test("what is not an SQLite file is refused as another format")
    func notADatabase() throws {
        for bytes in [Array("hello".utf8), [], Array(repeating: 0x41, count: 20_000), Array("{\"cars\": []}".utf8)] {
            try FileSystem.writeFileAtomically(path, bytes)
            let error = try refusal()
            #expect(error.code == .invalidContent)
        }
        try FileSystem.writeFileAtomically(path, Array(repeating: 0x41, count: 20_000))
        #expect(try refusal().message == "Invalid file format. Please select a valid backup file.")
    }

    @Test("damage anywhere in the pages is found before anything is read")
    func damaged() throws {
        try drop()
        let bytes = try FileSystem.readFile(path)
        let truncated = Array(bytes[..<(bytes.count / 2)])
        var scribbled = bytes
        for index in 4096..<8192 { scribbled[index] = UInt8(truncatingIfNeeded: index &* 31) }
        var header = bytes
        for index in 28..<100 { header[index] = 0xFF }
        for damaged in [truncated, scribbled, header, Array(bytes[..<20])] {
            try FileSystem.writeFileAtomically(path, damaged)
            let error = try refusal()
            #expect(error.code == .damagedContent)
            #expect(error.message == "This backup file is corrupted and cannot be restored.")
        }
    }

    @Test(
        "tables that are not tables, and columns that are not there, are refused",
        arguments: [
            ("drop table cars", "Import failed: there is no table cars"),
            ("alter table cars rename to c; create view cars as select * from c", "Import failed: there is no table cars"),
            ("drop table cars; create virtual table cars using fts5(name)", "Import failed: there is no table cars"),
            ("alter table expenses drop column cost", "Import failed: the table expenses has no column cost"),
            (
                "alter table expenses drop column cost; alter table expenses add column cost text as ('1' || odometer)",
                "Import failed: the table expenses has no column cost"
            ), ("drop table user_settings", "Import failed: there is no table user_settings"),
        ])
    func wrongSchema(_ sql: String, _ message: String) throws {
        try drop(sql)
        let error = try refusal()
        #expect(error.code == .invalidContent)
        #expect(error.message == message)
    }

    @Test("triggers, other tables and indices in the file do nothing")
    func extras() throws {
        try drop(
            "create table extra (a); create index i on expenses (cost); create view v as select * from cars; "
                + "create trigger t after insert on cars begin delete from expenses; end")
        let summary = try ImportValidator(definition: definition, now: Timestamp(seconds: 1_768_141_800))
            .validate(DroppedDatabase(path: path, definition: definition))
        #expect(summary.recordCounts == [3, 600, 8, 4])
    }

    @Test("values of the wrong kind are found by the validator")
    func wrongValues() throws {
        try drop(
            "update expenses set odometer = 'far' where id = 7; update expenses set cost = 12.5 where id = 8; "
                + "update expenses set energy_charged = x'00' where id = 9; update expenses set car_id = 99 where id = 10; "
                + "update cars set selected_for_tracking = 2 where id = 1")
        // The text affinity of the column makes the cost a text again: it is fine.
        let error = try #require(throws: BackupError.self) {
            try ImportValidator(definition: definition, now: Timestamp(seconds: 1_768_141_800))
                .validate(DroppedDatabase(path: path, definition: definition))
        }
        #expect(
            error.findings == [
                "car 1: selectedForTracking must be true or false, not a number",
                "expense 7: odometer must be a whole number, not a text", "expense 9: energyCharged must be a number, not a blob",
                "expense 10 refers to unknown car 99",
            ])
    }

    @Test(arguments: ["a,b,primary key(b,a)", "a text, c int, primary key(c,a)", "a,b,primary key(a,b)"])
    func `F1: a table without rowid whose key is not in the order of its columns is whole`(columns: String) throws {
        try sqlite(path, "create table t(\(columns)) without rowid; insert into t values (1,2)")
        let definition = try AppDefinition.load(yaml: IntrospectedDefinition(of: path, mediaFolder: nil).yaml)
        let database = try DroppedDatabase(path: path, definition: definition)
        #expect(database.definition.coversWholeDatabase)
        #expect(try database.integrityProblems(limit: 3) == [])
    }

    /// The database leaves its log for the exchange, since the pages cannot change their size otherwise.
    @Test func `R-A22: a failed exchange of pages gives the database its log back`() throws {
        let target = folder("target.db")
        try sqlite(target, "pragma page_size = 4096; pragma journal_mode = wal; create table t(a); insert into t values (1)")
        try sqlite(path, "pragma page_size = 8192; create table t(a); insert into t values (2)")
        let definition = try AppDefinition.load(yaml: IntrospectedDefinition(of: target, mediaFolder: nil).yaml)
        let database = AppDatabase(at: target, definition: definition)
        let source = try DroppedDatabase(path: path, definition: definition)
        let error = #expect(throws: BackupError.self) {
            try database.replaceWhole(
                by: source, stagingPath: folder("staging.db"), marker: RestoreMarker(operation: "m", journalPath: nil),
                whenLocked: { () throws(BackupError) in
                    // No other process can write by then.
                    #expect((try? run(["sqlite3", "-cmd", ".timeout 0", target, "insert into t values (3)"]))?.status != 0)
                    throw BackupError(.busy, "changed")
                })
        }
        #expect(error?.code == .busy)
        #expect(try sqlite(target, "select a from t; pragma page_size; pragma journal_mode") == "1\n4096\nwal\n")
        try database.replaceWhole(
            by: source, stagingPath: folder("staging.db"), marker: RestoreMarker(operation: "m", journalPath: nil))
        #expect(try sqlite(target, "select a from t; pragma page_size; pragma journal_mode") == "2\n8192\nwal\n")
    }
}

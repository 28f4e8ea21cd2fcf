import AppData
import BackupCore
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@Suite("The app's database")
struct AppDatabaseTests {
    private let folder: TemporaryFolder
    private let definition: AppDefinition
    private var path: String { folder("app.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
        definition = try AppDefinition.builtIn(named: "ev-charging-tracker")
    }

    private func small() throws -> AppDatabase {
        let database = try AppDatabase.create(at: path, definition: definition, busyTimeoutSeconds: 0.2)
        try database.replaceAll(from: ListedRecords.small())
        return database
    }

    @Test("is made by migration: WAL, for its owner only, and again without harm")
    func creation() throws {
        _ = try AppDatabase.create(at: path, definition: definition)
        _ = try AppDatabase.create(at: path, definition: definition)
        #expect(try FileSystem.status(path).mode & 0o777 == 0o600)
        #expect(try sqlite(path, "pragma journal_mode; pragma integrity_check") == "wal\nok\n")
        #expect(try sqlite(path, "select key || '=' || value from app_metadata") == "schema_version=1\n")
        let tables = try sqlite(path, "select name from sqlite_master where type = 'table' and name not like 'grdb%' order by 1")
        #expect(
            tables == """
                app_metadata
                cars
                delayed_notifications
                documents
                expenses
                ideas
                maintenance_plans
                planned_maintenance
                scheduled_notifications
                user_settings

                """)
    }

    @Test("replacing puts in exactly what the source has")
    func replacement() throws {
        _ = try small()
        #expect(
            try sqlite(
                path,
                "select id, date, energy_charged, typeof(energy_charged), cost, typeof(cost), notes is null, is_initial_record, car_id from expenses order by id"
            ) == """
                1|2026-01-10T18:30:00Z|45.5|real|12.50|text|1|0|1
                2|2026-01-10T18:30:00Z|45.5|real|0.10|text|1|0|1
                3|2026-01-10T18:30:00Z|45.5|real|12345678901234.56|text|1|0|1

                """)
        #expect(
            try sqlite(
                path, "select key, value from app_metadata order by key; select key, value from user_settings order by key")
                    == """
                    app_version|2026.1.1
                    device_name|iPhone 15 Pro
                    schema_version|1
                    preferred_currency|KZT
                    preferred_language|ru

                    """)
        #expect(try sqlite(path, "select name, battery_capacity, selected_for_tracking from cars") == "Tesla|60.0|1\n")
    }

    @Test("numbers and texts of every kind come back as they went in")
    func fidelity() throws {
        let database = try AppDatabase.create(at: path, definition: definition)
        var source = try ListedRecords.small()
        let numbers: [Double] = [-0.0, 0, .leastNonzeroMagnitude, 1e300, 0.1, 1.7976931348623157e308, 45, 1e15, 9007199254740992]
        let texts: [[UInt8]] = [
            [], Array("e\u{301}".utf8), Array("\u{E9}".utf8), [0], [0x61, 0, 0x62], Array("😀\u{2028}'\"\\".utf8),
            Array(repeating: 120, count: 100_000), Array("NULL".utf8), Array("123".utf8),
        ]
        let template = source.collections[1].records[0]
        source.collections[1].records = numbers.indices.map { index in
            var record = template
            record[0] = .integer([Int64.min, -1, 0, 1, 2, 3, 4, 5, Int64.max][index])
            record[2] = .real(numbers[index])
            record[6] = .text(texts[index])
            return record
        }
        let expected = source.collections[1].records.map { Record(values: $0) }
        try database.replaceAll(from: source)
        var found: [Record] = []
        try database.readSnapshot { (snapshot) throws(BackupError) in
            try snapshot.forEachRecord(of: 1) { found.append($0.record()) }
        }
        #expect(found == expected)
        for (left, right) in zip(found, numbers) {
            guard case .real(let value) = left.values[2] else { throw BackupError(.invalidContent, "not a real") }
            #expect(value.bitPattern == right.bitPattern)
        }
    }

    @Test("any error leaves the old data, to the byte")
    func rollback() throws {
        let database = try small()
        try sqlite(path, "pragma wal_checkpoint(truncate)")
        let before = try FileSystem.readFile(path)
        var broken = try ListedRecords.small()
        broken.failure = BackupError(.inputOutput, "the file broke off")
        #expect(throws: BackupError.self) {
            try database.replaceAll(from: broken, marker: RestoreMarker(operation: "m1", journalPath: nil))
        }
        var repeated = try ListedRecords.small()
        repeated.collections[1].records.append(repeated.collections[1].records[0])
        let duplicate = try #require(throws: BackupError.self) { try database.replaceAll(from: repeated) }
        #expect(duplicate.code == .invalidContent)
        var wrong = try ListedRecords.small()
        wrong.collections[1].records[2][4] = .text("far")
        let mismatch = try #require(throws: BackupError.self) { try database.replaceAll(from: wrong) }
        #expect(mismatch.message == "Import failed: expense: odometer must be a whole number, not a text")
        var short = try ListedRecords.small()
        short.collections[1].records.removeLast()
        let count = try #require(throws: BackupError.self) {
            try database.replaceAll(from: short, expectedCounts: [1, 3, 0, 0])
        }
        #expect(count.message == "Import failed: 2 of 3 expenses are in the database")
        #expect(try FileSystem.readFile(path) == before)
        #expect(try database.restoreMarker() == nil)
        #expect(try sqlite(path, "select count(*), sum(id) from expenses") == "3|6\n")
    }

    @Test("a replacement's mark is there with its data, until it is removed")
    func marker() throws {
        let database = try small()
        #expect(try database.restoreMarker() == nil)
        try database.removeRestoreMarker(of: "restore-17")
        for operation in ["restore-17", "restore-18"] {
            let marker = RestoreMarker(operation: operation, journalPath: "/a store/restore.journal")
            try database.replaceAll(from: ListedRecords.small(), marker: marker)
            #expect(try database.restoreMarker() == marker)
            #expect(try sqlite(path, "select * from backupfs_restore_marker") == "\(operation)|/a store/restore.journal\n")
        }
        try database.removeRestoreMarker(of: "restore-17")
        #expect(try database.restoreMarker()?.operation == "restore-18")
        try database.removeRestoreMarker(of: "restore-18")
        #expect(try database.restoreMarker() == nil)
        #expect(try sqlite(path, "select count(*) from sqlite_master where name like 'backupfs%'") == "0\n")
    }

    @Test("another store's mark stays while its restore is not finished")
    func othersMarker() throws {
        let database = try small()
        try FileSystem.makeDirectories(folder("other"))
        let other = RestoreMarker(operation: "other", journalPath: folder("other/restore.journal"))
        let own = RestoreMarker(operation: "own", journalPath: folder("own/restore.journal"))
        func restore(_ marker: RestoreMarker) throws { try database.replaceAll(from: ListedRecords.small(), marker: marker) }
        try sqlite(path, "create table backupfs_restore_marker (id text); insert into backupfs_restore_marker values ('older')")
        #expect(try database.restoreMarker() == RestoreMarker(operation: "older", journalPath: nil))
        try restore(other)
        try FileSystem.writeFileAtomically(folder("other/restore.journal"), [1])
        #expect(try #require(throws: BackupError.self) { try restore(own) }.code == .busy)
        #expect(try database.restoreMarker() == other)
        // Its own store goes on, whatever has become of the journal.
        try restore(other)
        // The store cannot be looked at: its disk may be away.
        try sqlite(path, "update backupfs_restore_marker set journal = '/nowhere/store/restore.journal'")
        let failure = try #require(throws: BackupError.self) { try restore(own) }
        #expect(failure.message == "a restore by another store is not finished: /nowhere/store")
        try sqlite(path, "update backupfs_restore_marker set journal = '\(folder("other/restore.journal"))'")
        try FileSystem.removeFile(folder("other/restore.journal"))
        try restore(own)
        #expect(try database.restoreMarker() == own)
    }

    @Test("an app that holds its database locked is told as that, and reading goes on")
    func busy() throws {
        let database = try small()
        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        holder.arguments = ["sqlite3", path]
        let input = Foundation.Pipe()
        let output = Foundation.Pipe()
        holder.standardInput = input
        holder.standardOutput = output
        try holder.run()
        defer {
            try? input.fileHandleForWriting.close()
            holder.waitUntilExit()
        }
        try input.fileHandleForWriting.write(contentsOf: Data("begin immediate; select 'held';\n".utf8))
        #expect(output.fileHandleForReading.availableData == Data("held\n".utf8))
        let error = try #require(throws: BackupError.self) { try database.replaceAll(from: ListedRecords.small()) }
        #expect(error.code == .databaseInUse)
        #expect(error.message == "the app holds its database locked")
        let count = try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.count(of: 1) }
        #expect(count == 3)
    }

    @Test("a snapshot stands still while the app writes, its copy too")
    func isolation() throws {
        let database = try small()
        let copy = folder("copy.sqlite")
        let ids = try database.readSnapshot { (snapshot) throws(BackupError) -> [Int64] in
            let outcome = Result {
                try sqlite(path, "delete from expenses where id = 2; insert into user_settings values ('x', 'y')")
            }
            guard case .success("") = outcome else { throw BackupError(.busy, "the writer was held up") }
            var ids: [Int64] = []
            try snapshot.forEachRecord(of: 1) { ids.append($0.integer(0)) }
            try snapshot.copyDatabase(to: copy)
            return ids
        }
        #expect(ids == [1, 2, 3])
        #expect(try sqlite(copy, "select group_concat(id) from expenses; select count(*) from user_settings") == "1,2,3\n2\n")
        #expect(try sqlite(path, "select group_concat(id) from expenses") == "1,3\n")
    }

    @Test("a copy is whole, not in WAL mode, for its owner only, and always the same")
    func copies() throws {
        let database = try small()
        for name in ["one.sqlite", "two.sqlite"] {
            try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.copyDatabase(to: folder(name)) }
        }
        let first = try FileSystem.readFile(folder("one.sqlite"))
        #expect(try FileSystem.readFile(folder("two.sqlite")) == first)
        #expect(Array(first[18..<20]) == [1, 1])
        #expect(try FileSystem.status(folder("one.sqlite")).mode & 0o777 == 0o600)
        #expect(try !FileSystem.exists(folder("one.sqlite-wal")))
        #expect(try !FileSystem.exists(folder("one.sqlite-journal")))
        try FileSystem.makeDirectories(folder("readonly"))
        try FileSystem.rename(folder("one.sqlite"), to: folder("readonly/one.sqlite"))
        chmod(folder("readonly"), 0o500)
        defer { chmod(folder("readonly"), 0o700) }
        let answer = try sqlite(
            "file:\(folder("readonly/one.sqlite"))?mode=ro", "pragma journal_mode; pragma integrity_check")
        #expect(answer == "delete\nok\n")
        let error = try #require(throws: BackupError.self) {
            try database.readSnapshot { (snapshot) throws(BackupError) in
                try snapshot.copyDatabase(to: folder("two.sqlite"))
            }
        }
        #expect(error.code == .alreadyExists)
        #expect(try FileSystem.exists(folder("two.sqlite")))
    }

    @Test("the change state changes with every commit, and with nothing else")
    func changeState() throws {
        let database = try small()
        let settled = { () -> DatabaseChangeState in
            // Older than the clock's tick: only then can equal states be told.
            usleep(30_000)
            return database.changeState()
        }
        _ = try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.count(of: 0) }
        var last = settled()
        #expect(database.changeState() == last)
        for _ in 0..<3 {
            _ = try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.count(of: 0) }
            #expect(settled() == last)
        }
        for sql in [
            "update cars set name = 'A'", "update cars set name = 'B'", "pragma journal_mode = delete",
            "update cars set name = 'C'",
        ] {
            try sqlite(path, sql)
            let now = settled()
            #expect(now != last, "\(sql)")
            last = now
        }
        try database.replaceAll(from: ListedRecords.small())
        #expect(settled() != last)
    }

    @Test("R-A11: where the file system counts whole seconds, a commit is seen that leaves the time as it was")
    func coarseTimes() throws {
        let database = try small()
        try sqlite(path, "pragma journal_mode = delete")
        // As a file system with times of whole seconds has it: what is written within the same second leaves no trace.
        func setTime(_ seconds: Int) {
            var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
            #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        }
        let second = time(nil)
        setTime(second)
        usleep(100_000)
        let before = database.changeState()
        #expect(before.description == nil)
        #expect(database.changeState() != before)
        // Long ago is long ago.
        setTime(second - 60)
        #expect(database.changeState() == database.changeState())
        #expect(database.changeState().description != nil)
    }

    @Test("two states taken around a commit differ, however fast it was")
    func fastChanges() throws {
        let database = try small()
        for index in 0..<20 {
            let before = database.changeState()
            try sqlite(path, "update cars set current_mileage = \(index)")
            #expect(database.changeState() != before)
        }
    }

    @Test("changes in a log that stays open are seen")
    func openLog() throws {
        let database = try small()
        let writer = Process()
        writer.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        writer.arguments = ["sqlite3", path]
        let input = Foundation.Pipe()
        let output = Foundation.Pipe()
        writer.standardInput = input
        writer.standardOutput = output
        try writer.run()
        defer {
            try? input.fileHandleForWriting.close()
            writer.waitUntilExit()
        }
        var states: Set<DatabaseChangeState> = [database.changeState()]
        for index in 1...10 {
            let line = "update cars set current_mileage = \(index); select 'done';\n"
            try input.fileHandleForWriting.write(contentsOf: Data(line.utf8))
            #expect(output.fileHandleForReading.availableData == Data("done\n".utf8))
            usleep(25_000)
            states.insert(database.changeState())
            let mileage = try database.readSnapshot { (snapshot) throws(BackupError) -> Int64 in
                var value: Int64 = 0
                try snapshot.forEachRecord(of: 0) { value = $0.integer(5) }
                return value
            }
            #expect(mileage == Int64(index))
        }
        #expect(states.count == 11)
    }

    @Test("a database of something else is refused, and so is none")
    func wrongDatabase() throws {
        let missing = try #require(throws: BackupError.self) { try AppDatabase(opening: path, definition: definition) }
        #expect(missing.code == .notFound)
        try sqlite(path, "create table cars (id, name)")
        let other = try #require(throws: BackupError.self) { try AppDatabase(opening: path, definition: definition) }
        #expect(other.code == .invalidContent)
        #expect(other.message == "the database is not one of EV Charging Tracker: there is no table app_metadata")
        try FileSystem.writeFileAtomically(folder("text"), Array(repeating: 65, count: 5_000))
        let text = try #require(throws: BackupError.self) {
            try AppDatabase(opening: folder("text"), definition: definition)
        }
        #expect(text.code == .damagedContent)
    }

    @Test("an interrupted writer's journal is rolled back before reading")
    func hotJournal() throws {
        _ = try small()
        try sqlite(path, "pragma journal_mode = delete")
        // What a crash in mid-transaction leaves: pages written, and the journal that undoes them.
        let script = """
            import sqlite3, os, sys
            db = sqlite3.connect(sys.argv[1], isolation_level=None)
            db.execute('pragma cache_size = 1'); db.execute('begin')
            db.execute("with recursive n(i) as (select 1 union all select i + 1 from n limit 5000) insert into user_settings select 'k' || i, hex(randomblob(200)) from n")
            os.kill(os.getpid(), 9)
            """
        try run(["python3", "-c", script, path])
        #expect(try FileSystem.exists(path + "-journal"))
        let database = try AppDatabase(opening: path, definition: definition)
        let count = try database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.count(of: 1) }
        #expect(count == 3)
        #expect(try sqlite(path, "select count(*) from user_settings; pragma integrity_check") == "2\nok\n")
    }

    @Test("an error of the caller inside a snapshot comes out once, as it is")
    func callerErrors() throws {
        let database = try small()
        var runs = 0
        let error = try #require(throws: BackupError.self) {
            try database.readSnapshot { (_) throws(BackupError) in
                runs += 1
                throw BackupError(.accessDenied, "the caller's own")
            }
        }
        #expect(error.message == "the caller's own")
        #expect(runs == 1)
    }
}

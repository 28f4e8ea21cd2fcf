import AppData
import BackupCore
import ObjectStorage
import StorageSimulation
import SystemIO
import TestSupport
import Testing

@testable import DeviceSync

/// Devices with databases in SQLite, which sqlite3 reads and writes beside us.
struct AppRecordsTests {
    let server = SimulatedServer()

    private func devices() throws -> (AppDevice, AppDevice) {
        try (AppDevice(SimulatedStorage(server)), AppDevice(SimulatedStorage(server)))
    }

    @Test(arguments: ["WAL", "DELETE"])
    func `what one app writes is in the other's database`(mode: String) throws {
        let (first, second) = try devices()
        for device in [first, second] { try device.sql("PRAGMA journal_mode = \(mode)") }
        try first.sql(AppDevice.entry(10) + AppDevice.entry(11, "Tea, \u{1F375} d''été"))
        try first.sql(
            """
            INSERT INTO goals (id, name, dates, is_active, dosage) VALUES
            ('00000000-0000-4000-8000-000000000001', 'Drink', '["2026-01-11T08:00:00Z"]', 1, 0.1);
            INSERT INTO intake_types VALUES ('00000000-0000-4000-8000-000000000002', 'Water', 'cups', 2, NULL, 'daily');
            INSERT INTO app_settings VALUES ('theme', 'dark');
            """)
        for device in [first, second] { try device.exchange() }
        #expect(
            try second.entries() == """
                00000000-0000-4000-8000-000000000010|2026-01-11T08:00:00Z|Water|1.5|cups|0
                00000000-0000-4000-8000-000000000011|2026-01-11T08:00:00Z|Tea, \u{1F375} d'été|1.5|cups|0

                """)
        #expect(
            try second.sql("SELECT name, dates, is_active, is_completed, dosage FROM goals")
                == "Drink|[\"2026-01-11T08:00:00Z\"]|1||0.1\n")
        #expect(try second.sql("SELECT name, amount * 1.0, description FROM intake_types") == "Water|2.0|\n")
        // Settings are those of each device.
        #expect(try second.sql("SELECT count(*) FROM app_settings") == "0\n")
        try second.sql(
            "UPDATE entries SET amount = 3, goal_met = 1 WHERE name = 'Water'; DELETE FROM entries WHERE name LIKE 'Tea%'")
        for device in [second, first] { try device.exchange() }
        #expect(
            try first.entries() == "00000000-0000-4000-8000-000000000010|2026-01-11T08:00:00Z|Water|3.0|cups|1\n")
        for device in [first, second, first] { #expect(try device.exchange().foundCount == 0) }
        #expect(try first.sql("PRAGMA integrity_check") == "ok\n")
        #expect(try first.sql("PRAGMA journal_mode") == mode.lowercased() + "\n")
    }

    @Test func `values are exactly those of the other database, whatever their form`() throws {
        let (first, second) = try devices()
        let forms = [
            ("2", "'2026-01-11T10:00:00+02:00'"), ("2.0", "'2026-01-11T08:00:00.125Z'"),
            ("9007199254740993", "'2026-01-11T08:00:00Z'"),
            ("1e300", "'2026-01-11T08:00:00Z'"), ("-0.0", "'2026-01-11T08:00:00Z'"), ("0.1", "'2026-01-11T08:00:00Z'"),
        ]
        for (number, (amount, date)) in forms.enumerated() {
            try first.sql(
                AppDevice.entry(10 + number)
                    + "UPDATE entries SET amount = \(amount), date = \(date) WHERE id LIKE '%\(10 + number)'")
        }
        let exact =
            "SELECT id, quote(date), quote(name), typeof(amount), quote(amount), typeof(goal_met) FROM entries ORDER BY id"
        for device in [first, second] { try device.exchange() }
        #expect(try second.sql(exact) == first.sql(exact))
        // The same number in another form is another value.
        try second.sql("UPDATE entries SET amount = 2.0, date = '2026-01-11T08:00:00Z' WHERE id LIKE '%10'")
        for device in [second, first, second] { try device.exchange() }
        #expect(try first.sql(exact) == second.sql(exact))
        #expect(try first.sql("SELECT typeof(amount), date FROM entries WHERE id LIKE '%10'") == "real|2026-01-11T08:00:00Z\n")
    }

    @Test func `an app that writes just before a merge is not overwritten unseen`() throws {
        let (first, second) = try devices()
        try first.sql(AppDevice.entry(10, "first"))
        try second.sql(AppDevice.entry(10, "second"))
        try first.exchange()
        // After it has looked at its records, and before it merges.
        second.backUp = { [unowned second] in try second.sql("UPDATE entries SET name = 'written meanwhile'") }
        for device in [second, first, second] { try device.exchange() }
        #expect(try first.sql("SELECT name FROM entries") == "written meanwhile\n")
        #expect(try first.entries() == second.entries())
    }

    @Test func `values that lost are a file that people can read`() throws {
        let (first, second) = try devices()
        try first.sql(AppDevice.entry(10, "old"))
        for device in [first, second] { try device.exchange() }
        try first.sql("UPDATE entries SET name = 'earlier', amount = 0.25, goal_met = 1")
        try second.sql("UPDATE entries SET name = 'later'")
        second.now = Timestamp(seconds: 1_800_000_060)
        for device in [first, second, first, second] { try device.exchange() }
        let ids = [first, second].map(\.state.deviceID)
        let name = "entries 00000000-0000-4000-8000-000000000010 (conflict \(ids[0].shortText)).json"
        for device in [first, second] {
            #expect(try device.sql("SELECT name FROM entries") == "later\n")
            #expect(try device.conflictNames == [name])
            #expect(
                String(decoding: try device.folder.read("conflicts/\(name)"), as: UTF8.self) == """
                    {
                      "collection": "entries",
                      "key": "00000000-0000-4000-8000-000000000010",
                      "device": "\(ids[0])",
                      "changedAt": "2027-01-15T08:00:00Z",
                      "laterDevice": "\(ids[1])",
                      "laterChangedAt": "2027-01-15T08:01:00Z",
                      "record": {
                        "amount": 0.25,
                        "date": "2026-01-11T08:00:00Z",
                        "goalMet": true,
                        "id": "00000000-0000-4000-8000-000000000010",
                        "name": "earlier",
                        "units": "cups"
                      }
                    }

                    """)
        }
        // A second conflict of the same record and device is another file.
        try first.sql("UPDATE entries SET name = 'earlier again'")
        try second.sql("UPDATE entries SET name = 'later again'")
        second.now = Timestamp(seconds: 1_800_000_120)
        for device in [first, second] { try device.exchange() }
        #expect(try second.conflictNames.count == 2)
        #expect(ConflictFiles.count(in: second.folder("conflicts")) == 2)
    }

    @Test(arguments: [BatchMerge.Point.conflictsKept, .intentRecorded, .rowsWritten, .committed], [true, false])
    func `an interrupted merge goes on, and is not mistaken for the app`(point: BatchMerge.Point, finds: Bool) throws {
        let (first, second) = try devices()
        try first.sql(AppDevice.entry(10, "old") + AppDevice.entry(11, "old"))
        for device in [first, second] { try device.exchange() }
        try first.sql("UPDATE entries SET name = 'new' WHERE id LIKE '%10'; DELETE FROM entries WHERE id LIKE '%11'")
        try first.sql(AppDevice.entry(12, "added"))
        try first.exchange()
        second.interruption = point
        #expect(errorCode { try second.exchange() } == .interrupted)
        #expect(try second.sql("SELECT name FROM entries ORDER BY id") == (point == .committed ? "new\nadded\n" : "old\nold\n"))
        let report = try second.exchange(finds: finds)
        #expect((report.foundCount, report.problems.count) == (0, 0))
        #expect(try second.entries() == first.entries())
        #expect(try second.exchange().foundCount == 0)
        #expect(try second.conflictNames == [])
    }

    @Test(arguments: [
        ("ev-charging-tracker", "the cars have no UUID, and numbers are given twice"),
        ("smilepile", "its files would be missing"),
    ])
    func `apps whose records cannot be exchanged are refused`(app: String, reason: String) throws {
        let device = try AppDevice(SimulatedStorage(server), app: app)
        let error = try #require(failure { try device.exchange() })
        #expect(error.code == .notSupported)
        #expect(error.message.english.hasSuffix(" cannot be exchanged between devices: \(reason)"), "\(error)")
        #expect(server.objectCount == 0)
    }

    @Test(arguments: [
        ("DROP TABLE goals", BackupError.Code.invalidContent),
        ("ALTER TABLE entries DROP COLUMN units", .invalidContent),
        ("UPDATE app_metadata SET value = '2'", .unsupportedVersion),
        ("ALTER TABLE entries ADD COLUMN note TEXT; UPDATE entries SET note = 'mine'", .notSupported),
        ("CREATE TRIGGER t AFTER UPDATE ON entries BEGIN UPDATE goals SET name = 'x'; END", .notSupported),
        (
            "CREATE TABLE backupfs_restore_marker (id TEXT, journal TEXT); INSERT INTO backupfs_restore_marker VALUES ('1', '/')",
            .busy
        ),
    ])
    func `a database that is not as it should be is left alone, and nothing is sent`(
        change: String, code: BackupError.Code
    ) throws {
        let (first, second) = try devices()
        for number in 10..<14 { try first.sql(AppDevice.entry(number)) }
        for device in [first, second] { try device.exchange() }
        try second.sql(AppDevice.entry(20))
        try second.exchange()
        let count = server.objectCount
        try first.sql(change)
        let before = try first.sql(".dump")
        #expect(errorCode { try first.exchange() } == code)
        #expect(try first.sql(".dump") == before)
        #expect(server.objectCount == count)
        #expect(try first.state.queuedChangeCount() == 0)
    }

    @Test func `a missing, an unreadable and an empty file are left alone`() throws {
        let (first, second) = try devices()
        try first.sql(AppDevice.entry(10))
        for device in [first, second] { try device.exchange() }
        try first.sql("PRAGMA journal_mode = DELETE")
        let path = first.database.path
        for (content, code) in [
            (nil, BackupError.Code.notFound), ([], .invalidContent), (Array(repeating: 7, count: 8_192), .damagedContent),
        ] as [([UInt8]?, BackupError.Code)] {
            try FileSystem.removeTree(path)
            if let content { try first.folder.write(content, to: "app.sqlite") }
            #expect(errorCode { try first.exchange() } == code)
            #expect(try first.state.queuedChangeCount() == 0)
        }
        // The app begins again, with an empty database: nothing of that goes to the others.
        try FileSystem.removeTree(path)
        _ = try AppDatabase.create(at: path, definition: first.database.definition)
        try first.exchange()
        #expect(try first.state.heldCount() == 1)
        try second.exchange()
        #expect(try second.sql("SELECT count(*) FROM entries") == "1\n")
    }

    @Test func `a record that the other database refuses stops there, and changes nothing`() throws {
        let (first, second) = try devices()
        try second.sql("CREATE UNIQUE INDEX names ON entries (name); " + AppDevice.entry(20, "taken"))
        try first.sql(AppDevice.entry(10, "free") + AppDevice.entry(11, "taken"))
        try first.exchange()
        let before = try second.entries()
        #expect(try second.exchange().problems.map(\.code) == [.invalidContent])
        #expect(try second.entries() == before)
        try second.sql("UPDATE entries SET name = 'renamed' WHERE id LIKE '%20'")
        #expect(try second.exchange().problems.isEmpty)
        #expect(try second.sql("SELECT name FROM entries ORDER BY id") == "free\ntaken\nrenamed\n")
    }

    @Test func `a record with a value of another kind is reported, and not sent`() throws {
        let (first, second) = try devices()
        try first.sql(AppDevice.entry(10) + AppDevice.entry(11) + "UPDATE entries SET amount = 'many' WHERE id LIKE '%11'")
        #expect(
            try first.exchange().problems.map(\.message.english) == [
                """
                the record 00000000-0000-4000-8000-000000000011 of entries is not sent to other devices: amount must be a number, not a \
                text
                """
            ])
        try second.exchange()
        #expect(try second.sql("SELECT count(*) FROM entries") == "1\n")
    }

    @Test func `many records are many batches, in bounded memory`() throws {
        let (first, second) = try devices()
        try first.sql(
            """
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
            INSERT INTO entries SELECT printf('%08x-0000-4000-8000-000000000000', i), '2026-01-11T08:00:00Z', printf('%0200d', i), i,
                'cups', i % 2 FROM n
            """)
        for device in [first, second] { try device.exchange() }
        #expect(try second.entries() == first.entries())
        let batches = try allBatches(in: SimulatedStorage(server))
        #expect(batches.count > 4)
        #expect(batches.allSatisfy { $0.encoded.count < 2 << 20 })
    }
}

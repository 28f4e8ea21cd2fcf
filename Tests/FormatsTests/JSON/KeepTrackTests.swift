import AppData
import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

/// KeepTrack's exports, as its documents describe them and as the released app writes them.
struct KeepTrackTests {
    private static func definition() throws -> AppDefinition { try AppDefinition.builtIn(named: "keeptrack") }

    /// What Foundation's encoder makes of the released app's records.
    private static let released = """
        {
          "entries" : [
            {
              "amount" : 2.5,
              "date" : "2026-01-11T14:30:00Z",
              "goalMet" : true,
              "id" : "7F3C1C52-3C57-4B6F-9C3A-0A4D2B7E1F11",
              "name" : "Vitamin D\\/K",
              "units" : "mg"
            }
          ],
          "exportDate" : "2026-01-11T14:30:00Z",
          "goals" : [
            {
              "dates" : [
                "2026-01-11T08:00:00Z",
                "2026-01-12T08:00:00Z"
              ],
              "description" : "Every day",
              "dosage" : 5,
              "frequency" : "daily",
              "id" : "0B0A2C1E-93B5-4C0C-8E57-1B0B7C9A2D22",
              "isActive" : true,
              "isCompleted" : false,
              "name" : "Vitamin D",
              "units" : "IU"
            },
            {
              "dates" : [

              ],
              "id" : "1b0a2c1e-93b5-4c0c-8e57-1b0b7c9a2d22",
              "isActive" : false,
              "name" : "Walk"
            }
          ],
          "intakeTypes" : [

          ],
          "settings" : {
            "autoBackupEnabled" : true,
            "cloudSyncEnabled" : false,
            "notificationsEnabled" : true,
            "preferredUnits" : "metric",
            "theme" : "auto"
          },
          "version" : 1
        }
        """

    /// As the app's documents list the fields, with dates as an encoder writes them that is told nothing.
    private static let documented = """
        {"version": 1, "exportDate": 789834600,
         "entries": [{"id": "7F3C1C52-3C57-4B6F-9C3A-0A4D2B7E1F11", "date": 789834600.25, "name": "Water", "amount": 2,
                      "units": "cups", "goalMet": false}],
         "intakeTypes": [{"id": "7F3C1C52-3C57-4B6F-9C3A-0A4D2B7E1F12", "name": "Water", "unit": "cup", "amount": 1.5,
                          "frequency": "daily"}],
         "goals": [{"id": "7F3C1C52-3C57-4B6F-9C3A-0A4D2B7E1F13", "name": "Drink", "dates": [789834600, -1], "isActive": true}],
         "settings": {"cloudSyncEnabled": true, "autoBackupEnabled": false, "lastBackupDate": 0}}
        """

    private static func database(in folder: TemporaryFolder) throws -> AppDatabase {
        try AppDatabase.create(at: folder("app.sqlite"), definition: definition())
    }

    private static func read(_ text: String, into database: AppDatabase) throws {
        let file = try WireImport(MemorySource(text), definition: definition(), now: EVFixture.now, bufferSizeBytes: 256)
        var instructions = ImportInstructions(strategy: .replace)
        instructions.expectedCounts = file.summary.recordCounts
        // The settings in an export are for another device, unless the user wants them.
        instructions.restoresSettings = true
        try database.run(instructions, from: file.reader)
    }

    private static func written(_ database: AppDatabase) throws -> MemorySink {
        let sink = MemorySink()
        let statistics = try database.readSnapshot { (snapshot) throws(BackupError) in
            try WireWriter().write(snapshot, createdAt: EVFixture.exportTime, to: sink)
        }
        #expect(statistics.anomalies == [])
        return sink
    }

    @Test func `an export of the released app comes out byte for byte`() throws {
        let folder = try TemporaryFolder()
        let database = try Self.database(in: folder)
        try Self.read(Self.released, into: database)
        #expect(String(decoding: try Self.written(database).whole, as: UTF8.self) == Self.released)
        #expect(
            try run(["sqlite3", database.path, "SELECT dates, typeof(dosage) FROM goals WHERE is_active"]).output
                == "[\"2026-01-11T08:00:00Z\",\"2026-01-12T08:00:00Z\"]|real\n")
    }

    @Test func `a list of dates is bounded`() throws {
        func text(_ count: Int) -> String {
            let dates = String(repeating: "1,", count: count - 1) + "1"
            return Self.documented.replacing("[789834600, -1]", with: "[\(dates)]")
        }
        _ = try WireImport(MemorySource(text(100_000)), definition: Self.definition(), now: EVFixture.now)
        let error = failure { _ = try WireImport(MemorySource(text(100_001)), definition: Self.definition(), now: EVFixture.now) }
        #expect(error?.code == .invalidContent)
        #expect(error?.findings.first?.hasSuffix(": a list has more than 100000 dates") == true)
    }

    @Test func `FKT-01, FKT-03, FKT-05: dates as numbers count the seconds since 2001`() throws {
        let folder = try TemporaryFolder()
        let database = try Self.database(in: folder)
        try Self.read(Self.documented, into: database)
        #expect(
            try run(["sqlite3", database.path, "SELECT date, amount FROM entries; SELECT dates FROM goals"]).output == """
                2026-01-11T14:30:00.250Z|2.0
                ["2026-01-11T14:30:00Z","2000-12-31T23:59:59Z"]

                """)
        let written = String(decoding: try Self.written(database).whole, as: UTF8.self)
        // What the documents do not know is not there.
        for name in ["descrip", "isCompleted", "dosage", "theme"] { #expect(!written.contains("\"\(name)\"")) }
        let order = try run(["jq", "-c", "keys_unsorted, .entries[0], .goals[0].dates"], input: Array(written.utf8)).output
        #expect(
            order == """
                ["entries","exportDate","goals","intakeTypes","settings","version"]
                {"amount":2,"date":"2026-01-11T14:30:00.250Z","goalMet":false,"id":"7F3C1C52-3C57-4B6F-9C3A-0A4D2B7E1F11","name":"Water","units":"cups"}
                ["2026-01-11T14:30:00Z","2000-12-31T23:59:59Z"]

                """)
    }

    @Test func `FKT-04, RST-14: the time of the last backup is this machine's, and stays`() throws {
        let folder = try TemporaryFolder()
        let database = try Self.database(in: folder)
        let set = "INSERT INTO app_settings VALUES ('last_backup_date', '2026-01-01T00:00:00Z'), ('theme', 'light')"
        #expect(try run(["sqlite3", database.path, set]).status == 0)
        try Self.read(Self.documented, into: database)
        #expect(
            try run(["sqlite3", database.path, "SELECT key, value FROM app_settings ORDER BY key"]).output == """
                auto_backup_enabled|false
                cloud_sync_enabled|true
                last_backup_date|2026-01-01T00:00:00Z

                """)
    }

    @Test(arguments: [
        (
            "\"id\": \"7F3C1C52-3C57-4B6F-9C3A-0A4D2B7E1F11\"", "\"id\": \"7F3C1C52\"",
            "entry 7F3C1C52: id \"7F3C1C52\" is not a UUID"
        ),
        ("\"dates\": [789834600, -1]", "\"dates\": [789834600, \"soon\"]", "goals must be a list of ISO 8601 dates"),
        ("\"dates\": [789834600, -1]", "\"dates\": [[]]", "must be a list of ISO 8601 dates"),
        ("\"dates\": [789834600, -1]", "\"dates\": 1", "must be a list of ISO 8601 dates"),
        ("789834600.25", "1e300", "date must be a text with a date, not a number"),
        ("789834600.25", "\"2026-01-11\"", "date \"2026-01-11\" is not an ISO 8601 date with a time zone"),
        ("\"amount\": 2,", "\"amount\": \"2\",", "amount must be a number, not a text"),
        ("\"goals\": [", "\"goal\": [", "missing field goals"), ("\"exportDate\": 789834600,", "", "missing field exportDate"),
        ("\"version\": 1,", "", "missing field version"),
        ("\"goalMet\": false", "\"goalMet\": 0", "goalMet must be true or false"),
    ])
    func `VAL-19: what is wrong is reported`(old: String, new: String, message: String) throws {
        let text = Self.documented.replacing(old, with: new)
        #expect(text != Self.documented)
        do {
            _ = try WireImport(MemorySource(text), definition: Self.definition(), now: EVFixture.now)
            Issue.record("taken: \(new)")
        } catch let error as BackupError {
            #expect(error.code == .invalidContent)
            #expect(
                "\(error.message) \(error.findings)".contains(message.replacing("goals must", with: "must")), "\(error.message)")
        }
    }

    @Test func `the schema of an export takes both, and refuses what is broken`() throws {
        let folder = try TemporaryFolder()
        let schema = try folder.write(
            String(decoding: ExportSchema(Self.definition()).json.prettyText, as: UTF8.self), to: "schema.json")
        let right = try [folder.write(Self.released, to: "released.json"), folder.write(Self.documented, to: "documented.json")]
        #expect(try SchemaCheck.lines(right, by: schema) == ["released.json: valid", "documented.json: valid"])
        let broken = [
            Self.documented.replacing("\"version\": 1,", with: ""), Self.documented.replacing("[789834600, -1]", with: "[true]"),
            Self.documented.replacing("0A4D2B7E1F13", with: "0A4D2B7E1F1"),
            Self.released.replacing("\"goalMet\" : true", with: "\"goalMet\" : 1"),
        ]
        for text in broken {
            let lines = try SchemaCheck.lines([folder.write(text, to: "broken.json")], by: schema)
            #expect(lines.count == 1 && !lines[0].hasSuffix(": valid"), "\(lines)")
        }
    }
}

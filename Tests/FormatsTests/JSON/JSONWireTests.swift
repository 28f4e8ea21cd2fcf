import AppData
import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

@Suite("Wire format in and out")
struct JSONWireTests {
    @Test("the example comes out as it went in, byte for byte")
    func example() throws {
        let folder = try TemporaryFolder()
        for bufferSize in [64, 100, 256 << 10] {
            let sink = try EVFixture.roundTrip(SampleDocument.text, in: folder, bufferSizeBytes: bufferSize)
            #expect(String(decoding: sink.whole, as: UTF8.self) == SampleDocument.text)
        }
    }

    @Test("collections are the very bytes that stand in the export")
    func collections() throws {
        let sink = try EVFixture.roundTrip(SampleDocument.text, in: TemporaryFolder())
        #expect(sink.order == ["cars", "expenses", "plannedMaintenance", "delayedNotifications"])
        #expect(
            String(decoding: sink.collections["plannedMaintenance"] ?? [], as: UTF8.self) == """
                [
                    {
                      "id": 1,
                      "carId": 1,
                      "description": "Tire rotation",
                      "scheduledDate": "2026-02-15T10:00:00Z",
                      "isCompleted": false
                    }
                  ]
                """)
        for bytes in sink.collections.values { #expect(sink.whole.firstRange(of: bytes) != nil) }
    }

    @Test("no records give empty arrays, and settings that are not there their defaults")
    func empty() throws {
        let text = """
            {"metadata": {"createdAt": "2020-01-01T00:00:00+03:00", "appVersion": "1", "databaseSchemaVersion": 1},
             "cars": [], "expenses": [], "plannedMaintenance": [], "delayedNotifications": []}
            """
        let sink = try EVFixture.roundTrip(text, in: TemporaryFolder())
        #expect(
            String(decoding: sink.whole, as: UTF8.self) == """
                {
                  "metadata": {
                    "createdAt": "2026-01-11T14:30:00Z",
                    "appVersion": "1",
                    "deviceName": "unknown",
                    "databaseSchemaVersion": 1
                  },
                  "cars": [],
                  "expenses": [],
                  "plannedMaintenance": [],
                  "delayedNotifications": [],
                  "userSettings": {
                    "preferredCurrency": "USD",
                    "preferredLanguage": "en"
                  }
                }

                """)
        #expect(sink.collections["cars"] == Array("[]".utf8))
    }

    @Test("members in any order, unknown ones anywhere, a byte order mark")
    func anyOrder() throws {
        let shuffled = """
            {"userSettings": {"preferredLanguage": "en", "theme": "dark", "preferredCurrency": "USD"}, "comment": [{"a": {}}],
             "delayedNotifications": [{"scheduledDate": "2026-02-14T09:00:00Z", "body": "Time for tire rotation",
               "title": "Maintenance reminder", "id": "notification-uuid-1"}],
             "plannedMaintenance": [{"isCompleted": false, "scheduledDate": "2026-02-15T10:00:00Z",
               "description": "Tire rotation", "carId": 1, "id": 1}],
             "expenses": [{"carId": 1, "currency": "USD", "expenseType": "charging", "isInitialRecord": false,
               "notes": "Home charging overnight", "cost": "12.50", "odometer": 14950, "chargerType": "home7kW",
               "energyCharged": 45.5, "date": "2026-01-10T21:30:00+03:00", "id": 1, "fuel": null}],
             "cars": [{"createdAt": "2024-06-01T10:00:00Z", "color": "red", "milleageSyncedAt": "2026-01-11T12:00:00Z",
               "initialMileage": 0, "currentMileage": 15000, "expenseCurrency": "USD", "batteryCapacity": 60,
               "selectedForTracking": true, "name": "Tesla Model 3", "id": 1}],
             "metadata": {"databaseSchemaVersion": 1, "deviceName": "iPhone 15 Pro", "appVersion": "2026.1.1",
               "build": {"n": 1}, "createdAt": "2026-01-11T14:30:00Z"}}
            """
        let sink = try EVFixture.roundTrip("\u{FEFF}" + shuffled, in: TemporaryFolder())
        #expect(String(decoding: sink.whole, as: UTF8.self) == SampleDocument.text)
        let summary = try EVFixture.validate(shuffled)
        #expect(
            summary.unknownFields == [
                "cars.color": 1, "comment": 1, "expenses.fuel": 1, "metadata.build": 1, "userSettings.theme": 1,
            ])
        #expect(
            summary.warnings == [
                "Unknown fields were ignored: cars.color (1), comment (1), expenses.fuel (1), metadata.build (1), "
                    + "userSettings.theme (1)."
            ])
    }

    @Test(
        "numbers survive exactly",
        arguments: [
            ("0", "0.0"), ("45", "45.0"), ("0.1", "0.1"), ("1e300", "1e+300"), ("5e-324", "5e-324"), ("-0.0", "-0.0"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"), ("0.30000000000000004", "0.30000000000000004"),
            ("123456789.125", "123456789.125"), ("4.5e1", "45.0"), ("2.2250738585072014E-308", "2.2250738585072014e-308"),
            ("9007199254740993.5", "9.007199254740994e+15"), ("1e16", "1e+16"),
            ("3.141592653589793238462643383279", "3.141592653589793"),
            ("77.4", "77.4"), ("0.000001", "1e-06"),
        ])
    func doubles(_ given: String, _ written: String) throws {
        let text = SampleDocument.text.replacing("\"energyCharged\": 45.5", with: "\"energyCharged\": \(given)")
        let sink = try EVFixture.roundTrip(text, in: TemporaryFolder())
        let output = String(decoding: sink.whole, as: UTF8.self)
        #expect(output == SampleDocument.text.replacing("\"energyCharged\": 45.5", with: "\"energyCharged\": \(written)"))
        // Python reads both to the same bits, sign included.
        let code =
            "import json,sys; a,b=(json.load(open(f))['expenses'][0]['energyCharged'] for f in sys.argv[1:]); "
            + "print(float(a).hex() == float(b).hex())"
        let folder = try TemporaryFolder()
        try FileSystem.writeFileAtomically(folder("a"), Array(text.utf8))
        try FileSystem.writeFileAtomically(folder("b"), sink.whole)
        #expect(try run(["python3", "-c", code, folder("a"), folder("b")]).output == "True\n")
    }

    @Test("whole numbers of 64 bits survive, and so do their neighbours' texts")
    func integers() throws {
        for number in ["9223372036854775807", "-9223372036854775808", "9007199254740993", "0", "-1"] {
            let text = SampleDocument.text.replacing("\"id\": 1,\n      \"date\"", with: "\"id\": \(number),\n      \"date\"")
            let sink = try EVFixture.roundTrip(text, in: TemporaryFolder())
            #expect(String(decoding: sink.whole, as: UTF8.self) == text)
        }
    }

    @Test("money is kept to the letter", arguments: ["0.10", "12345678901234.56", "0", "0.00", "100", "12.5", "1e+16", "007.50"])
    func money(_ cost: String) throws {
        let text = SampleDocument.text.replacing("\"12.50\"", with: "\"\(cost)\"")
        let sink = try EVFixture.roundTrip(text, in: TemporaryFolder())
        #expect(String(decoding: sink.whole, as: UTF8.self) == text)
    }

    @Test("texts survive byte for byte, and come out in one way of writing")
    func texts() throws {
        let cases: [(given: String, written: String)] = [
            ("", ""), ("Заряд дома ☕", "Заряд дома ☕"), ("😀👨‍👩‍👧‍👦", "😀👨‍👩‍👧‍👦"), ("\u{E9}", "\u{E9}"), ("e\u{301}", "e\u{301}"),
            ("\u{2028}\u{2029}\u{FEFF}", "\u{2028}\u{2029}\u{FEFF}"), ("a\\u0000b", "a\\u0000b"), ("\\/", "/"), ("/", "/"),
            ("\\u00e9", "\u{E9}"), ("\\ud83d\\ude00", "😀"), ("\\b\\f\\n\\r\\t\\\"\\\\", "\\b\\f\\n\\r\\t\\\"\\\\"),
            ("\\u001f\\u007f", "\\u001f\u{7F}"), (String(repeating: "ä", count: 5_000), String(repeating: "ä", count: 5_000)),
        ]
        let folder = try TemporaryFolder()
        for (given, written) in cases {
            let text = SampleDocument.text.replacing("Home charging overnight", with: given)
            let sink = try EVFixture.roundTrip(text, in: folder, bufferSizeBytes: 128)
            let expected = SampleDocument.text.replacing("Home charging overnight", with: written)
            // Bytes, since Swift's == takes é in one code point for é in two.
            #expect(sink.whole == Array(expected.utf8), "\(given)")
        }
    }

    @Test("dates come out in UTC, fractions kept, what is in UTC to the letter")
    func dates() throws {
        let cases = [
            ("2026-01-10T18:30:00Z", "2026-01-10T18:30:00Z"), ("2026-01-10T21:30:00+03:00", "2026-01-10T18:30:00Z"),
            ("2026-01-10T18:30:00.500Z", "2026-01-10T18:30:00.500Z"), ("2026-01-10T18:30:00.1Z", "2026-01-10T18:30:00.1Z"),
            ("2026-01-10T18:30:00.25-00:30", "2026-01-10T19:00:00.250Z"), ("2026-01-10t18:30:00z", "2026-01-10T18:30:00Z"),
            ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"), ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
        ]
        for (given, written) in cases {
            let text = SampleDocument.text.replacing("2026-01-10T18:30:00Z", with: given)
            let sink = try EVFixture.roundTrip(text, in: TemporaryFolder())
            let expected = SampleDocument.text.replacing("2026-01-10T18:30:00Z", with: written)
            #expect(String(decoding: sink.whole, as: UTF8.self) == expected)
        }
    }

    @Test("what may be null is left out when it is")
    func nulls() throws {
        let text = SampleDocument.text.replacing("\"cost\": \"12.50\"", with: "\"cost\": null")
            .replacing("      \"notes\": \"Home charging overnight\",\n", with: "")
            .replacing("\"batteryCapacity\": 60.0", with: "\"batteryCapacity\": null")
            .replacing("\"currency\": \"USD\",\n      \"carId\": 1", with: "\"currency\": \"USD\"")
        let expected = SampleDocument.text.replacing("      \"cost\": \"12.50\",\n", with: "")
            .replacing("      \"notes\": \"Home charging overnight\",\n", with: "")
            .replacing("      \"batteryCapacity\": 60.0,\n", with: "")
            .replacing("\"currency\": \"USD\",\n      \"carId\": 1", with: "\"currency\": \"USD\"")
        let sink = try EVFixture.roundTrip(text, in: TemporaryFolder())
        #expect(String(decoding: sink.whole, as: UTF8.self) == expected)
    }

    @Test("records are written in the order of their keys")
    func order() throws {
        let record = { (id: Int) in
            "{\"id\": \(id), \"carId\": 1, \"description\": \"\", \"scheduledDate\": \"2026-02-15T10:00:00Z\", \"isCompleted\": true}"
        }
        let text = SampleDocument.text.replacing(
            #/"plannedMaintenance": \[[^\]]*\]/#,
            with: "\"plannedMaintenance\": [\([10, 9, -3, 100, 2].map(record).joined(separator: ","))]")
        let sink = try EVFixture.roundTrip(text, in: TemporaryFolder())
        let ids = try run(["jq", "-c", "[.plannedMaintenance[].id]"], input: sink.whole)
        #expect(ids.output == "[-3,2,9,10,100]\n")
    }

    @Test("an export of a large sample is the same as Python's view of the database")
    func sampleAgainstPython() throws {
        let folder = try TemporaryFolder()
        let definition = try EVFixture.definition()
        let database = try AppDatabase.create(at: folder("app.sqlite"), definition: definition)
        try database.replaceAll(from: SampleData(definition: definition, expenseCount: 5_000))
        let descriptor = try OwnedDescriptor.open(folder("export.json"), O_WRONLY | O_CREAT | O_EXCL)
        let sink = DescriptorSink(descriptor)
        let statistics = try database.readSnapshot { (snapshot) throws(BackupError) in
            try WireWriter().write(snapshot, createdAt: EVFixture.exportTime, to: sink)
        }
        #expect(statistics.recordCounts == [3, 5_000, 8, 4])
        let script = """
            import json, sqlite3, sys
            db = sqlite3.connect(sys.argv[1])
            db.row_factory = sqlite3.Row
            def rows(table, booleans):
                out = []
                for row in db.execute(f'select * from {table} order by 1'):
                    record = {}
                    for name in row.keys():
                        if row[name] is None: continue
                        words = name.split('_')
                        record[words[0] + ''.join(w.capitalize() for w in words[1:])] = bool(row[name]) if name in booleans else row[name]
                    out.append(record)
                return out
            expected = {'metadata': {'createdAt': '2026-01-11T14:30:00Z', 'appVersion': '2026.1.1', 'deviceName': 'iPhone 15 Pro',
                                     'databaseSchemaVersion': 1},
                        'cars': rows('cars', ['selected_for_tracking']), 'expenses': rows('expenses', ['is_initial_record']),
                        'plannedMaintenance': rows('planned_maintenance', ['is_completed']),
                        'delayedNotifications': rows('delayed_notifications', []),
                        'userSettings': {'preferredCurrency': 'USD', 'preferredLanguage': 'en'}}
            text = open(sys.argv[2], encoding='utf-8').read()
            print(json.dumps(expected, indent=2, ensure_ascii=False) + '\\n' == text)
            """
        let result = try run(["python3", "-c", script, folder("app.sqlite"), folder("export.json")])
        #expect(result.output == "True\n")
    }

    @Test("what does not fit its field is written as it is, and told")
    func anomalies() throws {
        let folder = try TemporaryFolder()
        let definition = try EVFixture.definition()
        let path = folder("app.sqlite")
        let database = try AppDatabase.create(at: path, definition: definition)
        try database.replaceAll(from: WireReader(MemorySource(SampleDocument.text), definition: definition))
        let sql =
            "update expenses set odometer = 'far', cost = x'00ff', is_initial_record = 2, energy_charged = 7, notes = cast(x'61ff62' as text)"
        #expect(try run(["sqlite3", path, sql]).status == 0)
        let sink = MemorySink()
        let statistics = try database.readSnapshot { (snapshot) throws(BackupError) in
            try WireWriter().write(snapshot, createdAt: EVFixture.exportTime, to: sink)
        }
        let expected = SampleDocument.text.replacing("\"odometer\": 14950", with: "\"odometer\": \"far\"")
            .replacing("\"12.50\"", with: "\"00ff\"").replacing("\"isInitialRecord\": false", with: "\"isInitialRecord\": 2")
            .replacing("45.5", with: "7.0").replacing("Home charging overnight", with: "a\u{FFFD}b")
        #expect(String(decoding: sink.whole, as: UTF8.self) == expected)
        #expect(
            statistics.anomalies == [
                "expense 1: odometer is not of the kind it should be", "expense 1: cost is not of the kind it should be",
                "expense 1: notes is not of the kind it should be", "expense 1: isInitialRecord is not of the kind it should be",
            ])
    }
}

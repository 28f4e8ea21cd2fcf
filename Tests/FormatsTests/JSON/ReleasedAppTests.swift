import AppData
import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

/// Exports of the released charging tracker (schema versions 2 to 9): they come in, and go out as they came.
struct ReleasedAppTests {
    private static func export(_ version: Int) -> ReleasedApp {
        ReleasedApp(version: version, createdAt: Date(timeIntervalSince1970: Double(EVFixture.exportTime.seconds)))
    }

    private static func output(_ text: String) throws -> String {
        String(decoding: try EVFixture.roundTrip(text, in: TemporaryFolder(), bufferSizeBytes: 512).whole, as: UTF8.self)
    }

    @Test(arguments: 2...9)
    func `VAL-04: an export comes out byte for byte as Foundation wrote it`(version: Int) throws {
        var app = Self.export(version)
        if version >= 6 {
            app.cars[0].frontWheelSize = "235/45 R18"
            app.cars[0].rearWheelSize = ""
        }
        if version >= 7 {
            app.documents = [ReleasedApp.Document(), .init(id: 2, customTitle: "Ünïcode / \u{2028}\u{7F}")]
            app.ideas = []
        }
        if version >= 8 { app.cars[0].measurementSystem = "imperial" }
        if version >= 9 {
            app.cars[0].carType = "hybrid"
            app.expenses[0].fuelType = "95"
            app.expenses[0].fuelVolume = 40
        }
        let text = try app.json()
        #expect(try Self.output(text) == text)
    }

    @Test func `odd values survive`() throws {
        var app = Self.export(9)
        app.documents = []
        app.ideas = [.init(), .init(id: 7, url: nil, descriptionText: "a\tb\u{1}\u{8}\u{C}\r\n\\ \"q\" </script>")]
        app.cars += [.init(id: -5, name: "", batteryCapacity: nil), .init(id: 9_007_199_254_740_993, batteryCapacity: 0)]
        app.cars.sort { $0.id < $1.id }
        app.expenses = [0, 0.1, 60, 1e15, 1e16, 1e21, .leastNonzeroMagnitude, 123_456_789.123_456_78].enumerated().map {
            number, energy in
            .init(
                id: number, energyCharged: energy, chargerType: "Supercharger V4 (350kW)", cost: number == 0 ? nil : "0.10",
                notes: "e\u{301} ≠ é", expenseType: "other", carId: number == 1 ? nil : -5)
        }
        app.plannedMaintenance = [
            .init(odometer: 20_000), .init(id: 3, when: Date(timeIntervalSince1970: -1)), .init(id: 4, notes: ""),
        ]
        // The app does not check it: maintenance record 99 is not there.
        app.delayedNotifications = [.init(maintenanceRecord: 99)]
        let text = try app.json()
        #expect(try Self.output(text) == text)
    }

    @Test func `nothing at all comes out as it came`() throws {
        var app = Self.export(4)
        (app.cars, app.expenses, app.plannedMaintenance, app.delayedNotifications) = ([], [], [], [])
        let text = try app.json()
        #expect(text.contains(#""cars" : [\#n\#n  ],"#))
        #expect(try Self.output(text) == text)
    }

    @Test func `the version is found wherever the metadata stands`() throws {
        let definition = try EVFixture.definition()
        for (version, expected) in [(1, 1...1), (2, 2...6), (6, 2...6), (7, 7...9), (9, 7...9)] {
            let text = #"{"cars": [{"a": {"metadata": 5}}], "metadata": {"x": [1], "databaseSchemaVersion": \#(version)}}"#
            #expect(definition.format(ofVersion: version).formatVersions == expected)
            #expect(definition.format(ofVersion: version).schemaVersion == (version == 1 ? 1 : version))
            let error = #expect(throws: BackupError.self) {
                _ = try WireImport(MemorySource(text), definition: definition, now: EVFixture.now)
            }
            #expect(error?.findings.contains("missing field expenses") == true, "\(version)")
        }
    }

    @Test func `an unknown version is read as the newest one, with the warning`() throws {
        var app = Self.export(10)
        (app.documents, app.ideas) = ([], [])
        let text = try app.json()
        #expect(
            try EVFixture.validate(text).warnings == [
                "This backup was created with a newer version of the app. Import may fail or cause data loss."
            ])
        // It goes out as what it was understood to be.
        #expect(try Self.output(text) == text.replacing("\"databaseSchemaVersion\" : 10", with: "\"databaseSchemaVersion\" : 9"))
    }

    @Test func `VAL-04: known versions are no reason to warn`() throws {
        for version in 2...9 { #expect(try EVFixture.validate(Self.export(version).json()).warnings == []) }
        #expect(try EVFixture.validate(SampleDocument.text).warnings == [])
    }

    @Test func `a file in the documents' form that says another version is taken for what it is`() throws {
        let text = SampleDocument.text.replacing("\"databaseSchemaVersion\": 1", with: "\"databaseSchemaVersion\": 2")
        #expect(
            try EVFixture.validate(text).warnings == [
                "This backup was created with a newer version of the app. Import may fail or cause data loss."
            ])
        #expect(try Self.output(text) == SampleDocument.text)
    }

    @Test(arguments: [
        ("\"odometer\" : 14950", "\"odometer\" : -1", "expense 1: odometer must not be negative"),
        ("\"carId\" : 1,\n      \"chargerType\"", "\"carId\" : 2,\n      \"chargerType\"", "expense 1 refers to unknown car 2"),
        ("Home (7kW)", "Home (8kW)", "expense 1: chargerType \"Home (8kW)\" is not known"),
        ("CN¥", "XXQ", "expense 1: currency \"XXQ\" is not a currency code"),
        ("2025-10-09", "2099-10-09", "expense 1: date 2099-10-09T08:53:20Z is in the future"),
        ("\"name\" : \"Tyres\"", "\"nome\" : \"Tyres\"", "maintenance record 1: missing field name"),
    ])
    func `what is wrong with the released app's form is reported`(old: String, new: String, finding: String) throws {
        let text = try Self.export(9).json()
        try #require(text.contains(old))
        let error = #expect(throws: BackupError.self) { _ = try EVFixture.validate(text.replacing(old, with: new)) }
        #expect(error?.message == "Import failed: \(finding)")
    }
}

import AppData
import BackupCore
import Formats
import TestSupport
import Testing

/// A change to the example, and the finding it must lead to.
struct ImportMistake: Sendable, CustomTestStringConvertible {
    let old: String
    let new: String
    /// All findings.
    let findings: [String]

    init(_ old: String, _ new: String, _ findings: String...) {
        self.old = old
        self.new = new
        self.findings = findings
    }

    var testDescription: String { "\(old) → \(new)" }

    static let all: [ImportMistake] = [
        // Required members
        ImportMistake("\"createdAt\": \"2026-01-11T14:30:00Z\",", "", "missing field metadata.createdAt"),
        ImportMistake("\"appVersion\": \"2026.1.1\",", "", "missing field metadata.appVersion"),
        ImportMistake(
            "\"deviceName\": \"iPhone 15 Pro\",\n    \"databaseSchemaVersion\": 1", "\"deviceName\": \"x\"",
            "missing field metadata.databaseSchemaVersion"),
        ImportMistake("\"metadata\"", "\"meta\"", "missing field metadata"),
        ImportMistake("\"cars\"", "\"car\"", "missing field cars", "expense 1 refers to unknown car 1"),
        ImportMistake("\"expenses\"", "\"expense\"", "missing field expenses"),
        ImportMistake("\"plannedMaintenance\"", "\"planned\"", "missing field plannedMaintenance"),
        ImportMistake("\"delayedNotifications\"", "\"delayed\"", "missing field delayedNotifications"),
        ImportMistake("\"odometer\": 14950,", "", "expense 1: missing field odometer"),
        ImportMistake("\"id\": 1,\n      \"date\"", "\"date\"", "expense number 1: missing field id"),
        ImportMistake("\"id\": \"notification-uuid-1\",", "", "notification number 1: missing field id"),
        // Kinds
        ImportMistake(
            "\"cost\": \"12.50\"", "\"cost\": 12.50", "expense 1: cost must be a text with a decimal number, not a number"),
        ImportMistake("\"odometer\": 14950", "\"odometer\": \"14950\"", "expense 1: odometer must be a whole number, not a text"),
        ImportMistake(
            "\"odometer\": 14950", "\"odometer\": 14950.5",
            "expense 1: odometer must be a whole number from -9223372036854775808 to 9223372036854775807"),
        ImportMistake(
            "\"odometer\": 14950", "\"odometer\": 14950.0",
            "expense 1: odometer must be a whole number from -9223372036854775808 to 9223372036854775807"),
        ImportMistake(
            "\"odometer\": 14950", "\"odometer\": 9223372036854775808",
            "expense 1: odometer must be a whole number from -9223372036854775808 to 9223372036854775807"),
        ImportMistake("\"odometer\": 14950", "\"odometer\": null", "expense 1: odometer must not be null"),
        ImportMistake("45.5", "1e400", "expense 1: energyCharged is a number out of range"),
        ImportMistake("45.5", "1e-400", "expense 1: energyCharged is a number out of range"),
        ImportMistake("45.5", "[45.5]", "expense 1: energyCharged must be a number, not an array"),
        ImportMistake(
            "\"isInitialRecord\": false", "\"isInitialRecord\": 0",
            "expense 1: isInitialRecord must be true or false, not a number"),
        ImportMistake("\"Tesla Model 3\"", "{\"name\": 3}", "car 1: name must be a text, not an object"),
        ImportMistake(
            "\"id\": 1,\n      \"name\"", "\"id\": \"1\",\n      \"name\"", "car 1: id must be a whole number, not a text",
            "expense 1 refers to unknown car 1"),
        ImportMistake(
            "\"preferredCurrency\": \"USD\"", "\"preferredCurrency\": 1",
            "userSettings: preferredCurrency must be a text, not a number"),
        // Dates
        ImportMistake(
            "2026-01-10T18:30:00Z", "2026-01-10T18:30:00",
            "expense 1: date \"2026-01-10T18:30:00\" is not an ISO 8601 date with a time zone"),
        ImportMistake(
            "2026-01-10T18:30:00Z", "2026-02-30T18:30:00Z",
            "expense 1: date \"2026-02-30T18:30:00Z\" is not an ISO 8601 date with a time zone"),
        ImportMistake("2026-01-10T18:30:00Z", "", "expense 1: date \"\" is not an ISO 8601 date with a time zone"),
        ImportMistake("2026-01-10T18:30:00Z", "2026-01-13T14:30:01Z", "expense 1: date 2026-01-13T14:30:01Z is in the future"),
        ImportMistake(
            "2026-01-11T12:00:00Z", "2026-01-14T00:00:00Z", "car 1: milleageSyncedAt 2026-01-14T00:00:00Z is in the future"),
        ImportMistake(
            "2026-02-15T10:00:00Z", "2037-02-15T10:00:00Z",
            "maintenance record 1: scheduledDate 2037-02-15T10:00:00Z is more than 10 years ahead"),
        // Numbers
        ImportMistake("\"12.50\"", "\"-0.01\"", "expense 1: cost must not be negative"),
        ImportMistake("\"12.50\"", "\"12,50\"", "expense 1: cost \"12,50\" is not a decimal number"),
        ImportMistake("\"12.50\"", "\"\"", "expense 1: cost \"\" is not a decimal number"),
        ImportMistake("\"12.50\"", "\"NaN\"", "expense 1: cost \"NaN\" is not a decimal number"),
        ImportMistake("\"12.50\"", "\"1.\"", "expense 1: cost \"1.\" is not a decimal number"),
        ImportMistake("\"12.50\"", "\"0x10\"", "expense 1: cost \"0x10\" is not a decimal number"),
        ImportMistake("45.5", "-1", "expense 1: energyCharged must not be negative"),
        ImportMistake("14950", "-1", "expense 1: odometer must not be negative"),
        ImportMistake("\"currentMileage\": 15000", "\"currentMileage\": -1", "car 1: currentMileage must not be negative"),
        ImportMistake("\"initialMileage\": 0", "\"initialMileage\": -1", "car 1: initialMileage must not be negative"),
        ImportMistake("\"batteryCapacity\": 60.0", "\"batteryCapacity\": 0", "car 1: batteryCapacity must be above 0"),
        // Codes
        ImportMistake(
            "\"expenseCurrency\": \"USD\"", "\"expenseCurrency\": \"XXQ\"",
            "car 1: expenseCurrency \"XXQ\" is not a currency code"),
        ImportMistake("\"currency\": \"USD\"", "\"currency\": \"usd\"", "expense 1: currency \"usd\" is not a currency code"),
        ImportMistake(
            "\"preferredCurrency\": \"USD\"", "\"preferredCurrency\": \"\"",
            "userSettings: preferredCurrency \"\" is not a currency code"),
        ImportMistake("\"home7kW\"", "\"home8kW\"", "expense 1: chargerType \"home8kW\" is not known"),
        ImportMistake("\"home7kW\"", "\"a\\u001b[31m\"", "expense 1: chargerType \"a\u{FFFD}[31m\" is not known"),
        ImportMistake("\"charging\"", "\"Charging\"", "expense 1: expenseType \"Charging\" is not known"),
        // References and keys
        ImportMistake("\"carId\": 1\n", "\"carId\": 99\n", "expense 1 refers to unknown car 99"),
        ImportMistake(
            "\"carId\": 1,\n      \"description\"", "\"carId\": 2,\n      \"description\"",
            "maintenance record 1 refers to unknown car 2"),
        ImportMistake(
            "\"id\": \"notification-uuid-1\",\n      \"title\": \"Maintenance reminder\",\n      \"body\": \"Time for tire rotation\",\n      \"scheduledDate\": \"2026-02-14T09:00:00Z\"\n    }",
            "\"id\": \"n\", \"title\": \"\", \"body\": \"\", \"scheduledDate\": \"2026-02-14T09:00:00Z\"},{\"id\": \"n\", \"title\": \"\", \"body\": \"\", \"scheduledDate\": \"2026-02-14T09:00:00Z\"}",
            "notification n occurs twice"),
        // Shapes
        ImportMistake(
            "\"cars\": [", "\"cars\": null, \"trucks\": [", "cars must be an array, not null", "expense 1 refers to unknown car 1"
        ),
        ImportMistake("\"expenses\": [", "\"expenses\": [7, ", "expenses[0] must be an object, not a number"),
        ImportMistake(
            "\"metadata\": {", "\"metadata\": [], \"meta\": {", "metadata must be an object, not an array",
            "missing field metadata"),
        // Several
        ImportMistake(
            "\"odometer\": 14950,\n      \"cost\": \"12.50\"", "\"odometer\": -5,\n      \"cost\": \"-1\"",
            "expense 1: odometer must not be negative", "expense 1: cost must not be negative"),
    ]
}

@Suite("Validation before an import")
struct JSONValidationTests {
    @Test("mistakes are found, all of them, in the document's words", arguments: ImportMistake.all)
    func mistakes(_ mistake: ImportMistake) throws {
        let text = SampleDocument.text.replacing(mistake.old, with: mistake.new, maxReplacements: 1)
        #expect(text != SampleDocument.text)
        let error = try #require(throws: BackupError.self) { try EVFixture.validate(text) }
        #expect(error.code == .invalidContent)
        #expect(error.findings == mistake.findings)
        #expect(error.message == "Import failed: \(mistake.findings[0])")
    }

    @Test(
        "what is allowed is allowed",
        arguments: [
            ("\"deviceName\": \"iPhone 15 Pro\",", ""), ("\"id\": 1,\n      \"date\"", "\"id\": -5,\n      \"date\""),
            (",\n  \"userSettings\": {\n    \"preferredCurrency\": \"USD\",\n    \"preferredLanguage\": \"en\"\n  }", ""),
            ("\"odometer\": 14950", "\"odometer\": 0"), ("\"12.50\"", "\"-0.00\""), ("45.5", "0"), ("45.5", "4e1"),
            ("2026-01-10T18:30:00Z", "2026-01-13T14:30:00Z"), ("2026-02-15T10:00:00Z", "2027-02-15T10:00:00Z"),
            ("2026-02-14T09:00:00Z", "2027-02-15T10:00:00Z"), ("\"home7kW\"", "\"Home (7kW)\""),
            ("\"charging\"", "\"insurance\""), ("\"currency\": \"USD\"", "\"currency\": \"₸\""),
            ("\"currency\": \"USD\"", "\"currency\": \"KZT\""), ("\"carId\": 1\n", "\"carId\": null\n"),
        ])
    func allowed(_ old: String, _ new: String) throws {
        let text = SampleDocument.text.replacing(old, with: new, maxReplacements: 1)
        #expect(text != SampleDocument.text)
        #expect(try EVFixture.validate(text).warnings == [])
    }

    @Test("the summary tells all that a preview shows")
    func summary() throws {
        let second =
            "{\"id\": 2, \"date\": \"2024-06-02T00:00:00.5Z\", \"energyCharged\": 1, \"chargerType\": \"Other\", \"odometer\": 1, \"isInitialRecord\": true, \"expenseType\": \"other\", \"currency\": \"EUR\"}, "
        let text = SampleDocument.text.replacing("\"expenses\": [", with: "\"expenses\": [\(second)")
        let summary = try EVFixture.validate(text)
        #expect(summary.createdAt == Timestamp(seconds: 1_768_141_800))
        #expect(summary.appVersion == "2026.1.1")
        #expect(summary.deviceName == "iPhone 15 Pro")
        #expect(summary.schemaVersion == 1)
        #expect(summary.recordCounts == [1, 2, 1, 1])
        #expect(summary.counts.map(\.name) == ["cars", "expenses", "plannedMaintenance", "delayedNotifications"])
        #expect(summary.dateRange?.earliest == Timestamp(seconds: 1_717_286_400, nanoseconds: 500_000_000))
        #expect(summary.dateRange?.latest == Timestamp(seconds: 1_768_069_800))
        #expect(summary.successMessage == "Imported 1 cars, 2 expenses, 1 maintenance records, 1 notifications.")
    }

    @Test("a newer schema is a warning in the document's words")
    func newer() throws {
        for version in ["2", "9", "4000000000"] {
            let summary = try EVFixture.validate(
                SampleDocument.text.replacing("\"databaseSchemaVersion\": 1", with: "\"databaseSchemaVersion\": \(version)"))
            #expect(
                summary.warnings == [
                    "This backup was created with a newer version of the app. Import may fail or cause data loss."
                ])
        }
    }

    @Test(
        "a schema version that cannot be read is told as such, before anything else",
        arguments: ["0", "-1", "1.5", "\"1\"", "null", "true", "1e0"])
    func incompatible(_ version: String) throws {
        let text = SampleDocument.text.replacing("\"databaseSchemaVersion\": 1", with: "\"databaseSchemaVersion\": \(version)")
            .replacing("\"appVersion\": \"2026.1.1\",", with: "")
        let error = try #require(throws: BackupError.self) { try EVFixture.validate(text) }
        #expect(error.code == .unsupportedVersion)
        #expect(error.message == "This backup is from an incompatible version of the app.")
        #expect(error.findings.count == 2)
    }

    @Test("more than one version behind is a warning, below the oldest an error")
    func older() throws {
        let yaml = """
            format: "1"
            name: notes
            title: Notes
            schemaVersion: "5"
            minimumSchemaVersion: "2"
            fileNames: {export: "e_{stamp}.json", backup: "b_{stamp}.json", safety: "s_{stamp}.json"}
            retention: {safetyKeepLast: "3"}
            envelope: [about, notes]
            metadata: {name: about, table: about, fields: [{name: version, source: schemaVersion, type: integer}]}
            collections:
              - {name: notes, table: notes, key: id, singular: note, plural: notes, fields: [{name: id, column: id, type: integer}]}
            """
        let definition = try AppDefinition.load(yaml: yaml)
        let validate = { (version: Int) in
            try ImportValidator(definition: definition, now: EVFixture.now).validate(
                WireReader(MemorySource("{\"about\": {\"version\": \(version)}, \"notes\": []}"), definition: definition)
            ).warnings
        }
        let warning = "This backup was created with a much older version of the app. Some data may be converted."
        #expect(try validate(5) == [])
        #expect(try validate(4) == [])
        #expect(try validate(3) == [warning])
        #expect(try validate(2) == [warning])
        #expect(throws: BackupError.self) { try validate(1) }
    }

    @Test("references are found whatever the order, and each missing key once")
    func references() throws {
        let expense = { (id: Int, car: Int) in
            "{\"id\": \(id), \"date\": \"2026-01-01T00:00:00Z\", \"energyCharged\": 1, \"chargerType\": \"other\", \"odometer\": 1, \"isInitialRecord\": true, \"expenseType\": \"other\", \"currency\": \"EUR\", \"carId\": \(car)}"
        }
        let car = { (id: Int) in
            "{\"id\": \(id), \"name\": \"\", \"selectedForTracking\": true, \"expenseCurrency\": \"EUR\", \"currentMileage\": 1, \"initialMileage\": 1, \"milleageSyncedAt\": \"2026-01-01T00:00:00Z\", \"createdAt\": \"2026-01-01T00:00:00Z\"}"
        }
        let cars = "\"cars\": [\([5, 3, 9].map(car).joined(separator: ","))]"
        let expenses = "\"expenses\": [\([(1, 5), (2, 7), (3, 3), (4, 7), (5, 8), (6, 9)].map(expense).joined(separator: ","))]"
        let rest =
            "\"plannedMaintenance\": [], \"delayedNotifications\": [], \"metadata\": {\"createdAt\": \"2026-01-01T00:00:00Z\", \"appVersion\": \"1\", \"databaseSchemaVersion\": 1}"
        for text in ["{\(cars), \(expenses), \(rest)}", "{\(expenses), \(rest), \(cars)}"] {
            let error = try #require(throws: BackupError.self) { try EVFixture.validate(text) }
            #expect(error.findings == ["expense 2 refers to unknown car 7", "expense 5 refers to unknown car 8"])
        }
        let disorder =
            "{\"cars\": [\([5, 3, 9, 3, 10, 11, 4, 11, 5].map(car).joined(separator: ","))], \"expenses\": [], \(rest)}"
        let error = try #require(throws: BackupError.self) { try EVFixture.validate(disorder) }
        #expect(error.findings == ["car 3 occurs twice", "car 11 occurs twice", "car 5 occurs twice"])
    }

    @Test("it stops at a hundred findings")
    func limit() throws {
        let records = (1...500).map {
            "{\"id\": \($0), \"carId\": 1, \"description\": \"\", \"scheduledDate\": \"soon\", \"isCompleted\": true}"
        }
        let text = SampleDocument.text.replacing(
            "\"plannedMaintenance\": [", with: "\"plannedMaintenance\": [\(records.joined(separator: ",")),")
        let error = try #require(throws: BackupError.self) { try EVFixture.validate(text) }
        #expect(error.findings.count == 100)
        #expect(error.findings[99] == "maintenance record 100: scheduledDate \"soon\" is not an ISO 8601 date with a time zone")
    }

    @Test("malformed JSON ends it at once, wherever it is")
    func malformed() throws {
        let good = Array(SampleDocument.text.utf8)
        for length in stride(from: 0, to: good.count - 2, by: 7) {
            let cut = String(decoding: good[..<length], as: UTF8.self)
            let error = try #require(throws: BackupError.self) { try EVFixture.validate(cut) }
            #expect(error.code == .invalidContent)
            #expect(error.message == "Invalid file format. Please select a valid backup file.")
            #expect(error.findings.count == 1)
            #expect(error.findings[0].hasPrefix("line "))
        }
        for text in ["[]", "7", "\"cars\"", "null", "[{}]"] {
            let error = try #require(throws: BackupError.self) { try EVFixture.validate(text) }
            #expect(error.message == "Invalid file format. Please select a valid backup file.")
            #expect(error.findings[0].hasSuffix("the outermost value is not an object"))
        }
    }

    @Test("another app's file is refused")
    func otherApp() throws {
        let error = try #require(throws: BackupError.self) {
            try EVFixture.validate("{\"version\": 2, \"exportDate\": 1, \"photos\": [], \"categories\": []}")
        }
        #expect(error.message == "Import failed: missing field metadata")
        #expect(error.findings.count == 5)
    }
}

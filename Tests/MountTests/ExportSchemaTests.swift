import TestSupport
import Testing

/// `schema.json` beside every export: Python's jsonschema, an independent implementation, accepts our exports and rejects broken
/// ones.
@Suite(
    .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct ExportSchemaTests {
    /// A defect in an export, as a change in Python, and the place where the schema must reject it.
    struct Case: Sendable {
        let change: String
        let place: String

        init(_ change: String, _ place: String) {
            self.change = change
            self.place = place
        }
    }

    private static let cases = [
        Case("del d['metadata']", "$: 'metadata'"), Case("del d['cars']", "$: 'cars'"), Case("d['cars'] = {}", "$.cars"),
        Case("d['cars'] = None", "$.cars"), Case("d['cars'][0] = 5", "$.cars[0]"), Case("d['metadata'] = None", "$.metadata"),
        Case("d['userSettings'] = []", "$.userSettings"),
        Case("d['userSettings']['preferredCurrency'] = 'XXQ'", "$.userSettings.preferredCurrency"),
        Case("del d['metadata']['databaseSchemaVersion']", "$.metadata"),
        Case("d['metadata']['databaseSchemaVersion'] = 0", "$.metadata.databaseSchemaVersion"),
        Case("d['metadata']['databaseSchemaVersion'] = '1'", "$.metadata.databaseSchemaVersion"),
        Case("d['metadata']['createdAt'] = '2026-01-11'", "$.metadata.createdAt"),
        Case("d['metadata']['createdAt'] = None", "$.metadata.createdAt"),
        Case("del d['cars'][0]['name']", "$.cars[0]: 'name'"), Case("d['cars'][0]['name'] = None", "$.cars[0].name"),
        Case("d['cars'][0]['id'] = '1'", "$.cars[0].id"), Case("d['cars'][0]['id'] = 1.5", "$.cars[0].id"),
        Case("d['cars'][0]['id'] = 2 ** 63", "$.cars[0].id"),
        Case("d['cars'][0]['selectedForTracking'] = 1", "$.cars[0].selectedForTracking"),
        Case("d['cars'][0]['batteryCapacity'] = 0", "$.cars[0].batteryCapacity"),
        Case("d['cars'][0]['batteryCapacity'] = '60'", "$.cars[0].batteryCapacity"),
        Case("d['cars'][0]['expenseCurrency'] = 'usd'", "$.cars[0].expenseCurrency"),
        Case("d['cars'][0]['currentMileage'] = -1", "$.cars[0].currentMileage"),
        Case("d['expenses'][0]['date'] = '2026-01-10T18:30:00'", "$.expenses[0].date"),
        Case("d['expenses'][0]['date'] = '2026-13-10T18:30:00Z'", "$.expenses[0].date"),
        Case("d['expenses'][0]['date'] = 1768069800", "$.expenses[0].date"),
        Case("d['expenses'][0]['chargerType'] = 'home'", "$.expenses[0].chargerType"),
        Case("d['expenses'][0]['chargerType'] = None", "$.expenses[0].chargerType"),
        Case("d['expenses'][0]['expenseType'] = 'Charging'", "$.expenses[0].expenseType"),
        Case("d['expenses'][0]['cost'] = '-12.50'", "$.expenses[0].cost"),
        Case("d['expenses'][0]['cost'] = 12.5", "$.expenses[0].cost"),
        Case("d['expenses'][0]['cost'] = '12,50'", "$.expenses[0].cost"),
        Case("d['expenses'][0]['energyCharged'] = -0.5", "$.expenses[0].energyCharged"),
        Case("d['expenses'][0]['carId'] = 'one'", "$.expenses[0].carId"),
        Case("d['expenses'][0]['isInitialRecord'] = 'no'", "$.expenses[0].isInitialRecord"),
        Case("del d['plannedMaintenance'][0]['carId']", "$.plannedMaintenance[0]"),
        Case("d['delayedNotifications'][0]['id'] = 1", "$.delayedNotifications[0].id"),
    ]

    /// Differences from our exports that are not errors.
    private static let harmless = [
        "d['more'] = {'a': [1]}", "d['cars'][0]['colour'] = 'red'", "d['cars'][0]['batteryCapacity'] = None",
        "d['expenses'][0]['cost'] = None", "d['expenses'][0].pop('notes', None)", "d['userSettings'] = None",
        "del d['userSettings']",
        "d['expenses'][0]['date'] = '2026-01-10T18:30:00.125+05:30'", "d['expenses'] = []", "d['expenses'][0]['cost'] = '0'",
        "d['metadata']['databaseSchemaVersion'] = 7", "d['metadata']['deviceName'] = None",
        "d['expenses'][0]['energyCharged'] = 5",
    ]

    /// Writes broken exports, and returns for each the schema's verdict and that of a restore.
    private static func check(_ sandbox: Sandbox, _ changes: [String], export: String, schema: String) throws -> [String] {
        try sandbox.write(changes.joined(separator: "\n"), to: "changes")
        try sandbox.python(
            """
            for number, change in enumerate(open(R + "/changes").read().split("\\n")):
                d = json.loads(read("\(export)"))
                exec(change)
                json.dump(d, open(R + f"/{number}.json", "w"))
            """)
        return try SchemaCheck.lines(changes.indices.map { "\(sandbox.path)/\($0).json" }, by: "\(sandbox.mountpoint)/\(schema)")
    }

    @Test func `exports are valid by the schema beside them, and broken ones are not`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cmp $M/snapshots/one/schema.json $M/live/schema.json")
            for folder in ["snapshots/one", "live"] {
                let top = "\(sandbox.mountpoint)/\(folder)"
                #expect(try SchemaCheck.lines(["\(top)/export.json"], by: "\(top)/schema.json") == ["export.json: valid"])
            }
            #expect(
                try sandbox.sh("jq -c '[.\"$schema\",.\"$id\",.title,.required]' $M/live/schema.json")
                    == #"["https://json-schema.org/draft/2020-12/schema","urn:backupfs:app:ev-charging-tracker:1","EV Charging Tracker","#
                    + #"["metadata","cars","expenses","plannedMaintenance","delayedNotifications"]]"#)
            let lines = try Self.check(
                sandbox, Self.cases.map(\.change), export: "live/export.json", schema: "snapshots/one/schema.json")
            let restored = Set(Rounds.part(of: Array(Self.cases.indices), oneIn: 3))
            for (index, each) in Self.cases.enumerated() {
                #expect(
                    lines[index].contains(each.place) && !lines[index].hasSuffix(": valid"), "\(each.change): \(lines[index])")
                guard restored.contains(index) else { continue }
                // A restore rejects everything that the schema rejects.
                let result = try sandbox.run("backupfs restore $R/\(index).json --dry-run --store $S")
                #expect(result.exitCode == 1, "\(each.change): \(result.text)")
            }
            let accepted = try Self.check(sandbox, Self.harmless, export: "live/export.json", schema: "live/schema.json")
            for (index, line) in accepted.enumerated() {
                #expect(line == "\(index).json: valid", "\(Self.harmless[index]): \(line)")
                guard Self.harmless[index] != "d['expenses'] = []" else { continue }
                try sandbox.sh("backupfs restore $R/\(index).json --dry-run --store $S >/dev/null")
            }
        }
    }

    @Test func `an app of one's own has a schema too`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            for folder in ["snapshots/one", "live"] {
                let top = "\(sandbox.mountpoint)/\(folder)"
                #expect(try SchemaCheck.lines(["\(top)/export.json"], by: "\(top)/schema.json") == ["export.json: valid"])
            }
            let changes = [
                "del d['photos'][0]['file']", "d['photos'][0]['caption'] = 5", "d['photos'][0]['id'] = None",
                "d['photos'][0]['caption'] = None",
            ]
            let lines = try Self.check(sandbox, changes, export: "live/export.json", schema: "live/schema.json")
            #expect(
                lines[0].contains("$.photos[0]: 'file'") && lines[1].contains("$.photos[0].caption")
                    && lines[2].contains("$.photos[0].id"))
            #expect(lines[3] == "3.json: valid")
        }
    }

    @Test func `the schema is a file of the backup like the others`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; echo more > $P/more.jpg; mkdir $M/snapshots/two; cp $M/live/schema.json $R/")
            for folder in ["snapshots/one", "snapshots/two", "live"] {
                try sandbox.sh(
                    "cmp $M/\(folder)/schema.json $R/schema.json; cmp <(unzip -p $M/\(folder)/archive.zip schema.json) $R/schema.json"
                )
                try sandbox.sh(
                    "cd $M/\(folder); grep -q '  schema.json$' SHA256SUMS; tar -xOf archive.tar schema.json | cmp - $R/schema.json"
                )
            }
            #expect(try sandbox.sh("getfattr --only-values -n user.mime_type $M/live/schema.json") == "application/json")
            // The app's data has changed, but its description has not.
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite \"update photos set caption = 'new' where id = 1\"; cmp $M/live/schema.json $R/schema.json"
            )
            try sandbox.fails("cp $R/schema.json $M/restore/", saying: "Invalid argument")
        }
    }
}

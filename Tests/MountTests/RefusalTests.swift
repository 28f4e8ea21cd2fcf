import TestSupport
import Testing

/// Every check before an import, with its exact words: `cp` fails, nothing changes, and the report explains.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct RefusalTests {
    /// A change of the example, in jq's language, and the first resulting error.
    private typealias Case = (change: String, reason: String)

    private static let requiredFields: [Case] = [
        ("del(.metadata.createdAt)", "missing field metadata.createdAt"),
        ("del(.metadata.appVersion)", "missing field metadata.appVersion"),
        ("del(.metadata.databaseSchemaVersion)", "missing field metadata.databaseSchemaVersion"),
        ("del(.metadata)", "missing field metadata"),
        ("del(.cars)", "missing field cars"),
        ("del(.expenses)", "missing field expenses"),
        ("del(.plannedMaintenance)", "missing field plannedMaintenance"),
        ("del(.delayedNotifications)", "missing field delayedNotifications"),
        ("del(.cars[0].name)", "car 1: missing field name"),
        ("del(.cars[0].id)", "car number 1: missing field id"),
        ("del(.expenses[0].cost) | .expenses[0].date = null", "expense 1: date must not be null"),
        (".metadata.createdAt = \"yesterday\"", "metadata: createdAt \"yesterday\" is not an ISO 8601 date with a time zone"),
        (".cars = {}", "cars must be an array, not an object"),
        (".expenses = [1]", "expenses[0] must be an object, not a number"),
        (".userSettings = []", "userSettings must be an object, not an array"),
    ]

    private static let values: [Case] = [
        (".expenses[0].date = \"2026-01-12T14:30:01Z\"", "expense 1: date 2026-01-12T14:30:01Z is in the future"),
        (".cars[0].createdAt = \"2026-01-13T00:00:00Z\"", "car 1: createdAt 2026-01-13T00:00:00Z is in the future"),
        (
            ".expenses[0].date = \"2026-01-10T18:30:00\"",
            "expense 1: date \"2026-01-10T18:30:00\" is not an ISO 8601 date with a time zone"
        ),
        (
            ".expenses[0].date = \"2026-02-30T18:30:00Z\"",
            "expense 1: date \"2026-02-30T18:30:00Z\" is not an ISO 8601 date with a time zone"
        ),
        (
            ".plannedMaintenance[0].scheduledDate = \"2037-01-01T00:00:00Z\"",
            "maintenance record 1: scheduledDate 2037-01-01T00:00:00Z is more than 10 years ahead"
        ),
        (".expenses[0].cost = \"-0.01\"", "expense 1: cost must not be negative"),
        (".expenses[0].cost = 12.5", "expense 1: cost must be a text with a decimal number, not a number"),
        (".expenses[0].cost = \"twelve\"", "expense 1: cost \"twelve\" is not a decimal number"),
        (".expenses[0].energyCharged = -1", "expense 1: energyCharged must not be negative"),
        (".expenses[0].energyCharged = \"45.5\"", "expense 1: energyCharged must be a number, not a text"),
        (".expenses[0].odometer = -1", "expense 1: odometer must not be negative"),
        (
            ".expenses[0].odometer = 1.5",
            "expense 1: odometer must be a whole number from -9223372036854775808 to 9223372036854775807"
        ),
        (".cars[0].currentMileage = -1", "car 1: currentMileage must not be negative"),
        (".cars[0].initialMileage = -1", "car 1: initialMileage must not be negative"),
        (".cars[0].batteryCapacity = 0", "car 1: batteryCapacity must be above 0"),
        (".cars[0].selectedForTracking = 1", "car 1: selectedForTracking must be true or false, not a number"),
        (".cars[0].expenseCurrency = \"XXQ\"", "car 1: expenseCurrency \"XXQ\" is not a currency code"),
        (".expenses[0].currency = \"usd\"", "expense 1: currency \"usd\" is not a currency code"),
        (".userSettings.preferredCurrency = \"dollars\"", "userSettings: preferredCurrency \"dollars\" is not a currency code"),
        (".expenses[0].chargerType = \"warp\"", "expense 1: chargerType \"warp\" is not known"),
        (".expenses[0].expenseType = \"fun\"", "expense 1: expenseType \"fun\" is not known"),
    ]

    private static let references: [Case] = [
        (".expenses[0].carId = 99", "expense 1 refers to unknown car 99"),
        (".plannedMaintenance[0].carId = 99", "maintenance record 1 refers to unknown car 99"),
        (".cars += .cars", "car 1 occurs twice"),
        (".expenses += .expenses", "expense 1 occurs twice"),
        (".delayedNotifications += .delayedNotifications", "notification notification-uuid-1 occurs twice"),
    ]

    private func check(_ cases: [Case]) throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            let before = try sandbox.state()
            for (change, reason) in cases {
                try sandbox.sh("jq \"$CHANGE\" $R/old.json > $R/bad.json", ["CHANGE": change])
                try sandbox.fails("cp $R/bad.json $M/restore/", saying: "Invalid argument", exitCode: 1)
                let message = "Import failed: \(reason)"
                let error = try sandbox.sh("getfattr --only-values -n user.backupfs.error $M/restore/bad.json")
                // Several findings follow one another.
                #expect(error == message || error.hasPrefix(message + "; "), "\(error)")
                #expect(try sandbox.report(".message") == message)
                #expect(try sandbox.report("[.result, .success, .file] | @json") == #"["refused",false,"bad.json"]"#)
                #expect(try sandbox.sh("head -1 $M/restore/last.txt") == "bad.json: not restored. \(message)")
            }
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            #expect(
                try sandbox.names("restore") == [
                    "LAST RESULT - NOT RESTORED.txt", "README.txt", "bad.json", "last.json", "last.txt", "merge", "preview",
                    "replace", "skip",
                ])
        }
    }

    @Test func `VAL-07, ERR-03: a missing or misplaced field`() throws { try check(Self.requiredFields) }
    @Test func `FEV-08, FEV-10, FEV-11, VAL-08, VAL-09, VAL-10: a value out of its range`() throws { try check(Self.values) }
    @Test func `VAL-11: a reference to nothing, a record that occurs twice`() throws { try check(Self.references) }

    @Test func `ERR-02: a schema version that cannot be read`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            let before = try sandbox.state()
            for version in ["0", "-1", "\"1\"", "1.5", "null", "99999999999999999999"] {
                try sandbox.sh(
                    "sed 's/\"databaseSchemaVersion\": 1/\"databaseSchemaVersion\": '$VERSION'/' $R/old.json > $R/bad.json",
                    ["VERSION": version])
                try sandbox.fails("cp $R/bad.json $M/restore/", saying: "Protocol not supported", exitCode: 1)
                #expect(try sandbox.report(".message") == "This backup is from an incompatible version of the app.")
            }
            #expect(try sandbox.state() == before)
        }
    }

    @Test func `VAL-01: everything that is wrong is reported, not only the first`() throws {
        try Sandbox.withMount("", Sandbox.fixedClock) { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh(
                """
                jq '.expenses[0].carId = 99 | .expenses[0].cost = "-1" | .cars[0].expenseCurrency = "XXQ"' \\
                $R/old.json > $R/bad.json
                """
            )
            try sandbox.fails("cp $R/bad.json $M/restore/", saying: "Invalid argument")
            #expect(
                try sandbox.report(".errors | @json").contains("expense 1 refers to unknown car 99"))
            let text = try sandbox.sh("cat $M/restore/last.txt")
            for finding in [
                "car 1: expenseCurrency \"XXQ\" is not a currency code", "expense 1: cost must not be negative",
                "expense 1 refers to unknown car 99",
            ] {
                #expect(text.contains(finding), "\(text)")
                #expect(
                    try sandbox.sh(
                        "jq --arg f \"$F\" '[.errors[] | select(contains($f))] | length' $M/restore/last.json", ["F": finding])
                        == "1")
            }
        }
    }

    @Test func `FEV-08, FEV-11, VAL-07, VAL-08, VAL-09, VAL-10: what is unusual and allowed is restored`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            let changes = [
                "del(.metadata.deviceName)", "del(.userSettings)", ".expenses[0].date = \"2026-01-12T14:30:00Z\"",
                ".plannedMaintenance[0].scheduledDate = \"2027-01-11T14:30:00Z\"",
                ".delayedNotifications[0].scheduledDate = \"2035-01-01T00:00:00Z\"", ".expenses[0].carId = null",
                "del(.expenses[0].carId)", ".expenses[0].notes = null", ".cars[0].batteryCapacity = null",
                ".expenses[0].cost = \"0\" | .expenses[0].energyCharged = 0 | .expenses[0].odometer = 0",
                ".cars = [] | .expenses = [] | .plannedMaintenance = [] | .delayedNotifications = []",
                ".expenses[0].cost = \"12345678901234.56\"",
                ".cars[0].expenseCurrency = \"KZT\" | .expenses[0].currency = \"TRY\"",
            ]
            for change in changes {
                try sandbox.sh("jq \"$CHANGE\" $R/old.json > $R/fine.json; cp $R/fine.json $M/restore/", ["CHANGE": change])
                #expect(try sandbox.report("[.result, .warnings] | @json") == #"["success",[]]"#, "\(change)")
            }
            // Every charger and every kind of expense that the app knows.
            try sandbox.sh(
                """
                jq '.expenses[0] as $first | .expenses = [["home3kW","home7kW","home11kW","destination22kW","publicFast50kW",
                "publicRapid100kW","superchargerOver150kW","unknown","Home (7kW)","Supercharger V3 (250kW)"][] as $charger |
                ["charging","maintenance","repair","carwash","insurance","other","fuel"][] as $kind |
                $first + {chargerType: $charger, expenseType: $kind}] |
                .expenses |= [to_entries[] | .value + {id: (.key + 1)}]' $R/old.json > $R/all.json; cp $R/all.json $M/restore/
                """)
            #expect(try sandbox.sh("jq '.expenses | length' $M/live/export.json") == "70")
            try sandbox.sh(
                "diff <(jq 'del(.metadata.createdAt)' $R/all.json) <(jq 'del(.metadata.createdAt)' $M/live/export.json)")
        }
    }

    @Test func `VAL-05: a newer version is warned of and restored`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(
                SampleDocument.replacing("\"databaseSchemaVersion\": 1", "\"databaseSchemaVersion\": 2"), to: "newer.json")
            try sandbox.sh("cp $R/newer.json $M/restore/preview/")
            let warning = "This backup was created with a newer version of the app. Import may fail or cause data loss."
            #expect(try sandbox.sh("jq -r '.warnings[0]' $M/restore/preview/newer.json.preview.json") == warning)
            try sandbox.sh("cp $R/newer.json $M/restore/")
            #expect(try sandbox.report("[.result, .warnings[0]] | @json") == "[\"success\",\"\(warning)\"]")
        }
    }

    @Test func `VAL-06: a much older version is warned of, one version older is not`() throws {
        try Sandbox.use { sandbox in
            // Without the formats of later versions: one app with one format that is at version 5.
            let definition = try sandbox.sh("sed '/^wireFormats:/,/^# The embedded/d' '\(Self.definitionPath)'")
            try sandbox.write(
                definition.replacing("schemaVersion: \"1\"\nminimum", with: "schemaVersion: \"5\"\nminimum"), to: "app.yaml")
            try sandbox.sh("backupfs init --store $S --app $R/app.yaml; backupfs mount --store $S $M")
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("cp $R/old.json $M/restore/")
            let warning = "This backup was created with a much older version of the app. Some data may be converted."
            #expect(try sandbox.report(".warnings | @json") == "[\"\(warning)\"]")
            try sandbox.sh(
                """
                sed 's/"databaseSchemaVersion": 1/"databaseSchemaVersion": 4/' $R/old.json > $R/four.json
                cp $R/four.json $M/restore/
                """
            )
            #expect(try sandbox.report(".warnings | @json") == "[]")
            #expect(try sandbox.sh("jq .metadata.databaseSchemaVersion $M/live/export.json") == "5")
            try sandbox.unmount()
        }
    }

    static var definitionPath: String {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        parts += ["Sources", "AppData", "Resources", "ev-charging-tracker.yaml"]
        return parts.joined(separator: "/")
    }
}

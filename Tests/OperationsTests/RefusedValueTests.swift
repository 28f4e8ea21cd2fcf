import TestSupport
import Testing

/// Data that the app's definition does not allow: the backup is made, and reports what a restore of it would refuse, and the
/// remedy.
struct RefusedValueTests {
    private func sandbox(_ app: String = "keeptrack", _ change: String = "") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app \(app) --sample --store $S >/dev/null; backupfs config set retention off --store $S")
        if !change.isEmpty { try sandbox.sh("sqlite3 $S/app/database.sqlite \"\(change)\"") }
        return sandbox
    }

    private static let date = "UPDATE entries SET date = 'yesterday' WHERE id = (SELECT min(id) FROM entries)"

    @Test func `U-A10: a backup says which values a restore would refuse, and what restore brings them back`() throws {
        let sandbox = try sandbox("keeptrack", Self.date)
        let backup = try sandbox.run("backupfs backup --label one --store $S")
        #expect(backup.exitCode == 0 && backup.output == "one\n", "\(backup)")
        let warning = try #require(backup.errors.split(separator: "\n").first { $0.hasPrefix("warning: ") })
        #expect(warning.hasPrefix("warning: the app's definition does not allow 1 value: entry "), "\(warning)")
        #expect(warning.contains(": date \"yesterday\" is not an ISO 8601 date with a time zone. A restore of the backup"))
        #expect(warning.contains("--strategy replace brings it back as it is"))
        let dump = try sandbox.sh("sqlite3 $S/app/database.sqlite '.dump entries'")
        // The report is accurate.
        let merging = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(merging.exitCode == 1 && merging.errors.contains("is not an ISO 8601 date"), "\(merging)")
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite 'DELETE FROM entries'; backupfs restore one --strategy replace --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite '.dump entries'") == dump)
    }

    @Test func `it is said again by a backup that takes over the records, and by the status`() throws {
        let sandbox = try sandbox("ev-charging-tracker", "UPDATE expenses SET cost = 'much' WHERE id IN (1, 2)")
        let first = try sandbox.sh("backupfs backup --json --label one --store $S | tail -1 | jq -r '.warnings[]'")
        #expect(
            first.contains("does not allow 2 values: expense 1: cost \"much\" is not a decimal number; expense 2: cost"),
            "\(first)")
        let second = try sandbox.sh("backupfs backup --json --label two --store $S | tail -1 | jq -r '.warnings[]'")
        #expect(
            second.hasPrefix("the app's definition does not allow 2 values. A restore of the backup by its name"), "\(second)")
        #expect(try sandbox.sh("backupfs status --store $S").contains("does not allow 2 values"))
        #expect(
            try sandbox.sh("jq -r 'select(.phase == \"warning\") | .warning' $S/backupfs.log | paste -sd' '") == "values values")
    }

    @Test(arguments: ["ev-charging-tracker", "keeptrack", "smilepile", "photo-library"])
    func `there is nothing to say of sound data`(app: String) throws {
        let backup = try sandbox(app).run("backupfs backup --label one --store $S")
        #expect(backup.exitCode == 0 && !backup.errors.contains("warning"), "\(backup)")
    }

    @Test func `U-A10: app check looks at the values of a database`() throws {
        let sandbox = try sandbox("keeptrack", Self.date)
        try sandbox.sh(
            """
            for app in photo-library smilepile ev-charging-tracker; do
              backupfs init --app $app --sample --store $R/$app >/dev/null; backupfs app show $app > $R/$app.yaml
              backupfs app check $R/$app.yaml --database $R/$app/app/*.sqlite
            done; backupfs app show keeptrack > $R/app.yaml
            """)
        let result = try sandbox.run("backupfs app check $R/app.yaml --database $S/app/database.sqlite")
        #expect(result.exitCode == 1 && result.output.contains("date \"yesterday\" is not an ISO 8601 date"), "\(result)")
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"UPDATE entries SET date = '2026-01-11T14:30:00Z' WHERE date = 'yesterday'\"")
        #expect(try sandbox.run("backupfs app check $R/app.yaml --database $S/app/database.sqlite").exitCode == 0)
    }
}

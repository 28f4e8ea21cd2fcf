import AppData
import BackupCore
import BackupRepository
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// A backup that takes rows from the newest one checks only the others for values that a restore would refuse: it must report as
/// much as a check of all rows.
struct RowCheckTests {
    private let sandbox: Sandbox
    private let store: Store

    init() throws {
        sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample --sample-expenses 8000 >/dev/null
            backupfs backup --store $S --label start >/dev/null
            """)
        store = try Store.open(sandbox.storePath)
    }

    private func change(_ sql: String) throws {
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"PRAGMA foreign_keys = OFF; $SQL\"", ["SQL": sql])
    }

    /// - Returns: the warnings.
    private func backUp() throws -> [String] {
        let output = try sandbox.sh(
            "backupfs backup --json --label \(RandomToken.make()) --store $S | tail -1 | jq -r '.warnings[]?'")
        return output.split(separator: "\n").map(String.init)
    }

    /// What the next backup checks of the expenses.
    private func rowsToCheck() throws -> [ClosedRange<Int64>]? {
        let folder = try TemporaryFolder()
        try store.repository.refresh()
        let rows = RowRendering(
            folder: store.paths.renderedRows, repository: store.repository, form: RecordsBackup.renderingForm(of: store),
            previous: PreviousBackup(of: store), usesEarlier: true)
        let path = "\(folder.path)/copy.sqlite"
        try store.database.readSnapshot { (snapshot) throws(BackupError) in try snapshot.copyDatabase(to: path) }
        let copy = AppDatabase(at: path, definition: store.database.definition)
        let rendering = try AppRendering(of: copy, in: folder.path, createdAt: SystemClock.now())
        return try copy.readSnapshot { (snapshot) throws(BackupError) in
            try rows.prepare(snapshot, SpoolFile(keeping: path))
            let expenses = snapshot.definition.collections.firstIndex { $0.name == "expenses" }
            return try expenses.flatMap { (index) throws(BackupError) in
                try rows.rowsToCheck(snapshot.definition, rendering.collections)[index]
            }
        }
    }

    @Test func `only rows beside changed ones are checked`() throws {
        #expect(try rowsToCheck() == [])
        try change("UPDATE expenses SET notes = 'changed' WHERE id IN (3000, 6000)")
        let ranges = try #require(try rowsToCheck())
        #expect(ranges.count == 2 && ranges[0].contains(3000) && ranges[1].contains(6000), "\(ranges)")
        #expect(ranges.allSatisfy { $0.count < 100 }, "\(ranges)")
    }

    @Test func `all rows are checked when a record to which they refer may be missing`() throws {
        try change("UPDATE cars SET id = 99 WHERE id = 1")
        #expect(try rowsToCheck() == nil)
        let missing = try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT count(*) > 1 FROM expenses WHERE car_id = 1'")
        #expect(missing == "1")
        let warnings = try backUp()
        #expect(warnings.contains { $0.contains("refers to unknown car 1") }, "\(warnings)")
        // It is reported until it is corrected, also beside other changes.
        try change("UPDATE expenses SET notes = 'changed' WHERE id = 3000")
        #expect(try rowsToCheck() == nil)
        #expect(try backUp().contains { $0.contains("refers to unknown car 1") })
        try change("UPDATE cars SET id = 1 WHERE id = 99")
        #expect(try backUp() == [])
        try change("UPDATE expenses SET notes = 'changed again' WHERE id = 3000")
        #expect(try rowsToCheck()?.count == 1)
    }

    @Test func `a value in a changed row is reported, and then by each backup until it is corrected`() throws {
        try change("UPDATE expenses SET cost = 'much' WHERE id = 3000; UPDATE expenses SET car_id = 55 WHERE id = 6000")
        #expect(try rowsToCheck()?.count == 2)
        let first = try backUp()
        #expect(
            first.contains {
                $0.contains(
                    "does not allow 2 values: expense 3000: cost \"much\" is not a decimal number; expense 6000 refers to")
            }, "\(first)")
        try change("UPDATE expenses SET notes = 'changed' WHERE id = 1000")
        let second = try backUp()
        #expect(second.contains { $0.contains("does not allow 2 values: expense 3000: cost") }, "\(second)")
        try change("UPDATE expenses SET cost = '1.00', car_id = 1 WHERE id IN (3000, 6000)")
        #expect(try backUp() == [])
    }

    /// Beside a check of all rows, over random changes, of which some are not allowed.
    @Test(arguments: Rounds.seeds(8, oneIn: 4))
    func `each backup reports as many values as a check of all rows finds`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var takenCount = 0
        for round in 0..<12 {
            let row = Int.random(in: 1...8_000, using: &generator)
            let car = Int.random(in: 1...3, using: &generator)
            let changes = [
                "UPDATE expenses SET notes = 'changed \(round)' WHERE id = \(row)",
                "UPDATE expenses SET cost = 'much' WHERE id = \(row)",
                "UPDATE expenses SET car_id = 55 WHERE id = \(row)",
                "UPDATE expenses SET date = '2999-01-01T00:00:00Z' WHERE id = \(row)",
                """
                UPDATE expenses SET cost = '1.00', car_id = (SELECT min(id) FROM cars), date = '2024-01-01T00:00:00Z'
                WHERE cost = 'much' OR car_id NOT IN (SELECT id FROM cars) OR date > '2998'
                """,
                "UPDATE cars SET id = id + 100 WHERE id = \(car)", "UPDATE cars SET id = id - 100 WHERE id > 100",
                """
                INSERT OR REPLACE INTO cars (id, name, battery_capacity, expense_currency, milleage_synced_at, created_at)
                SELECT 55, 'New', battery_capacity, expense_currency, milleage_synced_at, created_at FROM cars LIMIT 1
                """,
                "DELETE FROM cars WHERE id = 55", "UPDATE cars SET name = 'Name \(round)' WHERE id = \(car)",
                "DELETE FROM expenses WHERE id BETWEEN \(row) AND \(row + 20)",
            ]
            // At first an allowed one.
            for _ in 0..<(round == 0 ? 0 : Int.random(in: 1...2, using: &generator)) {
                try change(changes.randomElement(using: &generator) ?? changes[0])
            }
            if round == 0 { try change(changes[0]) }
            if try rowsToCheck() != nil { takenCount += 1 }
            _ = try backUp()
            try store.repository.refresh()
            let reported = try #require(PreviousBackup(of: store).snapshot).record.attributes["disallowed-values"]
            #expect(try reported == store.database.disallowedValues().map { String($0.count) }, "round \(round)")
        }
        #expect(takenCount > 0)
    }
}

import AppData
import BackupCore
import SystemIO
import TestSupport
import Testing

@Suite("Sample data")
struct SampleDataTests {
    private func database(_ folder: TemporaryFolder, _ name: String, count: Int) throws -> String {
        let definition = try AppDefinition.builtIn(named: "ev-charging-tracker")
        let sample = try SampleData(definition: definition, expenseCount: count)
        let summary = try ImportValidator(definition: definition, now: Timestamp(seconds: 1_768_141_800)).validate(sample)
        #expect(summary.warnings == [])
        #expect(summary.recordCounts == [3, count, 8, 4])
        let path = folder(name)
        try AppDatabase.create(at: path, definition: definition).replaceAll(from: sample)
        return path
    }

    @Test("1,200 expenses over two years, the last on 2026-01-10", arguments: [1, 1_200, 20_000])
    func contents(_ count: Int) throws {
        let folder = try TemporaryFolder()
        let path = try database(folder, "sample.sqlite", count: count)
        #expect(try sqlite(path, "select max(date), count(*) from expenses") == "2026-01-10T18:30:00Z|\(count)\n")
        #expect(try sqlite(path, "select min(date) > '2024-01-10' from expenses") == "1\n")
        // Dates and each car's kilometres grow with the number; each car's first record is its initial one.
        let disorder = "select count(*) from expenses a join expenses b on b.id = a.id + 1 where b.date <= a.date"
        if count <= 1_200 { #expect(try sqlite(path, disorder) == "0\n") }
        let backwards =
            "select count(*) from (select odometer, lag(odometer) over (partition by car_id order by id) l from expenses) where odometer < l"
        #expect(try sqlite(path, backwards) == "0\n")
        let initial =
            "select count(*) from expenses where is_initial_record <> (id in (select min(id) from expenses group by car_id))"
        #expect(try sqlite(path, initial) == "0\n")
        let mileage =
            "select count(*) from cars where current_mileage <> coalesce((select max(odometer) from expenses where car_id = cars.id), initial_mileage)"
        #expect(try sqlite(path, mileage) == "0\n")
        #expect(try sqlite(path, "select count(*) from expenses where cost not glob '*[0-9].[0-9][0-9]'") == "0\n")
    }

    @Test("is the same every time")
    func deterministic() throws {
        let folder = try TemporaryFolder()
        let dump = """
            select id, name, selected_for_tracking, battery_capacity, expense_currency, current_mileage, initial_mileage,
                milleage_synced_at, created_at from cars;
            select id, date, energy_charged, charger_type, odometer, cost, notes, is_initial_record, expense_type, currency, car_id
                from expenses;
            select * from planned_maintenance; select * from delayed_notifications
            """
        let first = try sqlite(database(folder, "a.sqlite", count: 1_200), dump)
        #expect(try sqlite(database(folder, "b.sqlite", count: 1_200), dump) == first)
        // SHA-256 of the first run, by sha256sum: a change would change everybody's sample store.
        #expect(
            SHA256Hasher.hash(Array(first.utf8)).hexadecimal == "0010d979fff1aa768a96fb9e18eadc7339bd944803144fd842da28b676098796"
        )
    }
}

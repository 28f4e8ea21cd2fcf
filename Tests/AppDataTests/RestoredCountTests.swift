import AppData
import BackupCore
import TestSupport
import Testing

/// A restore counts what it has written before it commits.
struct RestoredCountTests {
    private static let noDefault = [("extra TEXT DEFAULT 'none'", "extra TEXT")]

    @Test(arguments: [[2, 1], [0, 1], [1, 0]])
    func `RST-17: records that are not as many as the file has are taken back`(expected: [Int]) throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition(Self.noDefault)
        let database = try Library.database(
            folder, "INSERT INTO shelves VALUES ('a', 'Novels', 0); INSERT INTO items (id, title) VALUES (7, 'Emma')", definition)
        let before = try Library.rows(database)
        let records = try Library.records(
            items: [Library.item(1, "Odes", "z")], shelves: [Library.shelf("z", "Poems")], definition)
        let error = failure { _ = try database.replaceAll(from: records, expectedCounts: expected) }
        #expect(error?.message.english.contains("are in the database") == true, "\(error?.message.english ?? "taken")")
        #expect(try Library.rows(database) == before && before.contains("Emma"))
        #expect(try database.replaceAll(from: records, expectedCounts: [1, 1]) == [1, 1])
    }

    /// What goes missing on the way: the app's own trigger takes it out of the table.
    @Test func `RST-17: a record that the database does not keep is noticed`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition(Self.noDefault)
        let database = try Library.database(
            folder,
            """
            INSERT INTO items (id, title) VALUES (7, 'Emma');
            CREATE TRIGGER gone BEFORE INSERT ON items WHEN new.id = 2 BEGIN SELECT RAISE(IGNORE); END
            """, definition)
        let before = try Library.rows(database)
        let records = try Library.records(
            items: [Library.item(1, "Odes", nil), Library.item(2, "Epics", nil)], shelves: [], definition)
        let error = failure { _ = try database.replaceAll(from: records) }
        #expect(error?.message.english == "Import failed: 1 of 2 items are in the database")
        #expect(try Library.rows(database) == before)
    }
}

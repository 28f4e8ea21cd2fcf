import AppData
import BackupCore
import TestSupport
import Testing

/// `replace` where a collection keeps some of its records.
struct ReplaceKeepingTests {
    private static let keeping = [
        ("identity: [name]", "identity: [name]\n    keepOnReplace: isDefault\n    mergedNote: \"Updated {name}\""), noDefault,
    ]
    /// A replacement refuses to lose what the definition does not name.
    private static let noDefault = ("extra TEXT DEFAULT 'none'", "extra TEXT")

    private static let some = """
        INSERT INTO shelves VALUES ('a', 'Novels', 1), ('b', 'Travel', 0), ('c', 'Poems', 1), ('d', 'Plays', 1), ('e', 'Old', 0);
        INSERT INTO items (id, title, shelf_id) VALUES (1, 'Emma', 'a'), (2, 'Japan', 'b');
        INSERT INTO preferences VALUES ('theme', 'dark');
        """

    @Test func `records that are kept are updated by those of the same identity or key`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition(Self.keeping)
        let database = try Library.database(folder, Self.some, definition)
        let records = try Library.records(
            items: [Library.item(1, "Ulysses", "x"), Library.item(2, "Odes", "c"), Library.item(3, "Hamlet", "b")],
            shelves: [
                // By its name, by its key, and one that has a kept one's key, which another has by its name.
                Library.shelf("x", "Novels"), Library.shelf("c", "Verse", isDefault: true),
                Library.shelf("b", "Plays", isDefault: true),
                Library.shelf("d", "New"),
            ], settings: [.text("light")], definition)
        let outcome = try database.run(ImportInstructions(strategy: .replace), from: records)
        #expect(outcome.numbers == ["items": [3, 0, 0, 0, 2], "shelves": [1, 2, 1, 0, 2]])
        #expect(outcome.notes == [])
        #expect(
            try Library.rows(database) == """
                item|1|Ulysses|a|-|-|-
                item|2|Odes|c|-|-|-
                item|3|Hamlet|d|-|-|-
                shelf|a|Novels|0
                shelf|c|Verse|1
                shelf|d|Plays|1
                shelf|d-2|New|0

                """)
        #expect(try sqlite(database.path, "SELECT value FROM preferences") == "light\n")
        #expect(try sqlite(database.path, "SELECT value FROM about WHERE key = 'device'") == "phone\n")
    }

    @Test func `what the file does not have is kept, and the rest goes`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition(Self.keeping)
        let database = try Library.database(folder, Self.some, definition)
        let records = try Library.records(items: [], shelves: [Library.shelf("z", "Poems")], definition)
        let outcome = try database.run(ImportInstructions(strategy: .replace), from: records)
        #expect(outcome.numbers == ["items": [0, 0, 0, 0, 2], "shelves": [0, 1, 0, 2, 2]])
        #expect(try Library.rows(database) == "shelf|a|Novels|1\nshelf|c|Poems|0\nshelf|d|Plays|1\n")
        #expect(try database.replaceAll(from: records) == [0, 1])
    }

    @Test func `a kept record that refers to one that goes is not left so`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition([
            ("identity: [title, shelf]", "identity: [title, shelf]\n    keepOnReplace: pinned"),
            (
                "- {name: pages, column: pages, type: integer, nullable: true}",
                "- {name: pinned, column: pages, type: boolean, nullable: true}"
            ), ("({pages})", ""), Self.noDefault,
        ])
        let database = try Library.database(folder, Self.some + "UPDATE items SET pages = 1 WHERE id = 2", definition)
        let before = try sqlite(database.path, ".dump")
        let records = try Library.records(items: [], shelves: [Library.shelf("a", "Novels")], definition)
        let error = try #require(throws: BackupError.self) {
            try database.run(ImportInstructions(strategy: .replace), from: records)
        }
        #expect(error.code == .invalidContent)
        #expect(error.message == "Import failed: the item 2, which is kept, refers to a shelf that is not in the file")
        #expect(try sqlite(database.path, ".dump") == before)
    }

    @Test func `without records that are kept the numbers are those of the file and of what was there`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(folder, "INSERT INTO shelves VALUES ('a', 'Novels', 1), ('b', 'Travel', 0)")
        let records = try Library.records(items: [Library.item(1, "Emma", "q")], shelves: [Library.shelf("q", "Novels")])
        let outcome = try database.run(ImportInstructions(strategy: .replace), from: records)
        #expect(outcome.numbers == ["items": [1, 0, 0, 0, 0], "shelves": [1, 0, 0, 0, 2]])
        #expect(try Library.rows(database) == "item|1|Emma|q|-|-|-\nshelf|q|Novels|0\n")
    }
}

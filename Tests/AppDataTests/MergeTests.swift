import AppData
import BackupCore
import SystemIO
import TestSupport
import Testing

/// Records that are added to those that are there. What is expected is written out, and read by sqlite3.
struct MergeTests {
    private static func run(
        _ strategy: ImportStrategy, _ records: ListedRecords, into database: AppDatabase, fileVersion: Int? = nil
    ) throws -> ImportOutcome {
        var instructions = ImportInstructions(strategy: strategy)
        instructions.fileVersion = fileVersion
        return try database.run(instructions, from: records)
    }

    private static let some = """
        INSERT INTO shelves VALUES ('a', 'Novels', 1), ('b', 'Travel', 0);
        INSERT INTO items (id, title, shelf_id, sequel_id, pages, price, extra) VALUES
            (1, 'Emma', 'a', NULL, 400, 9.5, 'mine'), (2, 'Japan', 'b', 1, NULL, NULL, 'mine too');
        """

    @Test(arguments: [ImportStrategy.merge, .skip])
    func `a record that is there is found by its identity, and references follow it`(strategy: ImportStrategy) throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(folder, Self.some)
        // On the other device the numbers and letters were others: 'a' is Travel there, and item 1 is Japan.
        let records = try Library.records(
            items: [
                Library.item(1, "Japan", "a", sequel: 2, pages: 250), Library.item(2, "Emma", "z", pages: 400, price: 9.5),
                Library.item(3, "Persuasion", "z", sequel: 2), Library.item(4, "Loose", nil),
            ], shelves: [Library.shelf("a", "Travel"), Library.shelf("z", "Novels", isDefault: true)])
        let outcome = try Self.run(strategy, records, into: database)
        let isMerge = strategy == .merge
        #expect(
            outcome.numbers == [
                "items": isMerge ? [2, 1, 1, 0, 0] : [2, 0, 2, 0, 0], "shelves": [0, 0, 2, 0, 0],
            ])
        #expect(outcome.notes == (isMerge ? ["Updated existing item: Japan (250)"] : []))
        #expect(
            try Library.rows(database) == """
                item|1|Emma|a|-|400|9.5
                item|2|Japan|b|1|\(isMerge ? "250" : "-")|-
                item|3|Persuasion|a|1|-|-
                item|4|Loose|-|-|-|-
                shelf|a|Novels|1
                shelf|b|Travel|0

                """)
        // Columns that the definition does not name are as they were, or have their defaults.
        #expect(try sqlite(database.path, "SELECT extra FROM items") == "mine\nmine too\nnone\nnone\n")
        // Metadata is the device's own.
        #expect(try sqlite(database.path, "SELECT key, value FROM about") == "version|2\n")
        // Once more changes nothing.
        let before = try sqlite(database.path, ".dump")
        let again = try Self.run(strategy, records, into: database)
        #expect(again.numbers == ["items": [0, 0, 4, 0, 0], "shelves": [0, 0, 2, 0, 0]])
        #expect(again.notes == [])
        #expect(try sqlite(database.path, ".dump") == before)
    }

    @Test func `a key that another record has becomes a new one, above all there are`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(folder, Self.some)
        let records = try Library.records(
            items: [
                Library.item(1, "Ulysses", "a", sequel: 9), Library.item(2, "Dubliners", "a", sequel: 1),
                Library.item(9, "Exiles", nil, sequel: 2),
            ],
            shelves: [Library.shelf("a", "Irish")])
        let outcome = try Self.run(.merge, records, into: database)
        #expect(outcome.numbers == ["items": [3, 0, 0, 0, 0], "shelves": [1, 0, 0, 0, 0]])
        #expect(
            try Library.rows(database) == """
                item|1|Emma|a|-|400|9.5
                item|2|Japan|b|1|-|-
                item|9|Exiles|-|11|-|-
                item|10|Ulysses|a-2|9|-|-
                item|11|Dubliners|a-2|10|-|-
                shelf|a|Novels|1
                shelf|a-2|Irish|0
                shelf|b|Travel|0

                """)
        #expect(try Self.run(.merge, records, into: database).numbers["items"] == [0, 0, 3, 0, 0])
    }

    @Test func `texts that are taken get the next number, and UUIDs another UUID`() throws {
        let folder = try TemporaryFolder()
        let uuid = "0E1C9A7E-55A9-4B0F-9E22-0123456789AB"
        let database = try Library.database(
            folder, "INSERT INTO shelves VALUES ('a', 'One', 0), ('a-2', 'Two', 0), ('\(uuid)', 'Three', 0)")
        let records = try Library.records(
            items: [Library.item(1, "x", "a"), Library.item(2, "y", uuid), Library.item(3, "z", "a-3")],
            shelves: [Library.shelf("a", "New"), Library.shelf("a-3", "Its own"), Library.shelf(uuid, "Other")])
        let outcome = try Self.run(.merge, records, into: database)
        #expect(outcome.numbers["shelves"] == [3, 0, 0, 0, 0])
        #expect(
            try sqlite(database.path, "SELECT name, id FROM shelves WHERE name IN ('New', 'Its own') ORDER BY name")
                == "Its own|a-3\nNew|a-4\n")
        let fresh = try sqlite(database.path, "SELECT id FROM shelves WHERE name = 'Other'").dropLast()
        #expect(fresh.count == 36 && fresh != uuid)
        #expect(fresh.wholeMatch(of: /[0-9A-F]{8}-[0-9A-F]{4}-8[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/) != nil, "\(fresh)")
        #expect(try sqlite(database.path, "SELECT shelf_id FROM items ORDER BY id") == "a-4\n\(fresh)\na-3\n")
    }

    @Test(arguments: [ImportStrategy.merge, .skip])
    func `two equal records of a file stay two, and find both again`(strategy: ImportStrategy) throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(folder, "INSERT INTO items (id, title, pages) VALUES (1, 'Other', 1)")
        let twins = try Library.records(
            items: [Library.item(1, "Twin", nil, pages: 10), Library.item(2, "Twin", nil, pages: 20)], shelves: [])
        #expect(try Self.run(strategy, twins, into: database).numbers["items"] == [2, 0, 0, 0, 0])
        let expected = "item|1|Other|-|-|1|-\nitem|2|Twin|-|-|20|-\nitem|3|Twin|-|-|10|-\n"
        #expect(try Library.rows(database) == expected)
        // Number 2 is the same twin by its key, so that the other one is the other.
        #expect(try Self.run(strategy, twins, into: database).numbers["items"] == [0, 0, 2, 0, 0])
        #expect(try Library.rows(database) == expected)
        // One of them was lost: it comes back, and the other is left alone.
        try sqlite(database.path, "DELETE FROM items WHERE id = 3")
        #expect(try Self.run(strategy, twins, into: database).numbers["items"] == [1, 0, 1, 0, 0])
        #expect(try Library.rows(database) == expected)
    }

    @Test func `identities are compared by their bytes, and dates by the moment`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(
            folder, "INSERT INTO items (id, title) VALUES (1, 'caf\u{E9}'), (2, 'EMMA'), (3, '')")
        let records = try Library.records(
            items: [
                Library.item(1, "cafe\u{301}", nil), Library.item(2, "emma", nil), Library.item(3, "", nil, pages: 3),
            ], shelves: [])
        #expect(try Self.run(.merge, records, into: database).numbers["items"] == [2, 1, 0, 0, 0])
        #expect(
            try sqlite(database.path, "SELECT id, hex(title), pages FROM items")
                == "1|636166C3A9|\n2|454D4D41|\n3||3\n4|63616665CC81|\n5|656D6D61|\n")

        let dated = try Library.definition([
            ("{name: title, column: title, type: text}", "{name: title, column: title, type: date}")
        ])
        try sqlite(database.path, "DELETE FROM items; INSERT INTO items (id, title) VALUES (1, '2026-01-10T18:30:00+02:00')")
        let moment = try Library.records(items: [Library.item(5, "2026-01-10T16:30:00.000Z", nil, pages: 7)], shelves: [], dated)
        let reopened = AppDatabase(at: database.path, definition: dated)
        #expect(try Self.run(.skip, moment, into: reopened).numbers["items"] == [0, 0, 1, 0, 0])
    }

    @Test func `a reference that may dangle follows its record, and leads to no other`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition([
            ("nullable: true, references: items.id", "nullable: true, references: items.id, mayDangle: true")
        ])
        let database = try Library.database(folder, Self.some, definition)
        let records = try Library.records(
            items: [
                Library.item(1, "Ulysses", nil, sequel: 7), Library.item(3, "Dubliners", nil, sequel: 1),
                Library.item(4, "Exiles", nil, sequel: 2),
                Library.item(6, "Poems", nil, sequel: 8),
            ], shelves: [], definition)
        #expect(try Self.run(.merge, records, into: database).numbers["items"] == [4, 0, 0, 0, 0])
        // 1 is 7 here, so that what led to nothing would lead to it; 2 is another one here; and 8 is nothing, here and there.
        #expect(
            try sqlite(database.path, "SELECT id, title, sequel_id FROM items WHERE id > 2")
                == "3|Dubliners|7\n4|Exiles|\n6|Poems|8\n7|Ulysses|\n")
        #expect(try Self.run(.merge, records, into: database).numbers["items"]?[0] == 0)
    }

    @Test func `only columns that differ are written`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(folder, Self.some)
        try sqlite(
            database.path,
            """
            CREATE VIRTUAL TABLE log USING fts5(what);
            CREATE TRIGGER t1 AFTER UPDATE OF title, shelf_id, sequel_id ON items BEGIN INSERT INTO log VALUES ('other ' || new.id); END;
            CREATE TRIGGER t2 AFTER UPDATE OF pages ON items BEGIN INSERT INTO log VALUES ('pages ' || new.id); END;
            CREATE TRIGGER t3 AFTER UPDATE OF price ON items BEGIN INSERT INTO log VALUES ('price ' || new.id); END;
            """)
        let records = try Library.records(
            items: [Library.item(1, "Emma", "a", pages: 401, price: 9.5), Library.item(2, "Japan", "b", sequel: 1, price: -0.0)],
            shelves: [Library.shelf("a", "Novels", isDefault: true), Library.shelf("b", "Travel")])
        #expect(try Self.run(.merge, records, into: database).numbers["items"] == [0, 2, 0, 0, 0])
        #expect(try sqlite(database.path, "SELECT what FROM log") == "pages 1\nprice 2\n")
        // To the bit: 0 is another number than -0.
        let zero = try Library.records(
            items: [Library.item(2, "Japan", "b", sequel: 1, price: 0), Library.item(1, "Emma", "a", pages: nil, price: 9.5)],
            shelves: [Library.shelf("a", "Novels", isDefault: true), Library.shelf("b", "Travel")])
        #expect(try Self.run(.merge, zero, into: database).numbers["items"] == [0, 2, 0, 0, 0])
        #expect(try sqlite(database.path, "SELECT what FROM log") == "pages 1\nprice 2\nprice 2\npages 1\n")
        #expect(try sqlite(database.path, "SELECT id, pages FROM items") == "1|\n2|\n")
    }

    @Test func `triggers that change tables do not run, and are there afterwards`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(folder, Self.some)
        try sqlite(
            database.path,
            """
            CREATE TABLE log (what TEXT); CREATE VIRTUAL TABLE search USING fts5(what);
            CREATE TRIGGER a AFTER INSERT ON items BEGIN INSERT INTO log VALUES ('new'); END;
            CREATE TRIGGER b AFTER INSERT ON items BEGIN INSERT INTO search VALUES (new.title); END;
            CREATE TRIGGER c AFTER UPDATE ON items BEGIN UPDATE items SET price = 7 WHERE id = new.id; END;
            """)
        let schema = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid"
        let before = try sqlite(database.path, schema)
        let records = try Library.records(
            items: [Library.item(1, "Emma", "a", pages: 401, price: 9.5), Library.item(9, "Persuasion", "a")],
            shelves: [Library.shelf("a", "Novels", isDefault: true)])
        #expect(try Self.run(.merge, records, into: database).numbers["items"] == [1, 1, 0, 0, 0])
        #expect(try sqlite(database.path, "SELECT * FROM log; SELECT * FROM search") == "Persuasion\n")
        #expect(try sqlite(database.path, "SELECT price FROM items WHERE id = 1") == "9.5\n")
        #expect(try sqlite(database.path, schema) == before)
    }

    @Test func `settings stay, unless the definition says that merge brings them`() throws {
        let update = try Library.definition([("  required: false\n  fields:", "  required: false\n  onMerge: update\n  fields:")])
        for (definition, strategy, expected) in [
            (try Library.definition(), ImportStrategy.merge, "dark"), (update, .merge, "light"), (update, .skip, "dark"),
        ] {
            let folder = try TemporaryFolder()
            let database = try Library.database(
                folder, "INSERT INTO preferences VALUES ('theme', 'dark'), ('own', 'x')", definition)
            let records = try Library.records(items: [], shelves: [], settings: [.text("light")], definition)
            _ = try Self.run(strategy, records, into: database)
            #expect(try sqlite(database.path, "SELECT key, value FROM preferences ORDER BY key") == "own|x\ntheme|\(expected)\n")
            #expect(try sqlite(database.path, "SELECT key, value FROM about") == "version|2\n")
        }
    }

    @Test func `a collection may be left as it is by merge`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition([("identity: [name]", "identity: [name]\n    onMerge: keep")])
        let database = try Library.database(folder, Self.some, definition)
        let records = try Library.records(
            items: [], shelves: [Library.shelf("a", "Novels"), Library.shelf("c", "Poems")], definition)
        #expect(try Self.run(.merge, records, into: database).numbers["shelves"] == [1, 0, 1, 0, 0])
        #expect(try sqlite(database.path, "SELECT * FROM shelves ORDER BY id") == "a|Novels|1\nb|Travel|0\nc|Poems|0\n")
    }

    @Test func `notes are listed up to a hundred, and then counted`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(
            folder,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 103) INSERT INTO items (id, title) SELECT i, 't' || i FROM n"
        )
        let records = try Library.records(items: (1...103).map { Library.item($0, "t\($0)", nil, pages: $0) }, shelves: [])
        let outcome = try Self.run(.merge, records, into: database)
        #expect(outcome.notes.count == 100 && outcome.furtherNoteCount == 3)
        #expect(outcome.notes[0] == "Updated existing item: t1 (1)" && outcome.notes[99] == "Updated existing item: t100 (100)")
    }

    @Test func `what a file of an older version does not have stays as it is`() throws {
        for (version, expected) in [(2, "1||\n"), (1, "1|400|9.5\n")] {
            let folder = try TemporaryFolder()
            let database = try Library.database(folder, Self.some)
            let records = MissingPages(definition: try Library.definition())
            var instructions = ImportInstructions(strategy: .merge)
            instructions.fileVersion = version
            let outcome = try database.run(instructions, from: records)
            #expect(outcome.numbers["items"] == (version == 2 ? [0, 1, 0, 0, 0] : [0, 0, 1, 0, 0]))
            #expect(try sqlite(database.path, "SELECT id, pages, price FROM items WHERE id = 1") == expected)
        }
    }

    /// Emma, without a word of her pages and price.
    private struct MissingPages: RecordSource {
        let definition: AppDefinition

        func visit(with visitor: any RecordVisitor) throws(BackupError) {
            try visitor.beginCollection(0)
            let buffer = RecordBuffer(fieldCount: 6)
            buffer.set(0, integer: 7)
            buffer.set(1, text: "Emma")
            buffer.set(2, text: "x")
            try visitor.visit(record: buffer, of: 0)
            try visitor.beginCollection(1)
            let shelf = RecordBuffer(fieldCount: 3)
            shelf.set(0, text: "x")
            shelf.set(1, text: "Novels")
            shelf.set(2, boolean: true)
            try visitor.visit(record: shelf, of: 1)
        }
    }
}

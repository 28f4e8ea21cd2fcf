import AppData
import BackupCore
import TestSupport
import Testing

/// What cannot be added to what is there: refused as a whole, and the data is as it was.
struct MergeRefusalTests {
    /// - Returns: the error, after it was seen that nothing has changed.
    private static func refusal(
        _ database: AppDatabase, _ records: ListedRecords, _ strategy: ImportStrategy = .merge, expectedCounts: [Int]? = nil,
        at place: SourceLocation = #_sourceLocation
    ) throws -> BackupError {
        let before = try sqlite(database.path, ".dump")
        var instructions = ImportInstructions(strategy: strategy)
        instructions.expectedCounts = expectedCounts
        instructions.marker = RestoreMarker(operation: "m", journalPath: nil)
        let error = try #require(throws: BackupError.self, sourceLocation: place) {
            try database.run(instructions, from: records)
        }
        #expect(try sqlite(database.path, ".dump") == before, sourceLocation: place)
        #expect(try database.restoreMarker() == nil, sourceLocation: place)
        return error
    }

    @Test func `records of another form than those that are there`() throws {
        let folder = try TemporaryFolder()
        let definition = try AppDefinition.builtIn(named: "ev-charging-tracker")
        let database = try AppDatabase.create(at: folder("ev.sqlite"), definition: definition)
        var records = try ListedRecords.small()
        try database.replaceAll(from: records)
        let other = ListedRecords(
            definition: definition.format(ofVersion: 5),
            metadata: [.text("1"), .text("2026-01-11T14:30:00Z"), .integer(5), .text("x")],
            settings: nil, collections: [])
        for strategy in [ImportStrategy.merge, .skip] {
            let error = try Self.refusal(database, other, strategy)
            #expect(error.code == .notSupported)
            #expect(
                error.message
                    == "Import failed: the file is of schema version 5, and the data of version 1, whose cars have another form")
            #expect(error.remedy == "Use the strategy replace, or a file of a version from 1 to 1.")
            #expect(throws: BackupError.self) { try database.requireSameFormat(as: definition.format(ofVersion: 9)) }
        }
        try database.requireSameFormat(as: definition)
        // A database without records takes any form, and remembers it.
        records.collections = []
        try database.replaceAll(from: records)
        _ = try database.run(ImportInstructions(strategy: .skip), from: other)
        #expect(try sqlite(database.path, "SELECT value FROM app_metadata WHERE key = 'schema_version'") == "5\n")
        #expect(try database.currentFormat().schemaVersion == 5)
    }

    @Test func `a database without an app definition`() throws {
        let folder = try TemporaryFolder()
        try sqlite(folder("any.sqlite"), "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
        let introspected = try IntrospectedDefinition(of: folder("any.sqlite"), mediaFolder: nil)
        let definition = try AppDefinition.load(yaml: introspected.yaml)
        #expect(definition.strategies == [.replace])
        let database = AppDatabase(at: folder("any.sqlite"), definition: definition)
        let records = ListedRecords(
            definition: definition, metadata: [.text("2026-01-11T14:30:00Z"), .integer(1)], collections: [])
        #expect(try Self.refusal(database, records).code == .notSupported)
        for member in ["strategies: [replace, merge]", "strategy: skip"] {
            let yaml = introspected.yaml.replacing("strategy: replace", with: member)
            #expect(AppDefinition.check(yaml: yaml).problems.count == 1, "\(member)")
        }
    }

    @Test func `what the tables themselves do not allow`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(
            folder,
            "CREATE UNIQUE INDEX one ON items (pages); INSERT INTO items (id, title, pages) VALUES (1, 'Emma', 400)")
        let records = try Library.records(items: [Library.item(5, "Other", nil, pages: 400)], shelves: [])
        let error = try Self.refusal(database, records)
        #expect(error.code == .invalidContent && error.message.contains("UNIQUE constraint failed: items.pages"))
    }

    @Test func `two records with one key`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition([("id TEXT PRIMARY KEY NOT NULL", "id TEXT")])
        let database = try Library.database(folder, "INSERT INTO shelves VALUES ('a', 'One', 0), ('a', 'Two', 0)", definition)
        let records = try Library.records(items: [], shelves: [Library.shelf("q", "One")], definition)
        let error = try Self.refusal(database, records)
        #expect(error.code == .notSupported && error.message == "Import failed: two shelves in the database have the id a")
    }

    @Test func `values of another kind, other counts, no numbers left`() throws {
        let folder = try TemporaryFolder()
        let database = try Library.database(folder, "INSERT INTO items (id, title) VALUES (\(Int64.max), 'Last')")
        var wrong = try Library.records(items: [Library.item(1, "x", nil)], shelves: [])
        wrong.collections[0].records[0][4] = .text("many")
        #expect(try Self.refusal(database, wrong).message == "Import failed: item: pages must be a whole number, not a text")
        let one = try Library.records(items: [Library.item(1, "x", nil)], shelves: [])
        #expect(try Self.refusal(database, one, expectedCounts: [2, 0]).code == .invalidContent)
        let same = try Library.records(items: [Library.item(Int64.max, "x", nil)], shelves: [])
        #expect(try Self.refusal(database, same).code == .notSupported)
        var unfinished = one
        unfinished.failure = BackupError(.damagedContent, "torn")
        #expect(try Self.refusal(database, unfinished).code == .damagedContent)
        let unknown = try Library.records(items: [Library.item(1, "x", "nowhere")], shelves: [Library.shelf("a", "Other")])
        try sqlite(database.path, "INSERT INTO shelves VALUES ('a', 'A', 0)")
        #expect(try Self.refusal(database, unknown).message == "Import failed: the file has no shelf nowhere")
    }

    @Test func `references that the tables declare, and those that were broken before`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition([("shelf_id TEXT, sequel", "shelf_id TEXT REFERENCES shelves (id), sequel")])
        let database = try Library.database(
            folder, "INSERT INTO items (id, title, shelf_id) VALUES (1, 'Lost', 'gone')", definition)
        let records = try Library.records(items: [Library.item(1, "x", "a")], shelves: [Library.shelf("a", "A")], definition)
        let outcome = try database.run(ImportInstructions(strategy: .merge), from: records)
        #expect(outcome.numbers["items"] == [1, 0, 0, 0, 0])
        #expect(try sqlite(database.path, "SELECT id, shelf_id FROM items") == "1|gone\n2|a\n")
    }

    @Test func `a text key that differs in case only, where the table does not tell them apart`() throws {
        let folder = try TemporaryFolder()
        let definition = try Library.definition([("id TEXT PRIMARY KEY NOT NULL", "id TEXT PRIMARY KEY COLLATE NOCASE NOT NULL")])
        let database = try Library.database(
            folder, "INSERT INTO shelves VALUES ('ABC', 'One', 0), ('abc-2', 'Two', 0)", definition)
        let records = try Library.records(
            items: [], shelves: [Library.shelf("abc", "Three"), Library.shelf("ABC-2", "Two", isDefault: true)], definition)
        let outcome = try database.run(ImportInstructions(strategy: .merge), from: records)
        #expect(outcome.numbers["shelves"] == [1, 1, 0, 0, 0])
        #expect(try sqlite(database.path, "SELECT * FROM shelves ORDER BY name") == "ABC|One|0\nabc-3|Three|0\nabc-2|Two|1\n")
    }
}

import AppData
import BackupCore
import TestSupport

/// An app with shelves and items: text keys, references, references within a collection, identities.
enum Library {
    static let yaml = """
        format: "1"
        name: library
        title: Library
        schemaVersion: "2"
        minimumSchemaVersion: "1"
        fileNames: {export: "l_{stamp}.json", backup: "lb_{stamp}.json", safety: "ls_{stamp}.json"}
        retention: {safetyKeepLast: "3"}
        envelope: [about, items, shelves, preferences]
        metadata:
          name: about
          table: about
          fields:
            - {name: version, source: schemaVersion, key: version, type: integer}
            - {name: device, key: device, type: text, required: false}
        settings:
          name: preferences
          table: preferences
          required: false
          fields: [{name: theme, key: theme, type: text, required: false}]
        collections:
          # Before the shelves that it refers to.
          - name: items
            table: items
            key: id
            identity: [title, shelf]
            mergedNote: "Updated existing item: {title} ({pages})"
            singular: item
            plural: items
            fields:
              - {name: id, column: id, type: integer}
              - {name: title, column: title, type: text}
              - {name: shelf, column: shelf_id, type: text, nullable: true, references: shelves.id}
              - {name: sequel, column: sequel_id, type: integer, nullable: true, references: items.id}
              - {name: pages, column: pages, type: integer, nullable: true}
              - {name: price, column: price, type: double, nullable: true}
          - name: shelves
            table: shelves
            key: id
            identity: [name]
            singular: shelf
            plural: shelves
            fields:
              - {name: id, column: id, type: text}
              - {name: name, column: name, type: text}
              - {name: isDefault, column: is_default, type: boolean}
        migrations:
          - name: "1"
            sql: |
              CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT NOT NULL, shelf_id TEXT, sequel_id INTEGER, pages INTEGER, price,
                  extra TEXT DEFAULT 'none');
              CREATE TABLE shelves (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, is_default INTEGER NOT NULL);
              CREATE TABLE about (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
              CREATE TABLE preferences (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
              INSERT INTO about VALUES ('version', '2');

        """

    /// - Parameter replacing: texts of the definition, and what stands in their place.
    static func definition(_ replacing: [(String, String)] = []) throws -> AppDefinition {
        var text = yaml
        for (old, new) in replacing { text = text.replacing(old, with: new) }
        return try AppDefinition.load(yaml: text)
    }

    /// A database with what the SQL makes.
    static func database(_ folder: TemporaryFolder, _ sql: String, _ definition: AppDefinition? = nil) throws -> AppDatabase {
        let database = try AppDatabase.create(at: folder("library.sqlite"), definition: definition ?? self.definition())
        try sqlite(database.path, sql)
        return database
    }

    static func item(
        _ id: Int64, _ title: String, _ shelf: String?, sequel: Int64? = nil, pages: Int64? = nil, price: Double? = nil
    ) -> [FieldValue] {
        [
            .integer(id), .text(title), shelf.map(FieldValue.text) ?? .null, sequel.map(FieldValue.integer) ?? .null,
            pages.map(FieldValue.integer) ?? .null, price.map(FieldValue.real) ?? .null,
        ]
    }

    static func shelf(_ id: String, _ name: String, isDefault: Bool = false) -> [FieldValue] {
        [.text(id), .text(name), .boolean(isDefault)]
    }

    static func records(
        items: [[FieldValue]], shelves: [[FieldValue]], settings: [FieldValue]? = nil, _ definition: AppDefinition? = nil
    ) throws -> ListedRecords {
        ListedRecords(
            definition: try definition ?? self.definition(), metadata: [.integer(2), .text("phone")], settings: settings,
            collections: [("items", items), ("shelves", shelves)])
    }

    /// All rows, the items' sequels and shelves by their keys.
    static func rows(_ database: AppDatabase) throws -> String {
        try sqlite(
            database.path,
            """
            SELECT 'item', id, title, ifnull(shelf_id, '-'), ifnull(sequel_id, '-'), ifnull(pages, '-'), ifnull(price, '-') FROM items ORDER BY id;
            SELECT 'shelf', id, name, is_default FROM shelves ORDER BY id
            """)
    }
}

extension ImportOutcome {
    /// "items 1 added, 0 updated, 2 skipped, 0 kept, 0 removed" as numbers.
    var numbers: [String: [Int]] {
        Dictionary(uniqueKeysWithValues: collections.map { ($0.name, [$0.added, $0.updated, $0.skipped, $0.kept, $0.removed]) })
    }
}

import TestSupport
import Testing

@testable import Operations

/// A definition in which a name has changed since the backup: the store's own backup holds values that the definition no longer
/// knows.
struct RenamedFieldTests {
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; backupfs export one --zip --output $R/one.zip --store $S
            sqlite3 $S/app/database.sqlite "update photos set caption = 'new'"
            """)
        return sandbox
    }

    private static let captions = "sqlite3 $S/app/database.sqlite 'select caption from photos order by id'"

    @Test func `an own backup whose values would be dropped is refused`() throws {
        let field = "photos.caption (2)"
        let change = "s/name: caption, column/name: title, column/"
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("cp $S/app.yaml $R/right.yaml; sed -i '\(change)' $S/app.yaml; backupfs app check $S/app.yaml")
        let before = try sandbox.sh(PhotoDiary.describe)
        let refused = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(refused.exitCode == 1, "\(refused)")
        #expect(
            refused.errors.contains("the app's definition does not know these fields of the backup: \(field)"), "\(refused)")
        #expect(refused.errors.contains("backupfs export"), "\(refused)")
        #expect(try sandbox.sh(PhotoDiary.describe) == before)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
        let preview = try sandbox.run("backupfs restore one --dry-run --store $S")
        #expect(preview.exitCode == 1 && preview.errors.contains(field), "\(preview)")
        // A file may come from any program, and its unknown fields are reported.
        let file = try sandbox.run("backupfs restore $R/one.zip --yes --store $S")
        #expect(file.exitCode == 0 && file.output.contains("Unknown fields were ignored: \(field)"), "\(file)")
        // With the original definition, everything comes back.
        try sandbox.sh("cp $R/right.yaml $S/app.yaml; backupfs restore one --yes --store $S")
        #expect(try sandbox.sh(Self.captions) == "first\n\nsea")
    }

    @Test func `a renamed collection is refused as well`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.db "CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL); CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY, n TEXT);
              INSERT INTO a VALUES (1); INSERT INTO b VALUES (1, 'kept')"
            """)
        let definition = """
            format: "1"
            name: renamed
            title: Renamed
            schemaVersion: "1"
            minimumSchemaVersion: "1"
            fileNames:
              export: "r_export_{stamp}.json"
              backup: "r_backup_{stamp}.json"
              safety: "r_safety_{stamp}.json"
            strategy: replace
            retention:
              keepLast: "5"
              safetyKeepLast: "3"
            envelope: [metadata, a, tags]
            metadata:
              name: metadata
              table: meta
              fields:
                - {name: createdAt, source: creationTime, type: date}
                - {name: schemaVersion, source: schemaVersion, key: schema_version, type: integer}
            collections:
              - name: a
                table: a
                key: id
                singular: a
                plural: as
                fields:
                  - {name: id, column: id, type: integer}
              - name: tags
                table: b
                key: id
                singular: tag
                plural: tags
                required: false
                fields:
                  - {name: id, column: id, type: integer}
                  - {name: n, column: n, type: text}

            """
        try sandbox.write(definition, to: "d.yaml")
        try sandbox.sh(
            """
            backupfs init --store $S --app $R/d.yaml --database $R/app.db; backupfs backup --label one --store $S
            sed -i 's/a, tags]/a, labels]/; s/- name: tags/- name: labels/' $S/app.yaml; sqlite3 $R/app.db "update b set n = 'new'"
            """)
        let refused = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("tags"), "\(refused)")
        #expect(try sandbox.sh("sqlite3 $R/app.db 'select n from b'") == "new")
    }
}

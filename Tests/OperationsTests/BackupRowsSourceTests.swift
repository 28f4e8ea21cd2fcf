import TestSupport
import Testing

/// The source of the rows that a restore copies, and the rows that are not copied (review H: H6, H7, H8, H11).
struct BackupRowsSourceTests {
    private static let dump = BackupRowsTests.dump
    private static let undo = BackupRowsTests.undo

    /// The layouts of most apps have no place for the database.
    @Test(arguments: ["A", "$R/a.zip", "$R/a.tar"])
    func `the rows come from the repository where the archive has no database`(what: String) throws {
        let sandbox = try BackupRowsTests.makeSandbox(#"archiveLayout:\#n  - {from: "export.json", to: "notes.json"}"#)
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs backup --label A --store $S; backupfs verify A --store $S")
        for name in ["zip", "tar"] { try sandbox.sh("backupfs export A --\(name) --output $R/a.\(name) --store $S") }
        #expect(try sandbox.sh("unzip -Z1 $R/a.zip | grep -c sqlite || true") == "0")
        try sandbox.sh("sqlite3 $R/a.db \"update notes set body = 'x', at = 'y', size = 'many', archived = 5\"")
        let changed = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore \(what) --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh(Self.dump) == changed)
    }

    @Test func `a field that the definition has got since is no reason to leave the rows`() throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh("backupfs backup --label A --store $S; sqlite3 $R/a.db 'alter table notes add column stars integer'")
        try sandbox.sh("sqlite3 $R/a.db 'update notes set stars = 5, archived = 7'")
        try sandbox.sh("echo '      - {name: stars, column: stars, type: integer, default: \"3\"}' >> $S/app.yaml")
        let changed = try sandbox.sh(Self.dump)
        let verified = try sandbox.run("backupfs verify A --store $S")
        #expect(
            verified.exitCode == 0
                && verified.output.contains("the app's definition has got fields or collections since the backup was made"),
            "\(verified)")
        let result = try sandbox.run("backupfs restore A --yes --store $S")
        #expect(result.exitCode == 0 && !result.output.contains("is not restored"), "\(result)")
        #expect(
            try sandbox.sh("sqlite3 $R/a.db 'select rowid, id, body, at, archived, added, stars from notes order by id'")
                == "3|ape||2024-01-02 03:04:05Z|0|once|3\n7|zebra|one|2024-01-02T23:30:00-05:00|||3")
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh(Self.dump) == changed)
    }

    @Test func `verify says of values that the definition does not allow what a restore does with them`() throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh("sqlite3 $R/a.db \"update notes set size = 'many', at = 'y'\"; backupfs backup --label A --store $S")
        let before = try sandbox.sh(Self.dump)
        let verified = try sandbox.run("backupfs verify A --store $S")
        #expect(
            verified.exitCode == 0 && verified.output.contains("A: can be restored")
                && verified.output.contains("does not allow 4 values of the backup. They come back as they were: note ape"),
            "\(verified)")
        try sandbox.sh("sqlite3 $R/a.db 'delete from notes'; backupfs restore A --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `verify and a restore refuse a backup with fields that the definition has lost`() throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh(
            "backupfs backup --label A --store $S; sed -i /size/d $S/app.yaml; sqlite3 $R/a.db 'alter table notes drop column size'"
        )
        let problem = "the app's definition does not know these fields of the backup: notes.size (2)"
        for command in ["verify A", "restore A --yes"] {
            let refused = try sandbox.run("backupfs \(command) --store $S")
            #expect(refused.exitCode == 1 && (refused.output + refused.errors).contains(problem), "\(refused)")
        }
    }

    /// Only the export maps files to records: it is read, whatever its values.
    @Test(arguments: ["stars = 'many'", "is_built_in = 2", "title = cast(x'ff41' as text)", "stars = x'00'", "file = 5"])
    func `an app that tells of its media gets back values that its definition does not allow`(change: String) throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            format: "1"
            name: piles
            title: Piles of Photos
            schemaVersion: "1"
            minimumSchemaVersion: "1"
            fileNames: {export: "p_{stamp}.zip", backup: "p_{stamp}.zip", safety: "p_before_{stamp}.zip"}
            retention: {safetyKeepLast: "9"}
            envelope: [version, photos, files]
            metadata:
              table: about
              fields: [{name: version, source: schemaVersion, type: integer}]
            collections:
              - name: photos
                table: photos
                key: id
                singular: photo
                plural: photos
                mediaUnless: isBuiltIn
                fields:
                  - {name: id, column: id, type: integer}
                  - {name: file, column: file, type: text, media: true}
                  - {name: title, column: title, type: text, nullable: true}
                  - {name: stars, column: stars, type: integer, nullable: true}
                  - {name: isBuiltIn, column: is_built_in, type: boolean, default: "false"}
              - name: files
                source: manifest
                key: photo
                singular: file
                plural: files
                required: false
                fields:
                  - {name: photo, value: recordKey, type: integer, references: photos.id}
                  - {name: was, value: recordPath, type: text}
                  - {name: entry, value: archivePath, type: text}
                  - {name: bytes, value: size, type: integer}
                  - {name: md5, value: md5, type: text, nullable: true}
            media: {folder: photos, archiveNames: keyed}
            archiveLayout:
              - {from: "export.json", to: "piles.json"}
              - {from: "media/", to: "photos/"}
            """, to: "piles.yaml")
        try sandbox.sh(
            """
            mkdir $R/photos; printf beach > $R/photos/beach.jpg; printf sun > $R/photos/sun.png
            sqlite3 $R/a.db <<'Q'
            create table about (key text primary key not null, value text not null);
            create table photos (id integer primary key, file not null, title text, stars, is_built_in integer not null default 0);
            insert into photos values (7, 'photos/beach.jpg', 't', 3, 0), (8, 'photos/sun.png', null, null, 0);
            Q
            backupfs init --store $S --app $R/piles.yaml --database $R/a.db --media $R/photos >/dev/null
            backupfs backup --label A --store $S
            """)
        let state = "\(Self.dump); cd $R/photos; sha256sum *"
        let before = try sandbox.sh(state)
        try sandbox.sh("sqlite3 $R/a.db 'update photos set \(change.replacing("'", with: "'\\''")) where id = 7'")
        try sandbox.sh("printf more > $R/photos/more.jpg; printf other > $R/photos/beach.jpg")
        let changed = try sandbox.sh(state)
        try sandbox.sh("backupfs restore A --yes --store $S")
        #expect(try sandbox.sh(state) == before)
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh(state) == changed)
        try sandbox.sh("backupfs verify $(jq -r .safetyBackup $S/restore/last.json) --store $S")
    }

    @Test func `an export that several backups have brings the rows of none of them`() throws {
        let sandbox = try BackupRowsTests.makeSandbox(createdAt: false)
        try sandbox.sh("backupfs backup --label A --store $S; backupfs export A --output $R/a.json --store $S")
        // Their own database is identical, so it does not matter whose it is.
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore $R/a.json --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.sh("sqlite3 $R/a.db 'update notes set archived = 9'; backupfs backup --label B --store $S")
        try sandbox.sh("backupfs export B --output $R/b.json --store $S; cmp $R/a.json $R/b.json")
        let changed = try sandbox.sh(Self.dump)
        let refused = try sandbox.run("backupfs restore $R/a.json --yes --store $S")
        #expect(
            refused.exitCode == 1 && refused.errors.contains("a restore would lose its values")
                && refused.errors.contains("restore it by its name instead of by a file"), "\(refused)")
        #expect(try sandbox.sh(Self.dump) == changed)
        try sandbox.sh("sqlite3 $R/a.db 'delete from notes'")
        let result = try sandbox.run("backupfs restore $R/a.json --yes --store $S")
        #expect(
            result.exitCode == 0
                && result.output.contains(
                    "several backups have this file, with different databases: what only their databases hold is not restored"),
            "\(result)")
        try sandbox.sh("backupfs restore A --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `a collection in the table of the metadata is not copied, and its further columns refuse a restore`() throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "alter table about add column device text; insert into about values ('lang', 'en', 'pc')"
            cd $S; sed -i 's/^envelope: .*/envelope: [about, notes, items]/' app.yaml
            printf '  - name: items\\n    table: about\\n    key: key\\n    singular: item\\n    plural: items\\n    fields:\\n' >> app.yaml
            printf '      - {name: key, column: key, type: text}\\n      - {name: value, column: value, type: text}\\n' >> app.yaml
            """)
        let before = try sandbox.sh(Self.dump)
        let backup = try sandbox.run("backupfs backup --label A --store $S")
        #expect(
            backup.errors.contains("about.device") && backup.errors.contains("and a restore would be refused"), "\(backup)")
        let refused = try sandbox.run("backupfs restore A --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("a restore would lose its values"), "\(refused)")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `rows whose keys are none, or of another kind, are backed up and come back`() throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh("backupfs backup --label A --store $S")
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh(
            "sqlite3 $R/a.db \"insert into notes(id, body) values (null, 'n'), (null, 'm'), (x'00ff', 'b'), (1.5, 'r')\"")
        let odd = try sandbox.sh(Self.dump)
        let backup = try sandbox.run("backupfs backup --label B --store $S")
        #expect(
            backup.exitCode == 0 && backup.errors.contains("some records cannot be distinguished")
                && backup.errors.contains("Collections: notes"), "\(backup)")
        try sandbox.sh("backupfs verify B --store $S")
        #expect(
            try sandbox.sh("backupfs restore B --target $R/fb --store $S >/dev/null; jq -c .records $R/fb/changes.json")
                == #"{"notes":null}"#)
        try sandbox.sh("backupfs restore A --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.sh("backupfs restore B --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == odd)
        // The next backup compares with it.
        try sandbox.sh("sqlite3 $R/a.db 'delete from notes where rowid not in (3, 7)'; backupfs backup --label C --store $S")
        #expect(
            try sandbox.sh("backupfs restore C --target $R/fc --store $S >/dev/null; jq -c .since $R/fc/changes.json") == "null")
    }

    @Test(arguments: ["lower(size)", "size) where (lower(size) > 'a'"])
    func `an index whose entries are computed stays right in a database of UTF-16`(index: String) throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh(
            """
            cd $R; sqlite3 a.db .dump > a.sql; rm a.db; sqlite3 a.db "PRAGMA encoding = 'UTF-16le'; create table x(x); drop table x"
            sqlite3 a.db < a.sql; sqlite3 a.db "create index computed on notes(\(index)); update notes set size = x'414263'; reindex"
            backupfs backup --label A --store $S
            """)
        let check = "sqlite3 $R/a.db 'pragma encoding; pragma integrity_check'"
        #expect(try sandbox.sh(check) == "UTF-16le\nok")
        for name in ["A", "$(jq -r .safetyBackup $S/restore/last.json)"] {
            try sandbox.sh("backupfs restore \(name) --yes --store $S")
            #expect(try sandbox.sh(check) == "UTF-16le\nok")
        }
    }
}

import BackupCore
import BackupRepository
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Drills: what is proved, and that each kind of damage is detected.
struct SnapshotVerifierTests {
    private static func backUp(_ store: Store, _ label: String) throws -> Snapshot {
        try BackupOperation(store: store).run(label: label, tag: nil, progress: nil).snapshot
    }

    /// A backup like another one, except for some of its files and attributes.
    private static func forge(
        _ name: FileName, like snapshot: Snapshot, in store: Store, attributes: [String: String] = [:],
        files: [(FileName, [UInt8])] = [], _ change: (TreeEntry) -> TreeEntry = { $0 }
    ) throws -> Snapshot {
        let writer = try store.repository.makeWriter()
        var entries: [TreeEntry] = []
        for entry in try store.repository.rootDirectory(of: snapshot).entries {
            guard let (_, bytes) = files.first(where: { $0.0 == entry.name }) else {
                entries.append(change(entry))
                continue
            }
            let stored = try writer.store(bytes, policy: .structuredText)
            entries.append(.file(name: entry.name, mode: entry.mode, modificationTime: entry.modificationTime, stored: stored))
        }
        let record = snapshot.record
        return try writer.commit(
            SnapshotRecord(
                kind: .snapshot, name: name, creationTime: record.creationTime, parent: nil, root: try writer.store(entries),
                archiveSizeBytes: 0, archiveLayout: [:], attributes: record.attributes.merging(attributes) { $1 }))
    }

    @Test func `a whole backup is verified, and says when`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh("cd $S/app/photos; ln -s one.jpg link; mkdir empty; head -c 5000000 /dev/urandom > big; : > nothing")
        let snapshot = try Self.backUp(store, "one")
        #expect(snapshot.verifiedAt == nil)
        let outcome = try SnapshotVerifier(store: store).run(snapshot, progress: nil)
        #expect(outcome.findings == [] && outcome.notes == [])
        #expect(outcome.fileCount == snapshot.record.root.totals.fileCount && outcome.recordCount == 3)
        #expect(outcome.verifiedAt != nil)
        #expect(try Store.open(sandbox.storePath).repository.snapshot(id: snapshot.id)?.verifiedAt == outcome.verifiedAt)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `each kind of damage is found`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        // Enough rows for several pages, and an index that can contradict them.
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "with recursive n(i) as (select 10 union all select i + 1 from n where i < 3000)
              insert into photos select i, 'file ' || i, 'caption of ' || i from n" "create index by_file on photos (file)"
            """)
        let snapshot = try Self.backUp(store, "one")
        let drill = SnapshotVerifier(store: store)
        #expect(try drill.run(snapshot, progress: nil).findings == [])
        try sandbox.sh(
            """
            backupfs restore one --target $R/out --store $S >/dev/null; cd $R/out
            cp database.sqlite $R/other.sqlite; sqlite3 $R/other.sqlite "update photos set caption = 'other' where id in (1, 2)"
            cp database.sqlite $R/fewer.sqlite; sqlite3 $R/fewer.sqlite "delete from photos where id = 3"
            cp database.sqlite $R/version.sqlite; sqlite3 $R/version.sqlite "update app_metadata set value = '9.9' where key = 'app_version'"
            cp database.sqlite $R/broken.sqlite
            sqlite3 $R/broken.sqlite 'pragma writable_schema = on' \
              "update sqlite_master set sql = 'CREATE INDEX by_file on photos (caption)' where name = 'by_file'"
            sed 's/"photos": 2994/"photos": 2993/' manifest.json > $R/manifest.json; ! cmp -s manifest.json $R/manifest.json
            sed 's/"id": 3,/"id": 2,/' export.json > $R/export.json; ! cmp -s export.json $R/export.json
            """)
        func findings(_ name: FileName, _ file: FileName, _ path: String) throws -> [String] {
            let forged = try Self.forge(name, like: snapshot, in: store, files: [(file, try readFile(sandbox(path)))])
            let outcome = try drill.run(forged, progress: nil)
            #expect(outcome.verifiedAt == nil && store.repository.snapshot(id: forged.id)?.verifiedAt == nil)
            return outcome.findings.map(\.english)
        }
        #expect(
            try findings("other", "database.sqlite", "other.sqlite") == [
                "database.sqlite: 2 records of photos are not those of export.json"
            ])
        #expect(
            try findings("fewer", "database.sqlite", "fewer.sqlite") == [
                "database.sqlite: it has 2993 records in photos, the manifest says 2994",
                "database.sqlite: 1 records of photos are not those of export.json",
            ])
        #expect(
            try findings("version", "database.sqlite", "version.sqlite") == [
                "database.sqlite: what it holds besides the records is not what export.json has"
            ])
        let broken = try findings("broken", "database.sqlite", "broken.sqlite")
        // Damage that SQLite's quick check does not detect.
        #expect(broken.count == 100 && broken[0] == "database.sqlite: row 1 missing from index by_file", "\(broken.prefix(3))")
        #expect(
            try findings("manifest", "manifest.json", "manifest.json") == [
                "export.json: it has 2994 records in photos, the manifest says 2993",
                "database.sqlite: it has 2994 records in photos, the manifest says 2993",
            ])
        #expect(
            try findings("export", "export.json", "export.json") == [
                "database.sqlite: what it holds besides the records is not what export.json has"
            ])
        try sandbox.sh("echo '[]' > $R/list; echo text > $R/text")
        #expect(try findings("list", "manifest.json", "list") == ["manifest.json: the manifest has no numbers of records"])
        let text = try findings("text", "database.sqlite", "text")
        #expect(text == ["database.sqlite: the file is not an SQLite database"])
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
    }

    /// The CRC-32 is right, as an attacker can arrange: the SHA-256 is checked as well.
    @Test func `checksums that are not the file's`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let snapshot = try Self.backUp(store, "one")
        func forged(_ name: FileName, _ change: (Checksums) -> Checksums) throws -> [String] {
            let forged = try Self.forge(name, like: snapshot, in: store) { entry in
                guard entry.name == "changes.json", let checksums = entry.checksums else { return entry }
                return .file(
                    name: entry.name, mode: entry.mode, modificationTime: entry.modificationTime, content: entry.content,
                    checksums: change(checksums))
            }
            return try SnapshotVerifier(store: store).run(forged, progress: nil).findings.map(\.english)
        }
        let other = SHA256Hasher.hash([1])
        #expect(
            try forged("sha") { Checksums(crc32: $0.crc32, md5: $0.md5, sha1: $0.sha1, sha256: other) }
                == ["changes.json: its SHA-256 is not the recorded one"])
        #expect(
            try forged("crc") { Checksums(crc32: $0.crc32 ^ 1, md5: $0.md5, sha1: $0.sha1, sha256: $0.sha256) }
                == ["changes.json: the file's content is not what was backed up"])
    }

    @Test func `what an app has made invalid itself is noted, and a restore brings it back`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --store $S --sample >/dev/null; sqlite3 $S/app/database.sqlite 'update expenses set car_id = 99 where id = 7'"
        )
        let store = try Store.open(sandbox.storePath)
        let outcome = try SnapshotVerifier(store: store).run(try Self.backUp(store, "one"), progress: nil)
        #expect(outcome.findings.isEmpty, "\(outcome)")
        #expect(
            outcome.notes == [
                "The app's definition does not allow 1 value of the backup. It comes back as it was: expense 7 refers to unknown car 99"
            ])
        let rows = "sqlite3 $S/app/database.sqlite 'select * from expenses order by id'"
        let before = try sandbox.sh(rows)
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses'; backupfs restore one --yes --store $S >/dev/null")
        #expect(try sandbox.sh(rows) == before)
    }

    @Test func `another schema or another app is no damage`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let snapshot = try Self.backUp(store, "one")
        let older = try SnapshotVerifier(store: store).run(
            try Self.forge("older", like: snapshot, in: store, attributes: ["schema-version": "0"]), progress: nil)
        #expect(older.findings == [] && older.verifiedAt != nil)
        #expect(older.notes == ["the database was not compared with the export: the app's schema has another version now"])
        let foreign = try SnapshotVerifier(store: store).run(
            try Self.forge("foreign", like: snapshot, in: store, attributes: ["app": "other"]), progress: nil)
        #expect(foreign.findings == [] && foreign.notes == ["the records were not checked: the backup is of another app"])
    }

    @Test func `a killed drill leaves nothing behind`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh("head -c 60000000 /dev/urandom > $S/app/photos/big")
        _ = try Self.backUp(store, "one")
        let result = try sandbox.sh(
            """
            backupfs verify one --store $S > /dev/null & job=$!
            until [ -e $S/spool/work-*/files/media/big ] 2>/dev/null || [ $SECONDS -gt 60 ]; do :; done
            kill -9 $job; wait $job 2>/dev/null || true
            ls -I CACHEDIR.TAG $S/spool | wc -l; backupfs status --store $S > /dev/null; ls -A -I CACHEDIR.TAG $S/spool | wc -l
            backupfs snapshots --store $S --json | grep verified_at | xargs
            """)
        #expect(result == "2\n0\nverified_at: null,")
    }

    @Test func `no space`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $S")
        guard try sandbox.run("mount -t tmpfs -o size=20m tmpfs $S").exitCode == 0 else { return }
        defer { _ = try? sandbox.run("umount $S") }
        try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
        try sandbox.sh(
            "backupfs init --store $S/store --app $R/diary.yaml >/dev/null; head -c 8000000 /dev/urandom > $S/store/app/photos/big"
        )
        let store = try Store.open("\(sandbox.storePath)/store")
        let snapshot = try Self.backUp(store, "one")
        let error = failure { _ = try SnapshotVerifier(store: store).run(snapshot, progress: nil) }
        #expect(error?.code == .noSpace && error?.path == "\(sandbox.storePath)/store/spool")
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/store/spool") == "")
    }

    /// The definition got an optional collection after the backup was made: a restore accepts the backup, so `verify` must not
    /// report it as damaged.
    @Test func `a backup from before an optional collection is no finding`() throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh(
            """
            backupfs backup --label old --store $S >/dev/null 2>&1; sqlite3 $R/a.db "create table tags (id integer primary key, tag text not null)"
            sed -i 's/^envelope: .*/envelope: [about, notes, tags]/' $S/app.yaml
            cat >> $S/app.yaml <<'Q'
              - name: tags
                table: tags
                key: id
                singular: tag
                plural: tags
                required: false
                fields:
                  - {name: id, column: id, type: integer}
                  - {name: tag, column: tag, type: text}
            Q
            """)
        let verified = try sandbox.run("backupfs verify old --store $S")
        #expect(
            verified.exitCode == 0 && verified.output.contains("fields or collections since the backup was made"), "\(verified)")
        #expect(try sandbox.run("backupfs restore old --yes --store $S").exitCode == 0)
    }
}

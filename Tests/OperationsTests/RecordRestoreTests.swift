import BackupCore
import BackupRepository
import Foundation
import SnapshotFormats
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Restoring single records: what `history/` shows, and collections.
struct RecordRestoreTests {
    /// A sample store with the backup `old`, after which expense 1 has changed, and car 3 and its expenses are gone.
    /// `$R/e1.json` is the old expense 1, `$R/car.json` the car, and `$R/expenses.json` all old expenses.
    private static func makeStore() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null; backupfs backup --label old --store $S
            sqlite3 $S/app/database.sqlite "update expenses set notes = 'new', odometer = 7 where id = 1" \\
              'delete from expenses where car_id = 3' 'delete from planned_maintenance where car_id = 3' 'delete from cars where id = 3'
            backupfs restore old:data --target $R/data --store $S >/dev/null; cp $R/data/expenses.json $R/
            """)
        let store = try Store.open(sandbox.storePath)
        let histories = RecordHistories(of: store)
        for (collection, key, name) in [("expenses", "1", "e1.json"), ("cars", "3", "car.json")] {
            let history = try #require(
                try histories.history(of: FileName(key), in: FileName(collection), store.ownSnapshots(kind: .snapshot)))
            try writeFile(sandbox(name), try store.repository.readAll(history.states[0].file))
        }
        return sandbox
    }

    private static let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"
    private static let restore = "backupfs restore --yes --store $S"

    @Test func `one record gets its old values, and nothing else changes`() throws {
        let sandbox = try Self.makeStore()
        let before = try sandbox.sh(Self.dump)
        let dry = try sandbox.sh("backupfs restore $R/e1.json --dry-run --store $S")
        #expect(dry.contains("With merge"), "\(dry)")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh("\(Self.restore) $R/e1.json | head -1") == "e1.json: Added 0, updated 1 and skipped 0 records.")
        let after = try sandbox.sh(Self.dump)
        // One line of the dump is another one: that of the old data.
        let old = Set(before.split(separator: "\n"))
        let new = Set(after.split(separator: "\n"))
        #expect(old.subtracting(new).count == 1 && new.subtracting(old).count == 1)
        let columns = "notes, odometer"
        let values = try sandbox.sh("jq -r '.records[0] | [.notes, .odometer] | @tsv' $R/e1.json")
        #expect(
            try sandbox.sh("sqlite3 -separator '\t' $S/app/database.sqlite 'select \(columns) from expenses where id = 1'")
                == values)
        // Again nothing is to do, and the restore can be taken back.
        #expect(try sandbox.sh("\(Self.restore) $R/e1.json | head -1") == "e1.json: Added 0, updated 0 and skipped 1 records.")
        #expect(try sandbox.sh(Self.dump) == after)
        #expect(try sandbox.sh("jq -r .strategy $S/restore/last.json") == "merge")
    }

    @Test func `skip leaves what is there, and replace is refused`() throws {
        let sandbox = try Self.makeStore()
        let before = try sandbox.sh(Self.dump)
        #expect(
            try sandbox.sh("\(Self.restore) $R/e1.json --strategy skip | head -1")
                == "e1.json: Added 0, updated 0 and skipped 1 records.")
        let refused = try sandbox.run("\(Self.restore) $R/e1.json --strategy replace")
        #expect(refused.exitCode != 0 && refused.errors.contains("cannot replace all data"), "\(refused.errors)")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `removed records come back, those that they refer to first`() throws {
        let sandbox = try Self.makeStore()
        let before = try sandbox.sh(Self.dump)
        // All expenses, of which some are of the car that is gone.
        let refused = try sandbox.run("\(Self.restore) $R/expenses.json")
        #expect(
            refused.exitCode != 0 && refused.errors.contains("refers to the car 3, which is not in the database"),
            "\(refused.errors)")
        #expect(refused.errors.contains("Restore the car first."), "\(refused.errors)")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh("\(Self.restore) $R/car.json | head -1") == "car.json: Added 1, updated 0 and skipped 0 records.")
        let line = try sandbox.sh("\(Self.restore) $R/expenses.json | head -1")
        #expect(line.hasPrefix("expenses.json: Added ") && line.contains(", updated 1 and skipped "), "\(line)")
        // All of them are as they were.
        try sandbox.sh(
            "backupfs export --json -o $R/now.json --store $S; jq -S .expenses $R/now.json > $R/now; jq -S . $R/expenses.json > $R/then; cmp $R/now $R/then"
        )
    }

    @Test func `an array without the name of its collection is known by its content`() throws {
        let sandbox = try Self.makeStore()
        try sandbox.sh("\(Self.restore) $R/car.json >/dev/null; cp $R/expenses.json $R/2026-01-11_14-30-00.json")
        #expect(try sandbox.sh("\(Self.restore) $R/2026-01-11_14-30-00.json | head -1").contains(", updated 1 and"))
        try sandbox.sh("jq -c . $R/expenses.json > $R/other.json")
        let refused = try sandbox.run("\(Self.restore) $R/other.json")
        #expect(refused.exitCode != 0)
        // By its name, the same array is one.
        try sandbox.sh("mkdir $R/named; mv $R/other.json $R/named/expenses.json; \(Self.restore) $R/named/expenses.json")
    }

    @Test(arguments: [
        ("\"app\": \"ev-charging-tracker\"", "\"app\": \"keeptrack\"", "of the app keeptrack"),
        ("\"collection\": \"expenses\"", "\"collection\": \"trips\"", "no records called trips"),
        ("\"schemaVersion\":", "\"inexactValues\": 1, \"schemaVersion\":", "cannot hold as they are"),
        ("\"id\": 1,", "\"id\": \"x\",", "id"), ("\"odometer\":", "\"odometer\": null, \"odo\":", "odometer"),
    ])
    func `what is not right is refused whole`(find: String, replacement: String, reason: String) throws {
        let sandbox = try Self.makeStore()
        let text = String(decoding: try readFile(sandbox("e1.json")), as: UTF8.self)
        #expect(text.contains(find))
        try writeFile(sandbox("bad.json"), Array(text.replacingOccurrences(of: find, with: replacement).utf8))
        let before = try sandbox.sh(Self.dump)
        let refused = try sandbox.run("\(Self.restore) $R/bad.json")
        #expect(refused.exitCode != 0 && refused.errors.contains(reason), "\(refused.errors)")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `what is cut off is refused, and so is a record for a lost database`() throws {
        let sandbox = try Self.makeStore()
        let text = try readFile(sandbox("e1.json"))
        let before = try sandbox.sh(Self.dump)
        for count in [text.count - 3, text.count / 2, 60] {
            try writeFile(sandbox("cut.json"), Array(text.prefix(count)))
            let refused = try sandbox.run("\(Self.restore) $R/cut.json")
            #expect(refused.exitCode != 0, "\(count)")
        }
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.sh("rm $S/app/database.sqlite*")
        let refused = try sandbox.run("\(Self.restore) $R/e1.json")
        #expect(refused.exitCode != 0 && refused.errors.contains("Restore a backup first."), "\(refused.errors)")
    }

    /// The app's own rule for merges would add another record instead: there, the same name means the same record.
    @Test func `the key alone counts, whatever the app's rule for merges is`() throws {
        let sandbox = try Sandbox()
        try sandbox.write(PhotoDiary.definition(identity: "caption"), to: "diary.yaml")
        try sandbox.sh(
            """
            backupfs init --app $R/diary.yaml --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "insert into app_metadata values ('app_version','1.0')" \\
              "insert into photos values (1, 'a.jpg', 'first'), (2, 'b.jpg', 'second')"
            backupfs backup --label old --store $S
            sqlite3 $S/app/database.sqlite "update photos set caption = 'changed' where id = 1"
            """)
        let store = try Store.open(sandbox.storePath)
        let histories = RecordHistories(of: store)
        let snapshots = store.ownSnapshots(kind: .snapshot)
        let collection = try #require(try histories.collections(snapshots).first { $0 == "photos" })
        let history = try #require(try histories.history(of: "1", in: collection, snapshots))
        try writeFile(sandbox("one.json"), try store.repository.readAll(history.states[0].file))
        try sandbox.sh("\(Self.restore) $R/one.json")
        #expect(
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'select id, caption from photos order by id'") == "1|first\n2|second")
    }

    // MARK: What a review found

    /// The state of a record in the oldest or another backup, as a file.
    private static func write(
        _ collection: String, _ key: String, _ number: Int, to name: String, _ sandbox: Sandbox
    ) throws {
        let store = try Store.open(sandbox.storePath)
        let history = try #require(
            try RecordHistories(of: store).history(
                of: FileName(key), in: FileName(collection), store.ownSnapshots(kind: .snapshot)))
        try writeFile(sandbox(name), try store.repository.readAll(history.states[number].file))
    }

    private static func sql(_ text: String) -> String { "sqlite3 $S/app/database.sqlite \"\(text)\"" }

    private static func version(_ number: String) -> String {
        sql("update app_metadata set value = '\(number)' where key = 'schema_version'")
    }

    /// Version 7 has the members of version 9, and leaves out those that are null.
    @Test func `what the state of an older version leaves out is null`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null; \(Self.version("7"))
            \(Self.sql("update expenses set cost = null, notes = 'seven' where id = 1")); backupfs backup --store $S >/dev/null
            \(Self.version("9")); \(Self.sql("update expenses set cost = '5', notes = 'nine' where id = 1"))
            """)
        try Self.write("expenses", "1", 0, to: "seven-1.json", sandbox)
        // Other records of the sample have values that this format cannot hold.
        try sandbox.sh("jq 'del(.inexactValues)' $R/seven-1.json > $R/seven.json")
        #expect(try sandbox.sh("jq -c .schemaVersion $R/seven.json") == "7")
        try sandbox.sh("\(Self.restore) $R/seven.json >/dev/null")
        #expect(try sandbox.sh(Self.sql("select cost is null, notes from expenses where id = 1")) == "1|seven")
        // Nothing but the record: the version of the data stays.
        #expect(try sandbox.sh(Self.sql("select value from app_metadata where key = 'schema_version'")) == "9")
    }

    /// Formats differ in other collections.
    @Test func `the state of a format with the same collection is restored`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null; \(Self.version("5"))
            \(Self.sql("update expenses set notes = 'five' where id = 1")); backupfs backup --store $S >/dev/null
            \(Self.version("9")); \(Self.sql("update expenses set notes = 'nine' where id = 1"))
            """)
        try Self.write("expenses", "1", 0, to: "five-1.json", sandbox)
        // Other records of the sample have values that this format cannot hold.
        try sandbox.sh("jq 'del(.inexactValues)' $R/five-1.json > $R/five.json")
        #expect(try sandbox.sh("jq -c .schemaVersion $R/five.json") == "5")
        try sandbox.sh("\(Self.restore) $R/five.json >/dev/null")
        #expect(try sandbox.sh(Self.sql("select notes from expenses where id = 1")) == "five")
        #expect(try sandbox.sh(Self.sql("select value from app_metadata where key = 'schema_version'")) == "9")
    }

    @Test func `an array of a backup with inexact values is refused under any name`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null; \(Self.sql("update expenses set notes = cast(x'61ff62' as text) where id = 10"))
            backupfs backup --label a --store $S >/dev/null 2>&1 || true
            \(Self.sql("update expenses set notes = 'other' where id = 11")); backupfs restore a:data --target $R/data --store $S >/dev/null
            cp $R/data/expenses.json $R/renamed.json
            """)
        let before = try sandbox.sh(Self.dump)
        for name in ["data/expenses.json", "renamed.json"] {
            let refused = try sandbox.run("\(Self.restore) $R/\(name)")
            #expect(refused.exitCode != 0 && refused.errors.contains("cannot hold as they are"), "\(refused.errors)")
        }
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test(arguments: [
        #".cars = [{"id": 1, "name": "HACKED"}]"#, ".settings = {}", #".metadata = {"schemaVersion": 1}"#, ".comment = 1",
    ])
    func `a file with more than its records is refused`(change: String) throws {
        let sandbox = try Self.makeStore()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("jq '\(change)' $R/e1.json > $R/more.json")
        for strategy in ["merge", "skip"] {
            let refused = try sandbox.run("\(Self.restore) $R/more.json --strategy \(strategy)")
            #expect(refused.exitCode != 0, "\(refused.text)")
        }
        try sandbox.sh("mkdir $R/array; { jq -c .records $R/e1.json; echo ',\"cars\":[]'; } > $R/array/expenses.json")
        #expect(try sandbox.run("\(Self.restore) $R/array/expenses.json").exitCode != 0)
        #expect(try sandbox.sh(Self.dump) == before)
        // Sorted by name it is the same file.
        try sandbox.sh("jq -S . $R/e1.json > $R/sorted.json")
        #expect(
            try sandbox.sh("\(Self.restore) $R/sorted.json | head -1") == "sorted.json: Added 0, updated 1 and skipped 0 records."
        )
    }

    @Test func `the app's own values are restored wherever the file was`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null
            \(Self.sql("update expenses set charger_type = 'weird', car_id = 999 where id = 29"))
            backupfs backup --label odd --store $S >/dev/null
            \(Self.sql("update expenses set charger_type = 'other', notes = 'new' where id = 29"))
            backupfs restore odd:data --target $R/data --store $S >/dev/null
            """)
        try Self.write("expenses", "29", 0, to: "odd.json", sandbox)
        try sandbox.sh("\(Self.restore) $R/odd.json >/dev/null")
        #expect(try sandbox.sh(Self.sql("select charger_type, car_id from expenses where id = 29")) == "weird|999")
        try sandbox.sh(
            "\(Self.sql("update expenses set charger_type = 'other' where id = 29")); \(Self.restore) $R/data/expenses.json >/dev/null"
        )
        #expect(try sandbox.sh(Self.sql("select charger_type, car_id from expenses where id = 29")) == "weird|999")
        // Not what someone else wrote.
        try sandbox.sh("sed 's/weird/strange/' $R/odd.json > $R/strange.json")
        #expect(try sandbox.run("\(Self.restore) $R/strange.json").exitCode != 0)
    }

    @Test func `no record gets another key`() throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            PhotoDiary.definition.replacing("{name: id, column: id, type: integer}", with: "{name: id, column: id, type: text}")
                .replacing("id INTEGER PRIMARY KEY", with: "id TEXT PRIMARY KEY COLLATE NOCASE"),
            to: "diary.yaml")
        try sandbox.sh(
            """
            backupfs init --app $R/diary.yaml --store $S >/dev/null; sqlite3 $S/app/database.sqlite .schema | grep -q NOCASE
            \(Self.sql("insert into app_metadata values ('app_version','1.0')"))
            \(Self.sql("insert into photos values ('Abc', 'a.jpg', 'first')")); backupfs backup --store $S >/dev/null
            \(Self.sql("update photos set id = 'ABC'")); backupfs backup --store $S >/dev/null
            """)
        try Self.write("photos", "Abc", 0, to: "abc.json", sandbox)
        let before = try sandbox.sh(Self.dump)
        let refused = try sandbox.run("\(Self.restore) $R/abc.json")
        #expect(refused.exitCode != 0 && refused.errors.contains("for that of another record"), "\(refused.errors)")
        #expect(try sandbox.sh(Self.dump) == before)
    }
}

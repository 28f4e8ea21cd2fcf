import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// `backupfs undo`, and safety backups on the command line.
struct UndoTests {
    /// Everything that a restore may change in the app of `$S`.
    private static let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"

    /// A store with sample data, a backup of it, and data that has changed since.
    private func changedSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "delete from expenses where id > 7; update cars set name = 'now ' || id"
            """)
        return sandbox
    }

    /// The command that a restore prints.
    private func printedUndo(_ text: String) throws -> String {
        let prefix = "Undo with: "
        return String(try #require(text.split(separator: "\n").first { $0.hasPrefix(prefix) }).dropFirst(prefix.count))
    }

    @Test(arguments: ["replace", "merge", "skip"])
    func `SAF-07: the printed command takes a restore back, and a second undo brings it back`(strategy: String) throws {
        let sandbox = try changedSandbox()
        let before = try sandbox.sh(Self.dump)
        let told = try sandbox.sh("backupfs restore one --strategy \(strategy) --yes --store $S")
        let restored = try sandbox.sh(Self.dump)
        #expect(restored != before)
        let command = try printedUndo(told)
        #expect(command == "backupfs undo --store=\(sandbox.storePath)")
        let undone = try sandbox.sh("cd /; \(command) --yes")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(undone.hasPrefix("safety_backup_before_import_"), "\(undone)")
        // An undo is a restore: the next one brings back what it took away.
        try sandbox.sh("\(try printedUndo(undone)) --yes")
        #expect(try sandbox.sh(Self.dump) == restored)
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `SAF-07: a database that no definition describes is as it was, with its tables`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "create table t(id integer primary key, a text); insert into t values (1,'x')"
            backupfs init --store $S --database $R/a.db; backupfs backup --label old --store $S
            sqlite3 $R/a.db "alter table t add column b text; create table n(x); insert into n values(5); insert into t values(2,'y','new'); create view v as select 1"
            """)
        let before = try sandbox.sh("sqlite3 $R/a.db .dump")
        let told = try sandbox.sh("backupfs restore old --yes --store $S")
        let restored = try sandbox.sh("sqlite3 $R/a.db .dump")
        #expect(restored != before && !restored.contains("create view v"))
        try sandbox.sh("\(try printedUndo(told)) --yes")
        #expect(try sandbox.sh("sqlite3 $R/a.db .dump") == before)
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/a.db .dump") == restored)
    }

    @Test(arguments: ["one", "$R/one.zip"])
    func `SAF-07: media come back byte for byte, with their times and modes`(source: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; backupfs export one --zip -o $R/one.zip --store $S
            cd $S/app/photos; printf TWO > 2024/two.jpg; touch -d '2025-01-02 03:04:05' 2024/two.jpg; rm one.jpg; ln -s 2024/two.jpg link
            printf new > new.jpg; chmod 600 new.jpg; mkdir empty; sqlite3 ../database.sqlite "insert into photos values (9, 'new.jpg', null)"
            cp -a $S/app/photos $R/before
            """)
        let before = try sandbox.sh(PhotoDiary.describe)
        let told = try sandbox.sh("backupfs restore \(source) --yes --store $S")
        #expect(try sandbox.sh(PhotoDiary.describe) != before)
        try sandbox.sh("\(try printedUndo(told)) --yes")
        #expect(try sandbox.sh(PhotoDiary.describe) == before)
        try sandbox.sh("diff -r --no-dereference $R/before $S/app/photos")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `SAF-07: every command takes a safety backup by each of its names`() throws {
        let sandbox = try changedSandbox()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore one --yes --store $S; backupfs export one -o $R/one.json --store $S")
        let file = try sandbox.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].file_name'")
        let name = try sandbox.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].name'")
        #expect(file.hasPrefix("safety_backup_before_import_") && file.hasSuffix(".json") && name.hasPrefix("~safety-"))
        #expect(try sandbox.sh("backupfs snapshots --safety --store $S").contains("\n\(file)  "))
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq length") == "1")
        for given in [file, name, "safety/\(file)"] {
            let given = "'\(given)'"
            #expect(try sandbox.sh("backupfs ls \(given) --store $S").contains("  export.json\n"))
            try sandbox.sh("backupfs ls \(given):data --store $S | grep -q data/cars.json")
            #expect(try sandbox.sh("backupfs export \(given) -o - --store $S | jq '.expenses|length'") == "7")
            try sandbox.sh("backupfs export \(given) --csv $R/csv --store $S >/dev/null; grep -q 'now 1' $R/csv/cars.csv")
            #expect(try sandbox.sh("backupfs diff \(given) one --json --store $S | jq .records.cars.changed") == "3")
            try sandbox.sh("backupfs find cars.json \(given) --store $S | grep -q cars.json")
            #expect(try sandbox.sh("backupfs pin \(given) --json --store $S | jq '.[].pinned'") == "true")
            try sandbox.sh("backupfs tag \(given) --add kept --store $S | grep -q kept")
            try sandbox.sh("backupfs verify \(given) --store $S | grep -q 'can be restored'; backupfs stats \(given) --store $S")
            try sandbox.sh(
                "backupfs restore \(given) --target $R/out --store $S; jq -e '.expenses|length == 7' $R/out/export.json")
            try sandbox.sh("rm -r $R/out")
            try sandbox.sh("cd $R; backupfs restore \(given) --yes --store $S")
            #expect(try sandbox.sh(Self.dump) == before)
            try sandbox.sh("backupfs restore $R/one.json --yes --store $S")
        }
        let unknown = try sandbox.run("backupfs ls safety/nothing.json --store $S")
        #expect(unknown.exitCode == 1 && unknown.errors.contains("there is no such backup"))
        try sandbox.sh("backupfs unpin '\(file)' --store $S; backupfs delete '\(file)' --yes --store $S")
        #expect(try sandbox.run("backupfs ls '\(name)' --store $S").exitCode == 1)
    }

    @Test func `where nothing was restored there is nothing to take back, and a restore that failed does not count`() throws {
        let sandbox = try changedSandbox()
        let nothing = try sandbox.run("backupfs undo --yes --store $S")
        #expect(nothing.exitCode == 1 && nothing.errors.contains("no restore is known that could be taken back"))
        #expect(nothing.errors.contains("backupfs snapshots --safety") && !nothing.errors.contains("Run the same"))
        let before = try sandbox.sh(Self.dump)
        let fault = ["BACKUPFS_FAULT": "restore.before-commit=fail"]
        #expect(try sandbox.run("backupfs restore one --yes --store $S", fault).exitCode == 1)
        // It has left a safety backup of the current data.
        #expect(try sandbox.sh("backupfs snapshots --safety --json --store $S | jq length") == "1")
        #expect(try sandbox.run("backupfs undo --yes --store $S").exitCode == 1)
        try sandbox.sh("backupfs restore one --yes --store $S")
        #expect(try sandbox.run("backupfs restore one --yes --store $S", fault).exitCode == 1)
        try sandbox.sh("echo nonsense > $R/no.json; ! backupfs restore $R/no.json --yes --store $S")
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `a restore that a crash interrupted after its commit can be taken back`() throws {
        let sandbox = try changedSandbox()
        let before = try sandbox.sh(Self.dump)
        let killed = try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": "restore.media-published"])
        #expect(killed.exitCode == 137)
        try sandbox.sh("backupfs status --store $S")
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "completed")
        #expect(try sandbox.sh(Self.dump) != before)
        try sandbox.sh("\(try printedUndo(sandbox.sh("cat $S/restore/last.txt"))) --yes")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `a dry run changes nothing, and without a terminal it needs --yes`() throws {
        let sandbox = try changedSandbox()
        try sandbox.sh("backupfs restore one --yes --store $S")
        let restored = try sandbox.sh(Self.dump)
        let dry = try sandbox.sh("backupfs undo -n --store $S")
        #expect(dry.hasPrefix("This takes back the restore of one, made at 20") && dry.contains("Nothing was changed."), "\(dry)")
        let unasked = try sandbox.run("backupfs undo --store $S </dev/null")
        #expect(unasked.exitCode == 2 && unasked.errors.contains("Add --yes."))
        #expect(try sandbox.sh(Self.dump) == restored)
        let asked = try sandbox.onTerminal("yes\\n", "backupfs undo --store $S")
        #expect(asked.exitCode == 0 && asked.output.contains("This takes back the restore of one"), "\(asked.output)")
    }

    @Test func `a safety backup that was removed is named, and can be brought back`() throws {
        let sandbox = try changedSandbox()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore one --yes --store $S; backupfs snapshots --safety --json --store $S > $R/s")
        try sandbox.sh("backupfs delete \"$(jq -r '.[].file_name' $R/s)\" --yes --store $S")
        let gone = try sandbox.run("backupfs undo --yes --store $S")
        #expect(gone.exitCode == 1 && gone.errors.contains("the safety backup of the last restore, of one, was removed"))
        let id = try sandbox.sh("jq -r '.[].id' $R/s").prefix(12)
        #expect(gone.errors.contains("backupfs undelete \(id)"), "\(gone.errors)")
        try sandbox.sh("backupfs undelete \(id) --store $S; backupfs undo --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    /// The file of version 1, which must stay readable forever.
    @Test func `the note of the last restore stays readable, and a later version of it is not damage`() throws {
        let sandbox = try changedSandbox()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore one --yes --store $S")
        let id = try sandbox.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].id'")
        let note = """
            {
              "version": 1,
              "file": "one",
              "at": "2026-01-11T14:30:00Z",
              "safetySnapshot": "\(id)"
            }

            """
        try sandbox.write(note, to: "store/last-restore.json")
        #expect(
            try LastRestoreRecord(path: sandbox("store/last-restore.json")).read()?.time == ISO8601.parse("2026-01-11T14:30:00Z"))
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.write(note.replacing("\"version\": 1", with: "\"version\": 2"), to: "store/last-restore.json")
        let newer = try sandbox.run("backupfs undo --yes --store $S")
        #expect(newer.exitCode == 1 && newer.errors.contains("a later version of backupfs has noted the last restore"))
        try sandbox.write("{}", to: "store/last-restore.json")
        #expect(try sandbox.run("backupfs undo --yes --store $S").errors.contains("the note of the last restore is damaged"))
    }
}

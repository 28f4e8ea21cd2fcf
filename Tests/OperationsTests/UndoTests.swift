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
    private func changedRoom() throws -> Room {
        let room = try Room()
        try room.sh(
            """
            backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "delete from expenses where id > 7; update cars set name = 'now ' || id"
            """)
        return room
    }

    /// The command that a restore prints.
    private func printedUndo(_ text: String) throws -> String {
        let prefix = "Undo with: "
        return String(try #require(text.split(separator: "\n").first { $0.hasPrefix(prefix) }).dropFirst(prefix.count))
    }

    @Test(arguments: ["replace", "merge", "skip"])
    func `SAF-07: the printed command takes a restore back, and a second undo brings it back`(strategy: String) throws {
        let room = try changedRoom()
        let before = try room.sh(Self.dump)
        let told = try room.sh("backupfs restore one --strategy \(strategy) --yes --store $S")
        let restored = try room.sh(Self.dump)
        #expect(restored != before)
        let command = try printedUndo(told)
        #expect(command == "backupfs undo --store=\(room.storePath)")
        let undone = try room.sh("cd /; \(command) --yes")
        #expect(try room.sh(Self.dump) == before)
        #expect(undone.hasPrefix("safety_backup_before_import_"), "\(undone)")
        // An undo is a restore: the next one brings back what it took away.
        try room.sh("\(try printedUndo(undone)) --yes")
        #expect(try room.sh(Self.dump) == restored)
        try room.sh("backupfs undo --yes --store $S")
        #expect(try room.sh(Self.dump) == before)
    }

    @Test func `SAF-07: a database that no definition describes is as it was, with its tables`() throws {
        let room = try Room()
        try room.sh(
            """
            sqlite3 $R/a.db "create table t(id integer primary key, a text); insert into t values (1,'x')"
            backupfs init --store $S --database $R/a.db; backupfs backup --label old --store $S
            sqlite3 $R/a.db "alter table t add column b text; create table n(x); insert into n values(5); insert into t values(2,'y','new'); create view v as select 1"
            """)
        let before = try room.sh("sqlite3 $R/a.db .dump")
        let told = try room.sh("backupfs restore old --yes --store $S")
        let restored = try room.sh("sqlite3 $R/a.db .dump")
        #expect(restored != before && !restored.contains("create view v"))
        try room.sh("\(try printedUndo(told)) --yes")
        #expect(try room.sh("sqlite3 $R/a.db .dump") == before)
        try room.sh("backupfs undo --yes --store $S")
        #expect(try room.sh("sqlite3 $R/a.db .dump") == restored)
    }

    @Test(arguments: ["one", "$R/one.zip"])
    func `SAF-07: media come back byte for byte, with their times and modes`(source: String) throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh(
            """
            backupfs backup --label one --store $S; backupfs export one --zip -o $R/one.zip --store $S
            cd $S/app/photos; printf TWO > 2024/two.jpg; touch -d '2025-01-02 03:04:05' 2024/two.jpg; rm one.jpg; ln -s 2024/two.jpg link
            printf new > new.jpg; chmod 600 new.jpg; mkdir empty; sqlite3 ../database.sqlite "insert into photos values (9, 'new.jpg', null)"
            cp -a $S/app/photos $R/before
            """)
        let before = try room.sh(PhotoDiary.describe)
        let told = try room.sh("backupfs restore \(source) --yes --store $S")
        #expect(try room.sh(PhotoDiary.describe) != before)
        try room.sh("\(try printedUndo(told)) --yes")
        #expect(try room.sh(PhotoDiary.describe) == before)
        try room.sh("diff -r --no-dereference $R/before $S/app/photos")
        #expect(try room.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `SAF-07: every command takes a safety backup by each of its names`() throws {
        let room = try changedRoom()
        let before = try room.sh(Self.dump)
        try room.sh("backupfs restore one --yes --store $S; backupfs export one -o $R/one.json --store $S")
        let file = try room.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].file_name'")
        let name = try room.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].name'")
        #expect(file.hasPrefix("safety_backup_before_import_") && file.hasSuffix(".json") && name.hasPrefix("~safety-"))
        #expect(try room.sh("backupfs snapshots --safety --store $S").contains("\n\(file)  "))
        #expect(try room.sh("backupfs snapshots --json --store $S | jq length") == "1")
        for given in [file, name, "safety/\(file)"] {
            let given = "'\(given)'"
            #expect(try room.sh("backupfs ls \(given) --store $S").contains("  export.json\n"))
            try room.sh("backupfs ls \(given):data --store $S | grep -q data/cars.json")
            #expect(try room.sh("backupfs export \(given) -o - --store $S | jq '.expenses|length'") == "7")
            try room.sh("backupfs export \(given) --csv $R/csv --store $S >/dev/null; grep -q 'now 1' $R/csv/cars.csv")
            #expect(try room.sh("backupfs diff \(given) one --json --store $S | jq .records.cars.changed") == "3")
            try room.sh("backupfs find cars.json \(given) --store $S | grep -q cars.json")
            #expect(try room.sh("backupfs pin \(given) --json --store $S | jq '.[].pinned'") == "true")
            try room.sh("backupfs tag \(given) --add kept --store $S | grep -q kept")
            try room.sh("backupfs verify \(given) --store $S | grep -q 'can be restored'; backupfs stats \(given) --store $S")
            try room.sh("backupfs restore \(given) --target $R/out --store $S; jq -e '.expenses|length == 7' $R/out/export.json")
            try room.sh("rm -r $R/out")
            try room.sh("cd $R; backupfs restore \(given) --yes --store $S")
            #expect(try room.sh(Self.dump) == before)
            try room.sh("backupfs restore $R/one.json --yes --store $S")
        }
        let unknown = try room.run("backupfs ls safety/nothing.json --store $S")
        #expect(unknown.status == 1 && unknown.complaint.contains("there is no such backup"))
        try room.sh("backupfs unpin '\(file)' --store $S; backupfs delete '\(file)' --yes --store $S")
        #expect(try room.run("backupfs ls '\(name)' --store $S").status == 1)
    }

    @Test func `where nothing was restored there is nothing to take back, and a restore that failed does not count`() throws {
        let room = try changedRoom()
        let nothing = try room.run("backupfs undo --yes --store $S")
        #expect(nothing.status == 1 && nothing.complaint.contains("no restore is known that could be taken back"))
        #expect(nothing.complaint.contains("backupfs snapshots --safety") && !nothing.complaint.contains("Run the same"))
        let before = try room.sh(Self.dump)
        let fault = ["BACKUPFS_FAULT": "restore.before-commit=fail"]
        #expect(try room.run("backupfs restore one --yes --store $S", fault).status == 1)
        // It has left a safety backup of the current data.
        #expect(try room.sh("backupfs snapshots --safety --json --store $S | jq length") == "1")
        #expect(try room.run("backupfs undo --yes --store $S").status == 1)
        try room.sh("backupfs restore one --yes --store $S")
        #expect(try room.run("backupfs restore one --yes --store $S", fault).status == 1)
        try room.sh("echo nonsense > $R/no.json; ! backupfs restore $R/no.json --yes --store $S")
        try room.sh("backupfs undo --yes --store $S")
        #expect(try room.sh(Self.dump) == before)
    }

    @Test func `a restore that a crash interrupted after its commit can be taken back`() throws {
        let room = try changedRoom()
        let before = try room.sh(Self.dump)
        let killed = try room.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": "restore.media-published"])
        #expect(killed.status == 9 || killed.status == 137)
        try room.sh("backupfs status --store $S")
        #expect(try room.sh("jq -r .result $S/restore/last.json") == "completed")
        #expect(try room.sh(Self.dump) != before)
        try room.sh("\(try printedUndo(room.sh("cat $S/restore/last.txt"))) --yes")
        #expect(try room.sh(Self.dump) == before)
    }

    @Test func `a dry run changes nothing, and without a terminal it needs --yes`() throws {
        let room = try changedRoom()
        try room.sh("backupfs restore one --yes --store $S")
        let restored = try room.sh(Self.dump)
        let dry = try room.sh("backupfs undo -n --store $S")
        #expect(dry.hasPrefix("This takes back the restore of one, made at 20") && dry.contains("Nothing was changed."), "\(dry)")
        let unasked = try room.run("backupfs undo --store $S </dev/null")
        #expect(unasked.status == 2 && unasked.complaint.contains("Add --yes."))
        #expect(try room.sh(Self.dump) == restored)
        let asked = try room.onTerminal("yes\\n", "backupfs undo --store $S")
        #expect(asked.status == 0 && asked.output.contains("This takes back the restore of one"), "\(asked.output)")
    }

    @Test func `a safety backup that was removed is named, and can be brought back`() throws {
        let room = try changedRoom()
        let before = try room.sh(Self.dump)
        try room.sh("backupfs restore one --yes --store $S; backupfs snapshots --safety --json --store $S > $R/s")
        try room.sh("backupfs delete \"$(jq -r '.[].file_name' $R/s)\" --yes --store $S")
        let gone = try room.run("backupfs undo --yes --store $S")
        #expect(gone.status == 1 && gone.complaint.contains("the safety backup of the last restore, of one, was removed"))
        let id = try room.sh("jq -r '.[].id' $R/s").prefix(12)
        #expect(gone.complaint.contains("backupfs undelete \(id)"), "\(gone.complaint)")
        try room.sh("backupfs undelete \(id) --store $S; backupfs undo --yes --store $S")
        #expect(try room.sh(Self.dump) == before)
    }

    /// The file of version 1, which must stay readable forever.
    @Test func `the note of the last restore stays readable, and a later version of it is not damage`() throws {
        let room = try changedRoom()
        let before = try room.sh(Self.dump)
        try room.sh("backupfs restore one --yes --store $S")
        let id = try room.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].id'")
        let note = """
            {
              "version": 1,
              "file": "one",
              "at": "2026-01-11T14:30:00Z",
              "safetySnapshot": "\(id)"
            }

            """
        try room.write(note, to: "store/last-restore.json")
        #expect(
            try LastRestoreRecord(path: room("store/last-restore.json")).read()?.time == ISO8601.parse("2026-01-11T14:30:00Z"))
        try room.sh("backupfs undo --yes --store $S")
        #expect(try room.sh(Self.dump) == before)
        try room.write(note.replacing("\"version\": 1", with: "\"version\": 2"), to: "store/last-restore.json")
        let newer = try room.run("backupfs undo --yes --store $S")
        #expect(newer.status == 1 && newer.complaint.contains("a later version of backupfs has noted the last restore"))
        try room.write("{}", to: "store/last-restore.json")
        #expect(try room.run("backupfs undo --yes --store $S").complaint.contains("the note of the last restore is damaged"))
    }
}

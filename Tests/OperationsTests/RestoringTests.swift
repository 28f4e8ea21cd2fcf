import BackupCore
import BackupRepository
import Foundation
import Restore
import SystemIO
import TestSupport
import Testing

@testable import Operations
@testable import SnapshotFormats

/// Restores into a store: safety backups, reports, names, previews.
struct RestoringTests {
    private static func restore(_ store: Store, _ path: String) throws -> RestoreReport {
        try RestoreRunner(store: store).run(ImportSource(file: path), progress: nil)
    }

    private static func names(_ store: Store) -> [String] {
        store.repository.snapshots(kind: .safety).map { store.safetyFile(of: $0).name }
    }

    @Test func `SAF-03: a restore brings back records and photos, and its safety backup what was there before`() throws {
        let room = try Room()
        let store = try room.makeDiary()
        let old = try room.sh(PhotoDiary.describe)
        try room.sh("backupfs backup --label one --store $S; backupfs export one --zip -o $R/one.zip --store $S")
        try room.sh("cd $S/app/photos; rm -r 2024; printf x > x.jpg; sqlite3 $S/app/database.sqlite \"delete from photos\"")
        let between = try room.sh(PhotoDiary.describe)
        let report = try Self.restore(store, room("one.zip"))
        #expect(try room.sh(PhotoDiary.describe) == old)
        #expect(report.result == .success)
        #expect(report.checked?.format == .zip)
        let safety = try #require(report.safetyBackup)
        #expect(safety.hasPrefix("photo_diary_safety_") && safety.hasSuffix(".zip"))
        let last = try json(FileSystem.readFile(store.paths.lastRestoreJSON))
        #expect(
            last["result"] as? String == "success" && last["success"] as? Bool == true
                && last["safetyBackup"] as? String == safety)
        #expect(
            last["file"] as? String == "one.zip" && last["format"] as? String == "zip"
                && last["counts"] as? [String: Int] == ["photos": 3])
        #expect(try room.sh(PhotoDiary.leftovers) == "")

        // Undo: the safety backup is the state before the restore.
        let name = try #require(store.repository.snapshots(kind: .safety).last).name
        #expect(name.description.hasPrefix("~safety-"))
        var members: [String] = []
        try SnapshotArchive.visit(#require(store.repository.snapshot(named: name)), in: store.repository) {
            members.append(String(decoding: $0.path, as: UTF8.self))
        }
        #expect(
            members.filter { $0.hasPrefix("media/") } == [
                "media/", "media/one.jpg", "media/x.jpg",
            ])
        #expect(old != between)
    }

    @Test func `the newest three safety backups are kept, and pinned ones`() throws {
        let room = try Room()
        let store = try StoreCreation().create(at: room.storePath)
        _ = try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil)
        try room.sh("backupfs export one --json -o $R/one.json --store $S")
        var made: [String] = []
        for number in 0..<6 {
            made.append(try #require(try Self.restore(store, room("one.json")).safetyBackup))
            if number == 1 { try store.setPinned(#require(store.repository.snapshots(kind: .safety).last), true) }
        }
        #expect(Self.names(store) == [made[1]] + made[3...], "\(made)")
        // The user's own backups are not affected.
        #expect(store.repository.snapshots(kind: .snapshot).map(\.name) == ["one"])
    }

    @Test func `SAF-03: a refused file changes nothing, makes no safety backup, and is reported`() throws {
        let room = try Room()
        let store = try room.makeDiary()
        let old = try room.sh(PhotoDiary.describe)
        try room.write("{\"metadata\": {", to: "bad.json")
        #expect(failure { _ = try Self.restore(store, room("bad.json")) }?.code == .invalidContent)
        try room.write("", to: "empty")
        #expect(failure { _ = try Self.restore(store, room("empty")) }?.code == .invalidContent)
        #expect(failure { _ = try Self.restore(store, room("none")) }?.code == .notFound)
        try room.write("PK\u{3}\u{4}rubbish", to: "bad.zip")
        #expect(failure { _ = try Self.restore(store, room("bad.zip")) } != nil)
        #expect(try room.sh(PhotoDiary.describe) == old)
        #expect(store.repository.snapshots().isEmpty)
        let last = try json(FileSystem.readFile(store.paths.lastRestoreJSON))
        #expect(
            last["result"] as? String == "refused" && last["success"] as? Bool == false && last["file"] as? String == "bad.zip")
        #expect(try room.sh("head -1 $S/restore/last.txt").hasPrefix("bad.zip: not restored. "))
        #expect(try room.sh("tail -1 $S/restore/last.txt") == "The data is as it was.")
        #expect(try room.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `a preview changes nothing and waits for no other process`() throws {
        let room = try Room()
        let store = try room.makeDiary()
        try room.sh("backupfs export --zip -o $R/live.zip --store $S")
        let old = try room.sh(PhotoDiary.describe)
        let lock = try store.lockForOperation()
        let report = try RestoreRunner(store: store).preview(ImportSource(file: room("live.zip")))
        withExtendedLifetime(lock) {}
        #expect(report.result == .preview)
        #expect(report.text.hasSuffix("Importing will DELETE ALL existing data. This cannot be undone."))
        #expect(report.text.contains("Photos: 3\n"))
        #expect(try room.sh(PhotoDiary.describe) == old)
        #expect(store.repository.snapshots().isEmpty)
        #expect(try !FileSystem.exists(store.paths.lastRestoreJSON))
        #expect(try room.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
    }

    @Test func `a database that the app holds locked is in use (13), and everything stays as it was`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh(
            "backupfs backup --label one --store $S; sqlite3 $S/app/database.sqlite 'delete from photos'; rm $S/app/photos/one.jpg"
        )
        let old = try room.sh(PhotoDiary.describe)
        let script = """
            { echo "begin immediate; update photos set caption = 1;"; sleep 9; } | sqlite3 $S/app/database.sqlite & job=$!
            sleep 0.5; backupfs restore one --yes --store $S; echo "exit $?"; kill $job 2>/dev/null; wait $job 2>/dev/null
            """
        let result = try room.run(script)
        #expect(result.output == "exit 13\n", "\(result.complaint)")
        try room.sh("for i in $(seq 100); do fuser -s $S/app/database.sqlite 2>/dev/null || break; sleep 0.1; done")
        #expect(try room.sh(PhotoDiary.describe) == old)
        #expect(try room.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `a media folder behind a link is filled where it lies`() throws {
        let room = try Room()
        let store = try room.makeDiary()
        try room.sh(
            "backupfs export --zip -o $R/live.zip --store $S; mv $S/app/photos $R/elsewhere; ln -s $R/elsewhere $S/app/photos; sqlite3 $S/app/database.sqlite 'delete from photos where id = 1'; rm $R/elsewhere/one.jpg; printf mine > $R/elsewhere/mine.jpg"
        )
        _ = try Self.restore(store, room("live.zip"))
        #expect(
            try room.sh(
                "sqlite3 $S/app/database.sqlite 'select count(*) from photos'; cat $R/elsewhere/one.jpg; ls -A $R/elsewhere; readlink $S/app/photos"
            )
                == "3\none2024\none.jpg\n\(room.path)/elsewhere")
        #expect(try room.sh(PhotoDiary.leftovers) == "")
    }
}

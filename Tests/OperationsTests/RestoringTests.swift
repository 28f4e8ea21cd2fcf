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
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let old = try sandbox.sh(PhotoDiary.describe)
        try sandbox.sh("backupfs backup --label one --store $S; backupfs export one --zip -o $R/one.zip --store $S")
        try sandbox.sh("cd $S/app/photos; rm -r 2024; printf x > x.jpg; sqlite3 $S/app/database.sqlite \"delete from photos\"")
        let between = try sandbox.sh(PhotoDiary.describe)
        let report = try Self.restore(store, sandbox("one.zip"))
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
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
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")

        // Undo: the safety backup is the state before the restore.
        let name = try #require(store.repository.snapshots(kind: .safety).last).name
        #expect(name.description.hasPrefix("~safety-"))
        var members: [String] = []
        let snapshot = try #require(store.repository.snapshot(named: name))
        let contents = StoredContents(try store.repository.rootDirectory(of: snapshot), in: store.repository)
        try SnapshotArchive.visit(contents, ArchivePlan(snapshot.record.archiveLayout, time: snapshot.creationTime)) {
            member, _ in
            members.append(String(decoding: member.path, as: UTF8.self))
        }
        #expect(
            members.filter { $0.hasPrefix("media/") } == [
                "media/", "media/one.jpg", "media/x.jpg",
            ])
        #expect(old != between)
    }

    @Test func `the newest three safety backups are kept, and pinned ones`() throws {
        let sandbox = try Sandbox()
        let store = try StoreCreation().create(at: sandbox.storePath)
        _ = try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil)
        try sandbox.sh("backupfs export one --json -o $R/one.json --store $S")
        var made: [String] = []
        for number in 0..<6 {
            made.append(try #require(try Self.restore(store, sandbox("one.json")).safetyBackup))
            if number == 1 { try store.setPinned(#require(store.repository.snapshots(kind: .safety).last), true) }
        }
        #expect(Self.names(store) == [made[1]] + made[3...], "\(made)")
        // The user's own backups are not affected.
        #expect(store.repository.snapshots(kind: .snapshot).map(\.name) == ["one"])
    }

    @Test func `SAF-03: a refused file changes nothing, makes no safety backup, and is reported`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let old = try sandbox.sh(PhotoDiary.describe)
        try sandbox.write("{\"metadata\": {", to: "bad.json")
        #expect(failure { _ = try Self.restore(store, sandbox("bad.json")) }?.code == .invalidContent)
        try sandbox.write("", to: "empty")
        #expect(failure { _ = try Self.restore(store, sandbox("empty")) }?.code == .invalidContent)
        #expect(failure { _ = try Self.restore(store, sandbox("none")) }?.code == .notFound)
        try sandbox.write("PK\u{3}\u{4}rubbish", to: "bad.zip")
        #expect(failure { _ = try Self.restore(store, sandbox("bad.zip")) } != nil)
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(store.repository.snapshots().isEmpty)
        let last = try json(FileSystem.readFile(store.paths.lastRestoreJSON))
        #expect(
            last["result"] as? String == "refused" && last["success"] as? Bool == false && last["file"] as? String == "bad.zip")
        #expect(try sandbox.sh("head -1 $S/restore/last.txt").hasPrefix("bad.zip: not restored. "))
        #expect(try sandbox.sh("tail -1 $S/restore/last.txt") == "The data is as it was.")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `a preview changes nothing and waits for no other process`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh("backupfs export --zip -o $R/live.zip --store $S")
        let old = try sandbox.sh(PhotoDiary.describe)
        let lock = try store.lockForOperation()
        let report = try RestoreRunner(store: store).preview(ImportSource(file: sandbox("live.zip")))
        withExtendedLifetime(lock) {}
        #expect(report.result == .preview)
        #expect(report.text.hasSuffix("Importing will DELETE ALL existing data. This cannot be undone."))
        #expect(report.text.contains("Photos: 3\n"))
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(store.repository.snapshots().isEmpty)
        #expect(try !FileSystem.exists(store.paths.lastRestoreJSON))
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
    }

    @Test func `a database that the app holds locked is in use (13), and everything stays as it was`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            "backupfs backup --label one --store $S; sqlite3 $S/app/database.sqlite 'delete from photos'; rm $S/app/photos/one.jpg"
        )
        let old = try sandbox.sh(PhotoDiary.describe)
        let script = """
            mkfifo $R/in; sqlite3 $S/app/database.sqlite < $R/in & job=$!; exec 3> $R/in
            printf 'begin immediate; update photos set caption = 1;\\n.shell touch $R/locked\\n' >&3; wait_until [ -e $R/locked ]
            backupfs restore one --yes --store $S; echo "exit $?"; exec 3>&-; wait $job
            """
        let result = try sandbox.run(script)
        #expect(result.output == "exit 13\n", "\(result.errors)")
        // The undo needs the lock as well; the next command has it.
        try sandbox.sh("backupfs status --store $S >/dev/null")
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `a media folder behind a link is filled where it lies`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            "backupfs export --zip -o $R/live.zip --store $S; mv $S/app/photos $R/elsewhere; ln -s $R/elsewhere $S/app/photos; sqlite3 $S/app/database.sqlite 'delete from photos where id = 1'; rm $R/elsewhere/one.jpg; printf mine > $R/elsewhere/mine.jpg"
        )
        _ = try Self.restore(store, sandbox("live.zip"))
        #expect(
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite 'select count(*) from photos'; cat $R/elsewhere/one.jpg; ls -A $R/elsewhere; readlink $S/app/photos"
            )
                == "3\none2024\none.jpg\n\(sandbox.path)/elsewhere")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }
}

import Foundation
import TestSupport
import Testing

/// Findings that confused users (users.md, section C), each named by its number.
struct UserFindingTests {
    @Test func `U-C1, U-C4, U-C14: init says what it was given in the place of a database or an app, and what comes next`() throws
    {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $R/data $R/docs; sqlite3 $R/data/db.sqlite3 'create table t(x)'")
        let folder = try sandbox.run("backupfs init --database $R/data --store $S")
        #expect(folder.exitCode == 1 && folder.errors.contains("data: this is a folder, and no database"), "\(folder)")
        let media = try sandbox.run("backupfs init --media $R/docs --store $S")
        #expect(media.exitCode == 2 && media.errors.contains("--app photo-library is for folders of photos"), "\(media)")
        #expect(media.errors.contains("--database FILE for any app"), "\(media)")
        let made = try sandbox.sh("backupfs init --database $R/data/db.sqlite3 --store $S")
        #expect(made.contains("\nBack up with: backupfs backup") && made.contains("\nMount it with: backupfs "), "\(made)")
    }

    /// It used to be the time of the restore.
    @Test func `U-C2: a restore of a backup tells when that was made, and of a database nothing`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "sqlite3 $R/a.db 'create table t(x); insert into t values (1)'; backupfs init --database $R/a.db --store $S")
        try sandbox.sh(
            "backupfs backup --label one --store $S; backupfs export one --zip -o $R/a.zip --store $S",
            ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
        for source in ["one", "$R/a.zip"] {
            let text = try sandbox.sh("backupfs restore \(source) --dry-run --store $S", ["BACKUPFS_NOW": "2026-03-03T08:00:00Z"])
            #expect(text.contains("\nExport date: 2026-01-11 14:30:00\n"), "\(source): \(text)")
        }
        try sandbox.sh("cp $R/a.db $R/b.db; sqlite3 $R/b.db 'insert into t values (2)'")
        let text = try sandbox.sh("backupfs restore $R/b.db --dry-run --store $S")
        #expect(!text.contains("Export date") && text.contains("\nSchema version: "), "\(text)")
        try sandbox.sh("backupfs restore one --yes --store $S", ["BACKUPFS_NOW": "2026-03-03T08:00:00Z"])
        #expect(try sandbox.sh("jq -r .source.createdAt $S/restore/last.json") == "2026-01-11T14:30:00Z")
    }

    @Test func `U-C7: metrics go to standard output where a dash says so`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S; mkdir $R/here")
        #expect(
            try sandbox.sh("cd $R/here; backupfs status --prometheus - --store $S | head -1; ls -A").hasPrefix("# HELP backupfs_")
        )
        #expect(try sandbox.sh("ls -A $R/here") == "")
    }

    @Test func `U-C8: a setting that is not known is made a comment, and the others count again`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S; cp $S/store.yaml $R/before; echo 'keep-dayly: 3' >> $S/store.yaml")
        #expect(try sandbox.run("backupfs snapshots --store $S").errors.contains("Did you mean keep-daily?"))
        try sandbox.sh("backupfs config unset keep-dayly --store $S; backupfs snapshots --store $S")
        #expect(try sandbox.sh("diff $R/before $S/store.yaml | grep '^[<>]' || true") == "> # keep-dayly: 3")
        let again = try sandbox.run("backupfs config unset keep-dayly --store $S")
        #expect(again.exitCode == 2 && again.errors.contains("the setting keep-dayly is not known"), "\(again)")
        // Two of them, one after the other; an entry that does not have its own line must be edited by hand.
        try sandbox.sh(
            "printf 'kep-last: 1\\nnotfy: x\\n' >> $S/store.yaml; backupfs config unset kep-last --store $S; backupfs config unset notfy --store $S"
        )
        try sandbox.sh(
            "backupfs snapshots --store $S; printf 'fold: >\\n  one\\n  two\\n' >> $S/store.yaml; cp $S/store.yaml $R/folded")
        let folded = try sandbox.run("backupfs config unset fold --store $S")
        #expect(folded.exitCode == 1 && folded.errors.contains("cannot be changed by a program"), "\(folded)")
        #expect(try sandbox.sh("cmp $S/store.yaml $R/folded") == "")
    }

    @Test func `U-C9: a repository that is not there may be on a disk that is not mounted`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $R/usb; backupfs init --sample --repository $R/usb/r --store $S; rm -r $R/usb")
        let failed = try sandbox.run("backupfs backup --store $S")
        #expect(failed.exitCode == 10 && failed.errors.contains("Is the disk mounted?"), "\(failed)")
        #expect(try sandbox.run("ls $R/usb").exitCode != 0)
    }

    @Test func `U-C13: the status says where nothing is backed up by itself`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("mkdir $R/p; backupfs init --app photo-library --media $R/p --store $S")
        #expect(try sandbox.sh("backupfs status --store $S").contains("\nThere is no schedule.\nBackups: 0\n"))
        try sandbox.sh("backupfs config set schedule daily --store $S")
        #expect(try !sandbox.sh("backupfs status --store $S").contains("There is no schedule."))
    }
}

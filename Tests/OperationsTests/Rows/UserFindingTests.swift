import Foundation
import TestSupport
import Testing

/// Findings that confused users (users.md, section C), each named by its number.
struct UserFindingTests {
    @Test func `U-C1, U-C4, U-C14: init says what it was given in the place of a database or an app, and what comes next`() throws
    {
        let room = try Room()
        try room.sh("mkdir $R/data $R/docs; sqlite3 $R/data/db.sqlite3 'create table t(x)'")
        let folder = try room.run("backupfs init --database $R/data --store $S")
        #expect(folder.status == 1 && folder.complaint.contains("data: this is a folder, and no database"), "\(folder)")
        let media = try room.run("backupfs init --media $R/docs --store $S")
        #expect(media.status == 2 && media.complaint.contains("--app photo-library is for folders of photos"), "\(media)")
        #expect(media.complaint.contains("--database FILE for any app"), "\(media)")
        let made = try room.sh("backupfs init --database $R/data/db.sqlite3 --store $S")
        #expect(made.contains("\nBack up with: backupfs backup") && made.contains("\nMount it with: backupfs "), "\(made)")
    }

    /// It used to be the time of the restore.
    @Test func `U-C2: a restore of a backup tells when that was made, and of a database nothing`() throws {
        let room = try Room()
        try room.sh("sqlite3 $R/a.db 'create table t(x); insert into t values (1)'; backupfs init --database $R/a.db --store $S")
        try room.sh(
            "backupfs backup --label one --store $S; backupfs export one --zip -o $R/a.zip --store $S",
            ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
        for source in ["one", "$R/a.zip"] {
            let text = try room.sh("backupfs restore \(source) --dry-run --store $S", ["BACKUPFS_NOW": "2026-03-03T08:00:00Z"])
            #expect(text.contains("\nExport date: 2026-01-11 14:30:00\n"), "\(source): \(text)")
        }
        try room.sh("cp $R/a.db $R/b.db; sqlite3 $R/b.db 'insert into t values (2)'")
        let text = try room.sh("backupfs restore $R/b.db --dry-run --store $S")
        #expect(!text.contains("Export date") && text.contains("\nSchema version: "), "\(text)")
        try room.sh("backupfs restore one --yes --store $S", ["BACKUPFS_NOW": "2026-03-03T08:00:00Z"])
        #expect(try room.sh("jq -r .source.createdAt $S/restore/last.json") == "2026-01-11T14:30:00Z")
    }

    @Test func `U-C7: metrics go to standard output where a dash says so`() throws {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S; mkdir $R/here")
        #expect(
            try room.sh("cd $R/here; backupfs status --prometheus - --store $S | head -1; ls -A").hasPrefix("# HELP backupfs_"))
        #expect(try room.sh("ls -A $R/here") == "")
    }

    @Test func `U-C8: a setting that is not known is made a comment, and the others count again`() throws {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S; cp $S/store.yaml $R/before; echo 'keep-dayly: 3' >> $S/store.yaml")
        #expect(try room.run("backupfs snapshots --store $S").complaint.contains("Did you mean keep-daily?"))
        try room.sh("backupfs config unset keep-dayly --store $S; backupfs snapshots --store $S")
        #expect(try room.sh("diff $R/before $S/store.yaml | grep '^[<>]' || true") == "> # keep-dayly: 3")
        let again = try room.run("backupfs config unset keep-dayly --store $S")
        #expect(again.status == 2 && again.complaint.contains("the setting keep-dayly is not known"), "\(again)")
        // Two of them, one after the other; an entry that does not have its own line must be edited by hand.
        try room.sh(
            "printf 'kep-last: 1\\nnotfy: x\\n' >> $S/store.yaml; backupfs config unset kep-last --store $S; backupfs config unset notfy --store $S"
        )
        try room.sh(
            "backupfs snapshots --store $S; printf 'fold: >\\n  one\\n  two\\n' >> $S/store.yaml; cp $S/store.yaml $R/folded")
        let folded = try room.run("backupfs config unset fold --store $S")
        #expect(folded.status == 1 && folded.complaint.contains("cannot be changed by a program"), "\(folded)")
        #expect(try room.sh("cmp $S/store.yaml $R/folded") == "")
    }

    @Test func `U-C9: a repository that is not there may be on a disk that is not mounted`() throws {
        let room = try Room()
        try room.sh("mkdir $R/usb; backupfs init --sample --repository $R/usb/r --store $S; rm -r $R/usb")
        let failed = try room.run("backupfs backup --store $S")
        #expect(failed.status == 10 && failed.complaint.contains("Is the disk mounted?"), "\(failed)")
        #expect(try room.run("ls $R/usb").status != 0)
    }

    @Test func `U-C13: the status says where nothing is backed up by itself`() throws {
        let room = try Room()
        try room.sh("mkdir $R/p; backupfs init --app photo-library --media $R/p --store $S")
        #expect(try room.sh("backupfs status --store $S").contains("\nThere is no schedule.\nBackups: 0\n"))
        try room.sh("backupfs config set schedule daily --store $S")
        #expect(try !room.sh("backupfs status --store $S").contains("There is no schedule."))
    }
}

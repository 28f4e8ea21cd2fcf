import TestSupport
import Testing

/// Two stores for one database and one media folder.
struct OtherStoreTests {
    /// At whatever point after its commit the first store's restore dies, the second store changes nothing before it is finished.
    @Test(arguments: ["restore.committed", "restore.media-emptied", "restore.file-brought-in", "restore.media-published"])
    func `R-B11: a restore that died is finished before another store backs up or restores`(point: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; cd $S/app
            printf other > photos/one.jpg; printf mine > photos/mine.jpg; sqlite3 database.sqlite 'delete from photos where id > 1'
            backupfs init --store $R/second --app $R/diary.yaml --database $S/app/database.sqlite --media $S/app/photos
            backupfs backup --label early --store $R/second
            """)
        let died = try sandbox.run("BACKUPFS_FAULT=\(point) backupfs restore one --yes --store $S")
        #expect(died.exitCode != 0)
        let records = "sqlite3 $S/app/database.sqlite 'select count(*) from photos'"
        #expect(try sandbox.sh(records) == "3")
        let between = try sandbox.sh(PhotoDiary.describe)
        for command in [
            "backup", "restore early --yes", "restore early --strategy merge --yes", "export --zip --output $R/live.zip",
        ] {
            let refused = try sandbox.run("backupfs \(command) --store $R/second")
            #expect(refused.exitCode == 11, "\(command): \(refused)")
            #expect(refused.errors.contains("a restore by another store is not finished: \(sandbox.storePath)"), "\(refused)")
            #expect(refused.errors.contains("backupfs status --store \(sandbox.storePath)"))
        }
        #expect(try sandbox.sh(PhotoDiary.describe) == between)
        // Reading existing backups does not concern the other store.
        #expect(try sandbox.sh("backupfs ls early:media --store $R/second").contains("mine.jpg"))
        try sandbox.sh("backupfs status --store $S")
        #expect(
            try sandbox.sh("jq -r .result $S/restore/last.json; \(records); cat $S/app/photos/one.jpg") == "completed\n3\none")
        #expect(try sandbox.sh("ls $S/app/photos; \(PhotoDiary.leftovers)") == "2024\none.jpg")
        try sandbox.sh("backupfs backup --label late --store $R/second; backupfs restore early --yes --store $R/second")
        #expect(try sandbox.sh("\(records); ls $S/app/photos; cat $S/app/photos/one.jpg") == "1\n2024\nmine.jpg\none.jpg\nother")
    }

    @Test func `R-B11: before its commit a dead restore keeps no process waiting, and a store that is gone can be forgotten`()
        throws
    {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; mkdir $R/app; mv $S/app/* $R/app
            for n in first second; do
              backupfs init --store $R/$n --app $R/diary.yaml --database $R/app/database.sqlite --media $R/app/photos
            done
            backupfs backup --label one --store $R/first
            """)
        _ = try sandbox.run("BACKUPFS_FAULT=restore.before-commit backupfs restore one --yes --store $R/first")
        try sandbox.sh("backupfs backup --label two --store $R/second")
        _ = try sandbox.run("BACKUPFS_FAULT=restore.committed backupfs restore one --yes --store $R/first")
        try sandbox.sh("rm -r $R/first")
        let refused = try sandbox.run("backupfs backup --store $R/second")
        #expect(refused.exitCode == 11)
        let remedy = try #require(refused.errors.firstMatch(of: /sqlite3 \S+ 'DROP TABLE backupfs_restore_marker'/))
        try sandbox.sh("\(remedy.output); backupfs backup --label three --store $R/second")
    }

    /// A diary whose database and photos are backed up by two stores: the one in `$S`, and the one in `$R/second`, which has the
    /// backup `old` of other data.
    private static func makeSandboxWithTwoStores() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs init --store $R/second --app $R/diary.yaml --database $S/app/database.sqlite --media $S/app/photos
            backupfs backup --label old --store $R/second
            printf changed > $S/app/photos/one.jpg; sqlite3 $S/app/database.sqlite "update photos set caption = 'changed' where id = 1"
            """)
        return sandbox
    }

    /// The caption and the content of the first photo, in a backup or in the current data.
    private static func first(_ sandbox: Sandbox, in snapshot: String?) throws -> String {
        guard let snapshot else {
            return try sandbox.sh(
                "sqlite3 $S/app/database.sqlite 'select caption from photos where id = 1'; cat $S/app/photos/one.jpg")
        }
        return try sandbox.sh(
            """
            backupfs restore \(snapshot) --target $R/out-\(snapshot) --store $S >$R/told; cd $R/out-\(snapshot)
            sqlite3 database.sqlite 'select caption from photos where id = 1'; cat media/one.jpg photos/one.jpg 2>/dev/null || true
            """)
    }

    /// In a script, waits until a program has reached its fault point.
    private static func reached(_ name: String) -> String {
        "wait_until [ -e $R/\(name).reached ]"
    }

    @Test func `R-C6: another store does not restore while a backup is made, so that none holds new records and old media`()
        throws
    {
        let sandbox = try Self.makeSandboxWithTwoStores()
        let result = try sandbox.run(
            """
            touch $R/a; BACKUPFS_FAULT=backup.media-listed=pause:$R/a backupfs backup --label mixed --store $S >$R/told-a 2>&1 & backup=$!
            \(Self.reached("a"))
            backupfs restore old --yes --store $R/second; echo restore $?
            backupfs backup --label beside --store $R/second >$R/told-b 2>&1; echo beside $?
            rm $R/a; wait $backup; echo backup $?
            """)
        #expect(result.output.hasSuffix("restore 11\nbeside 0\nbackup 0\n"), "\(result)")
        #expect(result.errors.contains("another store is backing up the media folder, or restoring into it"), "\(result)")
        #expect(result.errors.contains("\(sandbox.storePath)/app/photos"))
        #expect(try Self.first(sandbox, in: "mixed") == "changed\nchanged")
        #expect(try Self.first(sandbox, in: nil) == "changed\nchanged")
        try sandbox.sh("backupfs restore old --yes --store $R/second")
        #expect(try Self.first(sandbox, in: nil) == "first\none")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `R-C6: a restore waits for another store's backup that ends soon`() throws {
        let sandbox = try Self.makeSandboxWithTwoStores()
        let result = try sandbox.run(
            """
            touch $R/a $R/b; BACKUPFS_FAULT=backup.media-listed=pause:$R/a backupfs backup --label whole --store $S >$R/told-a 2>&1 & backup=$!
            \(Self.reached("a"))
            BACKUPFS_FAULT=media.waiting=pause:$R/b backupfs restore old --yes --store $R/second >$R/told-b 2>&1 & restore=$!
            \(Self.reached("b"))
            rm $R/a; wait $backup; echo backup $?; rm $R/b; wait $restore; echo restore $?
            """)
        #expect(result.output == "backup 0\nrestore 0\n", "\(result)")
        #expect(try Self.first(sandbox, in: "whole") == "changed\nchanged")
        #expect(try Self.first(sandbox, in: nil) == "first\none")
    }

    @Test func `R-C6: a backup waits for another store's restore that ends soon, and has what it has brought`() throws {
        let sandbox = try Self.makeSandboxWithTwoStores()
        let result = try sandbox.run(
            """
            touch $R/a $R/b
            BACKUPFS_FAULT=restore.safety-made=pause:$R/a backupfs restore old --yes --store $R/second >$R/told-a 2>&1 & restore=$!
            \(Self.reached("a"))
            BACKUPFS_FAULT=media.waiting=pause:$R/b backupfs backup --label whole --store $S >$R/told-b 2>&1 & backup=$!
            \(Self.reached("b"))
            rm $R/a; wait $restore; echo restore $?; rm $R/b; wait $backup; echo backup $?
            """)
        #expect(result.output == "restore 0\nbackup 0\n", "\(result)")
        #expect(try Self.first(sandbox, in: "whole") == "first\none")
    }

    /// On another machine, which this machine's lock does not exclude: simulated by another path of the other store to its media.
    @Test func `R-C6: a backup during which a restore begins that is not finished is refused at its end`() throws {
        let sandbox = try Self.makeSandboxWithTwoStores()
        let result = try sandbox.run(
            """
            cp -a $S/app/photos $R/copy; backupfs config set media $R/copy --store $R/second >/dev/null
            touch $R/a; BACKUPFS_FAULT=backup.media-listed=pause:$R/a backupfs backup --label mixed --store $S >$R/told 2>&1 & backup=$!
            \(Self.reached("a"))
            BACKUPFS_FAULT=restore.committed backupfs restore old --yes --store $R/second >$R/told-b 2>&1; echo restore $?
            rm $R/a; wait $backup; echo backup $?; cat $R/told
            """)
        #expect(result.output.hasPrefix("restore 137\nbackup 11\n"), "\(result)")
        #expect(result.output.contains("a restore by another store is not finished: \(sandbox("second"))"), "\(result)")
        #expect(try sandbox.sh("ls $S/repository/snapshots | wc -l") == "0")
        try sandbox.sh("backupfs status --store $R/second; backupfs backup --store $S")
    }

    @Test func `R-C6: a backup by another store in before-restore and after-restore is made`() throws {
        let sandbox = try Self.makeSandboxWithTwoStores()
        try sandbox.sh(
            """
            backupfs config set before-restore "$R/bin/backupfs backup --label before --store $S" --store $R/second
            backupfs config set after-restore "$R/bin/backupfs backup --label after --store $S" --store $R/second
            backupfs restore old --yes --store $R/second
            """)
        #expect(try Self.first(sandbox, in: "before") == "changed\nchanged")
        #expect(try Self.first(sandbox, in: "after") == "first\none")
    }
}

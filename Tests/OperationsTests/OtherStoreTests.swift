import TestSupport
import Testing

/// Two stores for one database and one media folder.
struct OtherStoreTests {
    /// Whatever point the first store's restore dies at after its commit, the second one changes nothing before it is finished.
    @Test(arguments: ["restore.committed", "restore.media-emptied", "restore.file-brought-in", "restore.media-published"])
    func `R-B11: a restore that died is finished before another store backs up or restores`(point: String) throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh(
            """
            backupfs backup --label one --store $S; cd $S/app
            printf other > photos/one.jpg; printf mine > photos/mine.jpg; sqlite3 database.sqlite 'delete from photos where id > 1'
            backupfs init --store $R/second --app $R/diary.yaml --database $S/app/database.sqlite --media $S/app/photos
            backupfs backup --label early --store $R/second
            """)
        let died = try room.run("BACKUPFS_FAULT=\(point) backupfs restore one --yes --store $S")
        #expect(died.status != 0)
        let records = "sqlite3 $S/app/database.sqlite 'select count(*) from photos'"
        #expect(try room.sh(records) == "3")
        let between = try room.sh(PhotoDiary.describe)
        for command in [
            "backup", "restore early --yes", "restore early --strategy merge --yes", "export --zip --output $R/live.zip",
        ] {
            let refused = try room.run("backupfs \(command) --store $R/second")
            #expect(refused.status == 11, "\(command): \(refused)")
            #expect(refused.complaint.contains("a restore by another store is not finished: \(room.storePath)"), "\(refused)")
            #expect(refused.complaint.contains("backupfs status --store \(room.storePath)"))
        }
        #expect(try room.sh(PhotoDiary.describe) == between)
        // Reading what is there already is nobody else's business.
        #expect(try room.sh("backupfs ls early:media --store $R/second").contains("mine.jpg"))
        try room.sh("backupfs status --store $S")
        #expect(try room.sh("jq -r .result $S/restore/last.json; \(records); cat $S/app/photos/one.jpg") == "completed\n3\none")
        #expect(try room.sh("ls $S/app/photos; \(PhotoDiary.leftovers)") == "2024\none.jpg")
        try room.sh("backupfs backup --label late --store $R/second; backupfs restore early --yes --store $R/second")
        #expect(try room.sh("\(records); ls $S/app/photos; cat $S/app/photos/one.jpg") == "1\n2024\nmine.jpg\none.jpg\nother")
    }

    @Test func `R-B11: before its commit a restore that died keeps nobody waiting, and a store that is gone can be forgotten`()
        throws
    {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh(
            """
            backupfs backup --label one --store $S; mkdir $R/app; mv $S/app/* $R/app
            for n in first second; do
              backupfs init --store $R/$n --app $R/diary.yaml --database $R/app/database.sqlite --media $R/app/photos
            done
            backupfs backup --label one --store $R/first
            """)
        _ = try room.run("BACKUPFS_FAULT=restore.before-commit backupfs restore one --yes --store $R/first")
        try room.sh("backupfs backup --label two --store $R/second")
        _ = try room.run("BACKUPFS_FAULT=restore.committed backupfs restore one --yes --store $R/first")
        try room.sh("rm -r $R/first")
        let refused = try room.run("backupfs backup --store $R/second")
        #expect(refused.status == 11)
        let remedy = try #require(refused.complaint.firstMatch(of: /sqlite3 \S+ 'DROP TABLE backupfs_restore_marker'/))
        try room.sh("\(remedy.output); backupfs backup --label three --store $R/second")
    }
}

import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// The app's data is lost or damaged: the purpose of backups, so they must be available and restorable.
struct LostDataTests {
    private static func prepare() throws -> Room {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh("backupfs backup --label one --store $S; backupfs export one --zip -o $R/one.zip --store $S")
        return room
    }

    @Test(arguments: ["rm -r $S/app", "rm -r $S/app; mkdir $S/app", "rm $S/app/database.sqlite*", "rm -r $S/app/photos"])
    func `what is lost comes back with a restore`(loss: String) throws {
        let room = try Self.prepare()
        let old = try room.sh(PhotoDiary.describe)
        try room.sh(loss)
        #expect(try room.sh("backupfs snapshots --store $S | grep -c one") == "1")
        try room.sh(
            "backupfs export one --zip -o $R/again.zip --store $S; cmp $R/one.zip $R/again.zip; backupfs status --store $S")
        try room.sh("backupfs restore one --yes --store $S")
        #expect(try room.sh(PhotoDiary.describe) == old)
        #expect(try room.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `a backup of what is not there fails, and says why`() throws {
        let room = try Self.prepare()
        try room.sh("rm $S/app/database.sqlite*")
        let result = try room.run("backupfs backup --label two --store $S")
        #expect(result.status == 1)
        #expect(
            result.complaint
                == "backupfs: \(room.storePath)/app/database.sqlite: the database does not exist. Check the path, or restore a backup.\n"
        )
        #expect(try room.run("backupfs export --store $S -o $R/x.json").status == 1)
        let status = try json(Array(room.sh("backupfs status --json --store $S").utf8))
        #expect(status["records"] is NSNull)
        #expect((status["databaseError"] as? String)?.contains("the database does not exist") == true)
        #expect(status["snapshotCount"] as? Int == 1)
        #expect(try room.sh("backupfs snapshots --store $S | grep -c two || true; ls $S/app") == "0\nphotos")
    }

    @Test func `a damaged database stays untouched until a user moves it away`() throws {
        let room = try Self.prepare()
        let old = try room.sh(PhotoDiary.describe)
        try room.sh(
            "rm $S/app/database.sqlite*; head -c 20000 /dev/urandom > $S/app/database.sqlite; cp $S/app/database.sqlite $R/damaged"
        )
        let result = try room.run("backupfs restore one --yes --store $S")
        #expect(result.status == 1)
        #expect(result.complaint.contains("the database is damaged"))
        #expect(result.complaint.contains("Move it away"))
        try room.sh(
            "cmp $S/app/database.sqlite $R/damaged; mv $S/app/database.sqlite $R/moved; backupfs restore one --yes --store $S")
        #expect(try room.sh(PhotoDiary.describe) == old)
    }

    @Test func `a log without its database is not thrown away`() throws {
        let room = try Self.prepare()
        try room.sh("rm $S/app/database.sqlite*; printf data > $S/app/database.sqlite-wal")
        let result = try room.run("backupfs restore one --yes --store $S")
        #expect(result.status == 1)
        #expect(result.complaint.contains("It may hold data that no backup has"))
        #expect(try room.sh("cat $S/app/database.sqlite-wal; ls $S/app") == "datadatabase.sqlite-wal\nphotos")
    }

    @Test func `on a disk that is not mounted nothing is made`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh("mkdir $R/disk; mv $S/app $R/disk/app; rm -r $S")
        var creation = StoreCreation(app: room("diary.yaml"))
        creation.databasePath = room("disk/app/database.sqlite")
        _ = try creation.create(at: room.storePath)
        try room.sh("backupfs backup --label one --store $S; mv $R/disk $R/away")
        let result = try room.run("backupfs restore one --yes --store $S")
        #expect(result.status == 1)
        #expect(
            result.complaint.contains(
                "/disk/app: the folder of the app's data does not exist. Mount its disk, or make the folder.")
        )
        #expect(try room.sh("ls -d $R/disk 2>/dev/null || true") == "")
        try room.sh(
            "mv $R/away $R/disk; rm -r $R/disk/app/*; backupfs restore one --yes --store $S; cat $R/disk/app/photos/one.jpg | grep -x one"
        )
    }
}

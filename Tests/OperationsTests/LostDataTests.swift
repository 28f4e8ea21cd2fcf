import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// The app's data is lost or damaged: the purpose of backups, so they must be available and restorable.
struct LostDataTests {
    private static func prepare() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --label one --store $S; backupfs export one --zip -o $R/one.zip --store $S")
        return sandbox
    }

    @Test(arguments: ["rm -r $S/app", "rm -r $S/app; mkdir $S/app", "rm $S/app/database.sqlite*", "rm -r $S/app/photos"])
    func `what is lost comes back with a restore`(loss: String) throws {
        let sandbox = try Self.prepare()
        let old = try sandbox.sh(PhotoDiary.describe)
        try sandbox.sh(loss)
        #expect(try sandbox.sh("backupfs snapshots --store $S | grep -c one") == "1")
        try sandbox.sh(
            "backupfs export one --zip -o $R/again.zip --store $S; cmp $R/one.zip $R/again.zip; backupfs status --store $S")
        try sandbox.sh("backupfs restore one --yes --store $S")
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `a backup of what is not there fails, and says why`() throws {
        let sandbox = try Self.prepare()
        try sandbox.sh("rm $S/app/database.sqlite*")
        let result = try sandbox.run("backupfs backup --label two --store $S")
        #expect(result.exitCode == 1)
        #expect(
            result.errors
                == "backupfs: \(sandbox.storePath)/app/database.sqlite: the database does not exist. Check the path, or restore a backup.\n"
        )
        #expect(try sandbox.run("backupfs export --store $S -o $R/x.json").exitCode == 1)
        let status = try json(Array(sandbox.sh("backupfs status --json --store $S").utf8))
        #expect(status["records"] is NSNull)
        #expect((status["databaseError"] as? String)?.contains("the database does not exist") == true)
        #expect(status["snapshotCount"] as? Int == 1)
        #expect(try sandbox.sh("backupfs snapshots --store $S | grep -c two || true; ls $S/app") == "0\nphotos")
    }

    @Test func `a damaged database stays untouched until a user moves it away`() throws {
        let sandbox = try Self.prepare()
        let old = try sandbox.sh(PhotoDiary.describe)
        try sandbox.sh(
            "rm $S/app/database.sqlite*; head -c 20000 /dev/urandom > $S/app/database.sqlite; cp $S/app/database.sqlite $R/damaged"
        )
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode == 1)
        #expect(result.errors.contains("the database is damaged"))
        #expect(result.errors.contains("Move it away"))
        try sandbox.sh(
            "cmp $S/app/database.sqlite $R/damaged; mv $S/app/database.sqlite $R/moved; backupfs restore one --yes --store $S")
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
    }

    @Test func `a log without its database is not thrown away`() throws {
        let sandbox = try Self.prepare()
        try sandbox.sh("rm $S/app/database.sqlite*; printf data > $S/app/database.sqlite-wal")
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode == 1)
        #expect(result.errors.contains("It may hold data that no backup has"))
        #expect(try sandbox.sh("cat $S/app/database.sqlite-wal; ls $S/app") == "datadatabase.sqlite-wal\nphotos")
    }

    @Test func `on a disk that is not mounted nothing is made`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("mkdir $R/disk; mv $S/app $R/disk/app; rm -r $S")
        var creation = StoreCreation(app: sandbox("diary.yaml"))
        creation.databasePath = sandbox("disk/app/database.sqlite")
        _ = try creation.create(at: sandbox.storePath)
        try sandbox.sh("backupfs backup --label one --store $S; mv $R/disk $R/away")
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode == 1)
        #expect(
            result.errors.contains(
                "/disk/app: the folder of the app's data does not exist. Mount its disk, or make the folder.")
        )
        #expect(try sandbox.sh("ls -d $R/disk 2>/dev/null || true") == "")
        try sandbox.sh(
            "mv $R/away $R/disk; rm -r $R/disk/app/*; backupfs restore one --yes --store $S; cat $R/disk/app/photos/one.jpg | grep -x one"
        )
    }
}

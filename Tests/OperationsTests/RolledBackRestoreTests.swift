import TestSupport
import Testing

@testable import Operations

/// A restore has replaced media, and then its records are gone: a power cut lost the commit, or the app's old database was copied
/// back. The media follow the records, and nothing is lost on the way.
struct RolledBackRestoreTests {
    private static let setDatabaseAside =
        "cd $S/app; sqlite3 database.sqlite 'pragma wal_checkpoint(truncate)' >/dev/null; cp database.sqlite $R/old.sqlite"
    private static let putDatabaseBack =
        "cd $S/app; rm -f database.sqlite-wal database.sqlite-shm; cp $R/old.sqlite database.sqlite"

    /// A diary with an archive that replaces, removes and adds photos.
    private static func prepare() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            # Files that stay as they are.
            cd $S/app/photos; printf same > same.png; mkdir both; printf same > both/same.png; printf changed > both/changed.png
            backupfs backup --label one --store $S; cd $S/app/photos; printf other > one.jpg; printf mine > mine.jpg
            printf 'changed later' > both/changed.png
            mkdir own; printf mine > own/mine.jpg; rm 2024/two.jpg; printf 2b > 2024/2b.jpg
            sqlite3 $S/app/database.sqlite 'delete from photos where id = 1'
            \(setDatabaseAside)
            """)
        return sandbox
    }

    @Test(arguments: [
        "restore.probes-moved", "restore.folder-tried", "restore.media-linked", "restore.committed", "restore.file-taken-out",
        "restore.file-taken-out:2",
        "restore.media-emptied", "restore.file-brought-in",
        "restore.file-brought-in:2", "restore.media-published",
    ])
    func `R-A4, SAF-02: media that were replaced come back when the records have`(point: String) throws {
        let sandbox = try Self.prepare()
        let old = try sandbox.sh(PhotoDiary.describe)
        _ = try sandbox.run(
            "BACKUPFS_FAULT=\(point) backupfs restore one --yes --store $S >/dev/null 2>&1; \(Self.putDatabaseBack)")
        try sandbox.sh("backupfs status --store $S >/dev/null")
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "undone")
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
        // Nor is a second name of a file left that had stayed.
        #expect(try sandbox.sh("find $S/app -links +1 -type f; find $S/app -path '*kept*' -name same.png") == "")
        try sandbox.sh("backupfs backup --store $S >/dev/null")
    }

    /// Files that stay, until the app changes them while the restore prepares: they are new ones after all.
    @Test func `U-B7: files that were unpacked right before the commit go as well`() throws {
        let sandbox = try Self.prepare()
        _ = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.media-linked=pause:$R/pause,restore.media-published backupfs restore one --yes --store $S > $R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore; cd $S/app/photos; rm same.png; mv both/same.png both/moved.png
            rm $R/pause; wait $restore; \(Self.putDatabaseBack)
            """)
        try sandbox.sh("backupfs status --store $S >/dev/null")
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "undone")
        #expect(
            try sandbox.sh("cd $S/app/photos; ls same.png both/same.png 2>/dev/null || true; cat both/moved.png one.jpg")
                == "sameother")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test func `R-A4: what the app has made meanwhile is kept, wherever it has put it`() throws {
        let sandbox = try Self.prepare()
        _ = try sandbox.run(
            """
            BACKUPFS_FAULT=restore.media-published backupfs restore one --yes --store $S >/dev/null 2>&1; \(Self.putDatabaseBack)
            cd $S/app/.backupfs-staging-*/old; printf late > late.jpg; cd $S/app; printf app > photos/app.jpg; printf shared > photos/2024/shared.jpg
            rm -f photos/one.jpg; printf 'new one' > photos/one.jpg; mkdir -p photos/own; printf 'second' > photos/own/mine.jpg
            """)
        try sandbox.sh("backupfs status --store $S >/dev/null")
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "undone")
        // The old files have their names again.
        #expect(
            try sandbox.sh("cd $S/app/photos; cat late.jpg one.jpg mine.jpg own/mine.jpg 2024/2b.jpg") == "lateotherminemine2b")
        // The app's later files are among them, or in the folder that the report names.
        let kept = try sandbox.sh("jq -r .keptMedia $S/restore/last.json")
        #expect(kept.hasPrefix("\(sandbox.storePath)/app/photos-kept-"))
        for text in ["app", "shared", "new one", "second"] {
            #expect(try sandbox.sh("grep -rlx '\(text)' $S/app | wc -l") == "1", "\(text)")
        }
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }
}

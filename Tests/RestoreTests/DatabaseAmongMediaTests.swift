import BackupCore
import TestSupport
import Testing

@testable import Restore

/// Which entries of a media folder are the app's database, or lead to it.
struct DatabaseAmongMediaTests {
    @Test func `only what a restore stages directly in the media folder is passed over`() {
        let digits = "0123456789abcdef0123456789abcdef"
        let media = DatabaseAmongMedia.none
        #expect(media.hides(FileName(".backupfs-staging-\(digits)")))
        for name in [
            ".backupfs-staging-", ".backupfs-staging-x", ".backupfs-staging-\(digits)0", ".backupfs-staging-\(digits).jpg",
        ] {
            #expect(!media.hides(FileName(name)), "\(name)")
        }
        #expect(!media.entering("deep").hides(FileName(".backupfs-staging-\(digits)")))
        #expect(!media.hides(path: Array("deep/.backupfs-staging-\(digits)/photo.jpg".utf8)))
        #expect(media.hides(path: Array(".backupfs-staging-\(digits)/photo.jpg".utf8)))
    }

    @Test func `a file system that ignores case has the database's files under other letters`() throws {
        let folder = try TemporaryFolder()
        try folder.sh("mkdir -p media/lib; printf db > media/lib/App.db; printf x > media/lib/x.jpg")
        func find() throws -> DatabaseAmongMedia {
            try DatabaseAmongMedia(database: folder("media/lib/App.db"), media: folder("media"))
        }
        let strict = try find().entering("lib")
        #expect(strict.hides("App.db") && strict.hides("App.db-wal"))
        #expect(!strict.hides("app.db-wal") && !strict.hides("APP.DB") && !strict.hides("x.jpg"))
        // As such a file system answers: another name is the same file.
        try folder.sh("ln media/lib/App.db media/lib/app.db")
        let found = try find()
        #expect(found.isBelow("lib") && found.isBelow("LIB") && !found.isBelow("lib2"))
        let lax = found.entering("Lib")
        #expect(lax.hides("app.db-wal") && lax.hides("APP.DB") && lax.hides("App.db-journal") && !lax.hides("x.jpg"))
        #expect(found.hides(path: Array("LIB/APP.db-shm".utf8)) && found.needsFolder(at: Array("LIB".utf8)))
    }

    @Test func `every link on the way to the database is hidden, and what lies behind a linked folder is not`() throws {
        let folder = try TemporaryFolder()
        try folder.sh(
            """
            mkdir -p media/in ssd/lib; printf db > ssd/lib/real.db; ln -s real.db ssd/lib/app.db; ln -s ../ssd/lib media/hop; ln -s ../hop media/in/lib
            """)
        let found = try DatabaseAmongMedia(database: folder("media/in/lib/app.db"), media: folder("media"))
        #expect(found.hides("hop") && !found.hides("hop-wal") && found.isBelow("in") && !found.hides("in"))
        #expect(found.entering("in").hides("lib") && !found.entering("in").hides("app.db"))
        #expect(found.hides(path: Array("in/lib".utf8)) && !found.hides(path: Array("in/lib/cover.jpg".utf8)))
        #expect(found.isBehindLink(Array("in/lib/cover.jpg".utf8)) && found.isBehindLink(Array("hop/x".utf8)))
        #expect(!found.isBehindLink(Array("in/lib".utf8)) && !found.isBehindLink(Array("in/x".utf8)))
    }

    @Test func `links in a circle end`() throws {
        let folder = try TemporaryFolder()
        try folder.sh("mkdir media; ln -s b media/a; ln -s a media/b")
        let error = failure { _ = try DatabaseAmongMedia(database: folder("media/a"), media: folder("media")) }
        #expect(error?.code == .inputOutput)
    }
}

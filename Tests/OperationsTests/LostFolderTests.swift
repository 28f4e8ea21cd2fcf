import BackupCore
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository
@testable import Operations

/// The pack with the listing of a media folder is lost. The app still has the files, so the next backup stores it again, although
/// nothing has changed.
struct LostFolderTests {
    /// - Parameter path: of the folder whose listing is lost.
    @Test(arguments: [["media"], ["media", "2024"]] as [[FileName]])
    func `a backup of unchanged media brings a lost folder back`(path: [FileName]) throws {
        let sandbox = try Sandbox()
        let pack = try {
            let store = try sandbox.makeDiary()
            // From then on, a file that has not changed is stored as before.
            while !(try FileSystem.status(sandbox.storePath + "/app/photos/2024/summer/three.jpg")).isSettled { usleep(50_000) }
            try sandbox.sh("backupfs backup --store $S --label one")
            // The records of the next backup are in packs of their own.
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite \"update photos set caption='x'\"; backupfs backup --store $S --label two")
            try store.repository.refresh()
            let snapshot = try #require(store.repository.snapshot(named: "two"))
            var entries = try store.repository.rootDirectory(of: snapshot)
            var content: FileContent?
            for name in path {
                let entry = try #require(entries.entry(named: name))
                content = entry.content
                entries = try store.repository.directory(of: entry)
            }
            let ids = try #require(content).elements.chunkIDs
            let chunk = try #require(store.repository.catalog.locate(ids).first)
            return store.repository.layout.packPath(of: chunk.pack)
        }()
        try FileSystem.removeFile(pack)
        try sandbox.sh(
            """
            backupfs backup --store $S --label three
            backupfs verify three --store $S
            backupfs restore three --target $R/out --store $S
            diff -r $S/app/photos $R/out/media
            """)
    }
}

import AppData
import BackupCore
import Foundation
import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// A restore without a store around it: all of it, or nothing.
struct RestoreOperationTests {
    private static let id = SnapshotID(SHA256Hasher.hash([1]))
    private static let describe =
        "sqlite3 -readonly app/database.sqlite .dump | grep -v app_metadata; cd app/photos; find . -type f -print0 | sort -z | xargs -0r sha256sum"

    private static func operation(_ folder: TemporaryFolder, media: Bool = true) throws -> RestoreOperation {
        RestoreOperation(
            database: try AppDatabase(
                opening: folder("app/database.sqlite"), definition: Diary.definition(), busyTimeoutSeconds: 0.2),
            mediaPath: media ? folder("app/photos") : nil, journalPath: folder("restore.journal"), workPath: folder("work"),
            savedMedia: .everything)
    }

    private static func makeArchive(_ folder: TemporaryFolder) throws {
        try folder.write(Diary.export(), to: "export.json")
        try folder.sh("mkdir media; printf new > media/new.jpg; python3 -m zipfile -c a.zip export.json media")
    }

    @Test func `RST-01, RST-03: records and media are replaced, and nothing is left lying`() throws {
        let folder = try TemporaryFolder()
        _ = try Diary.database(in: folder)
        try Self.makeArchive(folder)
        let operation = try Self.operation(folder)
        let checked = try operation.check(folder("a.zip"))
        #expect(checked.format == .zip)
        #expect(checked.summary.recordCounts == [1])
        var savedAt = ""
        let phases = Mutex<[String]>([])
        try operation.run(
            checked, fileName: "a.zip", report: { progress in phases.withLock { $0.append(progress.phase.english) } }
        ) {
            () throws(BackupError) in
            savedAt =
                (try? folder.sh(
                    "cat app/photos/*; ls -A app | grep -c staging || true; sqlite3 -readonly app/database.sqlite 'select file from photos'"
                )) ?? ""
            return Self.id
        }
        // The safety backup sees the old state.
        #expect(savedAt == "old0\nold.jpg")
        #expect(phases.withLock { $0 } == ["Importing data..."])
        #expect(
            try folder.sh("sqlite3 app/database.sqlite 'select id, file from photos'; ls app/photos; ls -A app | grep -v sqlite")
                == "5|new.jpg\nnew.jpg\nphotos")
        let journal = try #require(try RestoreJournal.read(folder("restore.journal")))
        #expect(journal.state == .published && journal.fileName == "a.zip" && journal.safetySnapshot == Self.id)
        #expect(
            try folder.sh("sqlite3 app/database.sqlite \"select count(*) from sqlite_master where name like 'backupfs%'\"") == "0"
        )
    }

    @Test func `a JSON file leaves the media alone`() throws {
        let folder = try TemporaryFolder()
        _ = try Diary.database(in: folder)
        try folder.write(Diary.export(), to: "x.json")
        let operation = try Self.operation(folder)
        try operation.run(operation.check(folder("x.json")), fileName: "x.json", report: { _ in }) { Self.id }
        #expect(
            try folder.sh("sqlite3 app/database.sqlite 'select id, file from photos'; cat app/photos/old.jpg") == "5|new.jpg\nold"
        )
        #expect(try RestoreJournal.read(folder("restore.journal"))?.media == nil)
    }

    @Test func `the media folder keeps its mode and its owner`() throws {
        let folder = try TemporaryFolder()
        _ = try Diary.database(in: folder)
        try Self.makeArchive(folder)
        try folder.sh("chmod 2755 app/photos")
        if geteuid() == 0 { try folder.sh("chown 1234:4321 app/photos") }
        let expected = try folder.sh("stat -c '%a %u %g' app/photos")
        let operation = try Self.operation(folder)
        try operation.run(operation.check(folder("a.zip")), fileName: "a.zip", report: { _ in }) { Self.id }
        #expect(try folder.sh("stat -c '%a %u %g' app/photos") == expected)
        if geteuid() == 0 { #expect(try folder.sh("stat -c '%u %g' app/photos/new.jpg") == "1234 4321") }
    }

    @Test func `a safety backup that fails stops everything`() throws {
        let folder = try TemporaryFolder()
        _ = try Diary.database(in: folder)
        try Self.makeArchive(folder)
        let old = try folder.sh(Self.describe)
        let operation = try Self.operation(folder)
        let checked = try operation.check(folder("a.zip"))
        let error = failure {
            try operation.run(checked, fileName: "a.zip", report: { _ in }) { () throws(BackupError) in
                throw BackupError(.noSpace, "full")
            }
        }
        #expect(error?.code == .noSpace)
        #expect(try folder.sh(Self.describe) == old)
        #expect(try folder.sh("ls -A app | grep -v sqlite; ls -A") == "photos\na.zip\napp\nexport.json\nmedia\nwork")
    }

    @Test func `RST-17, SAF-01: an error while media are unpacked or records are written undoes both`() throws {
        for sabotage in [
            "truncate -s 200 a.zip",
            "sqlite3 app/database.sqlite \"create trigger no before insert on photos begin select raise(abort, 'no'); end\"",
        ] {
            let folder = try TemporaryFolder()
            _ = try Diary.database(in: folder)
            try folder.write(Diary.export(), to: "export.json")
            try folder.sh(
                "mkdir media; head -c 100000 /dev/urandom > media/big.jpg; printf new > media/new.jpg; python3 -m zipfile -c a.zip export.json media"
            )
            let operation = try Self.operation(folder)
            let checked = try operation.check(folder("a.zip"))
            try folder.sh(sabotage)
            let old = try folder.sh(Self.describe)
            let phases = Mutex<[String]>([])
            let error = failure {
                try operation.run(
                    checked, fileName: "a.zip", report: { progress in phases.withLock { $0.append(progress.phase.english) } }
                ) { Self.id }
            }
            #expect(error != nil, "\(sabotage)")
            #expect(try folder.sh(Self.describe) == old, "\(sabotage)")
            #expect(try folder.sh("ls -A app | grep -v sqlite; ls -A | grep -c journal || true") == "photos\n1", "\(sabotage)")
            #expect(phases.withLock { $0 } == ["Importing data...", "Import failed. Restoring previous data..."])
        }
    }
}

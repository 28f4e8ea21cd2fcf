import AppData
import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// Every state a crash can leave, built by hand, and what the next start makes of it.
struct RestoreRecoveryTests {
    /// What a crash left.
    struct Crash: Sendable, CustomTestStringConvertible {
        let state: RestoreJournal.State
        /// The mark in the database: this operation's, another one's, or none.
        let marker: String?
        /// Where the new media folder is: `nil` for a restore without media.
        let media: Media?
        let outcome: RestoreRecovery.Outcome
        /// What lies in the media folder afterwards.
        let photo: String

        enum Media: Sendable { case beingStaged, staged, exchanged, oldRemoved }

        var testDescription: String { "\(state), marker \(marker ?? "none"), media \(media.map { "\($0)" } ?? "none")" }
    }

    static let crashes: [Crash] = [
        // Without media the marker decides alone.
        Crash(state: .prepared, marker: nil, media: nil, outcome: .undone, photo: "old"),
        Crash(state: .prepared, marker: "another", media: nil, outcome: .undone, photo: "old"),
        Crash(state: .prepared, marker: "this", media: nil, outcome: .completed, photo: "old"),
        Crash(state: .published, marker: "this", media: nil, outcome: .completed, photo: "old"),
        Crash(state: .published, marker: nil, media: nil, outcome: .completed, photo: "old"),
        // Before the commit the media are old.
        Crash(state: .prepared, marker: nil, media: .beingStaged, outcome: .undone, photo: "old"),
        Crash(state: .prepared, marker: nil, media: .staged, outcome: .undone, photo: "old"),
        Crash(state: .prepared, marker: "another", media: .staged, outcome: .undone, photo: "old"),
        // After it they are new, whether they had been exchanged or not.
        Crash(state: .prepared, marker: "this", media: .staged, outcome: .completed, photo: "new"),
        Crash(state: .prepared, marker: "this", media: .exchanged, outcome: .completed, photo: "new"),
        Crash(state: .published, marker: "this", media: .exchanged, outcome: .completed, photo: "new"),
        Crash(state: .published, marker: nil, media: .exchanged, outcome: .completed, photo: "new"),
        Crash(state: .published, marker: nil, media: .oldRemoved, outcome: .completed, photo: "new"),
    ]

    /// Builds what the crash left, and writes the journal.
    private static func build(_ crash: Crash, _ folder: TemporaryFolder) throws -> AppDatabase {
        let database = try Diary.database(in: folder)
        if let marker = crash.marker {
            try folder.sh(
                "sqlite3 app/database.sqlite \"create table backupfs_restore_marker (id text); insert into backupfs_restore_marker values ('\(marker)')\""
            )
        }
        var media: RestoreJournal.Media?
        if let place = crash.media {
            try folder.sh("mkdir app/.backupfs-staging-this; printf new > app/.backupfs-staging-this/new.jpg")
            let inode = try FileSystem.status(folder("app/.backupfs-staging-this")).inode
            media = .init(
                kind: .exchange, path: folder("app/photos"), stagingPath: folder("app/.backupfs-staging-this"),
                stagedInode: place == .beingStaged ? 0 : inode)
            if place == .exchanged || place == .oldRemoved {
                try folder.sh(
                    "mv app/photos app/x; mv app/.backupfs-staging-this app/photos; mv app/x app/.backupfs-staging-this")
            }
            if place == .oldRemoved { try folder.sh("rm -r app/.backupfs-staging-this") }
        }
        try RestoreJournal(state: crash.state, operation: "this", fileName: "dropped.zip", safetySnapshot: nil, media: media)
            .write(to: folder("restore.journal"))
        return database
    }

    private static let look = """
        cat app/photos/*.jpg; echo; ls -A app | grep -v sqlite; sqlite3 -readonly app/database.sqlite "select name from sqlite_master where name like 'backupfs%'"
        """

    @Test(arguments: crashes)
    func `the next start finishes or undoes it`(crash: Crash) throws {
        let folder = try TemporaryFolder()
        let database = try Self.build(crash, folder)
        let result = try #require(
            try RestoreRecovery.run(journalPath: folder("restore.journal"), database: database, savedMedia: .everything))
        #expect(result.outcome == crash.outcome)
        #expect(result.fileName == "dropped.zip")
        // A mark that is not of this operation says nothing and stays.
        let marker = crash.marker == "another" ? "\nbackupfs_restore_marker" : ""
        #expect(try folder.sh(Self.look) == "\(crash.photo)\nphotos\(marker)")

        // Until it is forgotten it may be run again, and says the same where the journal tells it.
        let again = try #require(
            try RestoreRecovery.run(journalPath: folder("restore.journal"), database: database, savedMedia: .everything))
        #expect(again.outcome == crash.outcome)
        #expect(try folder.sh(Self.look) == "\(crash.photo)\nphotos\(marker)")
        try RestoreRecovery.forget(journalPath: folder("restore.journal"))
        #expect(
            try RestoreRecovery.run(journalPath: folder("restore.journal"), database: database, savedMedia: .everything) == nil)
        #expect(try folder.sh("ls") == "app\nwork")
    }

    @Test(arguments: [nil, "another"] as [String?])
    func `a folder that an older version had exchanged is exchanged back when the records have gone back, and nothing is removed`(
        marker: String?
    ) throws {
        let folder = try TemporaryFolder()
        let crash = Crash(state: .prepared, marker: marker, media: .exchanged, outcome: .undone, photo: "old")
        let database = try Self.build(crash, folder)
        try folder.sh("printf late > app/photos/late.jpg")
        let result = try #require(
            try RestoreRecovery.run(journalPath: folder("restore.journal"), database: database, savedMedia: .everything))
        #expect(result.outcome == .undone)
        #expect(result.end.keptMediaPath == folder("app/photos-kept-this"))
        #expect(
            try folder.sh("cat app/photos/*.jpg; cd app/photos-kept-this; cat *.jpg; ls -A .. | grep -v sqlite")
                == "oldlatenewphotos\nphotos-kept-this")
        try folder.sh("rm -r app/photos-kept-this")
        let again = try RestoreRecovery.run(
            journalPath: folder("restore.journal"), database: database, savedMedia: .everything)
        #expect(again?.outcome == .undone)
        #expect(try folder.sh("cat app/photos/*.jpg") == "old")
    }

    @Test func `media that were published are never swapped back, whatever the app did since`() throws {
        let folder = try TemporaryFolder()
        let crash = Crash(state: .published, marker: nil, media: .exchanged, outcome: .completed, photo: "new")
        let database = try Self.build(crash, folder)
        // The app replaced its folder after the crash: another inode, and newer than both.
        try folder.sh("mkdir app/newest; printf newest > app/newest/newest.jpg; rm -r app/photos; mv app/newest app/photos")
        _ = try RestoreRecovery.run(journalPath: folder("restore.journal"), database: database, savedMedia: .everything)
        #expect(try folder.sh(Self.look) == "newest\nphotos")
    }

    @Test func `a staged folder that is gone is reported, and nothing is exchanged with anything else`() throws {
        let folder = try TemporaryFolder()
        let database = try Self.build(
            Crash(state: .prepared, marker: "this", media: .staged, outcome: .completed, photo: "new"), folder)
        try folder.sh(
            "cd app; mv .backupfs-staging-this elsewhere; mkdir .backupfs-staging-this; printf foreign > .backupfs-staging-this/x.jpg"
        )
        let journal = try #require(try RestoreJournal.read(folder("restore.journal")))
        let error = failure {
            _ = try RestoreRecovery.run(journalPath: folder("restore.journal"), database: database, savedMedia: .everything)
        }
        #expect(error?.code == .notFound)
        #expect(try folder.sh("cat app/photos/old.jpg; cat app/.backupfs-staging-this/x.jpg") == "oldforeign")
        #expect(try RestoreJournal.read(folder("restore.journal")) == journal)
    }

    @Test func `while the app holds its database locked nothing is decided`() throws {
        let folder = try TemporaryFolder()
        _ = try Self.build(Crash(state: .published, marker: "this", media: nil, outcome: .completed, photo: "old"), folder)
        let database = try AppDatabase(
            opening: folder("app/database.sqlite"), definition: Diary.definition(), busyTimeoutSeconds: 0.2)
        let before = try folder.read("restore.journal")
        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        holder.arguments = [
            "python3", "-c",
            "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('begin immediate'); print(1, flush=True); time.sleep(30)",
            folder("app/database.sqlite"),
        ]
        let pipe = Foundation.Pipe()
        holder.standardOutput = pipe
        try holder.run()
        defer { holder.terminate() }
        _ = pipe.fileHandleForReading.availableData
        let error = failure {
            _ = try RestoreRecovery.run(journalPath: folder("restore.journal"), database: database, savedMedia: .everything)
        }
        #expect(error?.code == .databaseInUse)
        #expect(try folder.read("restore.journal") == before)
    }
}

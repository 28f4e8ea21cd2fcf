import AppData
import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import Restore

/// Photos of an archive beside those that are there: nothing is overwritten, and what has another's name gets a new one.
struct MergingMediaTests {
    private static let id = SnapshotID(SHA256Hasher.hash([1]))

    /// `app/` with photos and records, and `work`.
    private static func makeApp(_ folder: TemporaryFolder, identity: String, _ sql: String, _ files: String) throws {
        try folder.sh("mkdir -p app/photos work")
        _ = try AppDatabase.create(
            at: folder("app/database.sqlite"), definition: AppDefinition.load(yaml: PhotoDiary.definition(identity: identity)))
        try folder.sh("sqlite3 app/database.sqlite \"\(sql)\"; cd app/photos; \(files)")
    }

    private static func operation(_ folder: TemporaryFolder, identity: String) throws -> RestoreOperation {
        let definition = try AppDefinition.load(yaml: PhotoDiary.definition(identity: identity))
        return RestoreOperation(
            database: try AppDatabase(opening: folder("app/database.sqlite"), definition: definition, busyTimeoutSeconds: 0.2),
            mediaPath: folder("app/photos"), journalPath: folder("restore.journal"), workPath: folder("work"),
            savedMedia: .everything)
    }

    /// An archive of an export with these photos, and what the script makes in `media/`.
    private static func makeArchive(_ folder: TemporaryFolder, _ photos: [(Int, String, String)], _ files: String) throws {
        let list = photos.map { #"{"id": \#($0.0), "file": "\#($0.1)", "caption": "\#($0.2)"}"# }.joined(separator: ", ")
        try folder.write(
            #"{"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1.0", "schemaVersion": 1}, "photos": [\#(list)]}"#,
            to: "export.json")
        try folder.sh(
            "rm -rf media a.zip; mkdir media; cd media; \(files); cd ..; python3 -m zipfile -c a.zip export.json media")
    }

    /// Rehearses and runs: both must say the same.
    private static func restore(
        _ folder: TemporaryFolder, _ strategy: ImportStrategy, identity: String, at place: SourceLocation = #_sourceLocation
    ) throws -> RestoreOutcome {
        try folder.sh("rm -rf work restore.journal; mkdir work")
        let operation = try operation(folder, identity: identity)
        let checked = try operation.check(folder("a.zip"), strategy: strategy)
        let before = try folder.sh(everything)
        let rehearsed = try operation.rehearse(checked)
        #expect(try folder.sh(everything) == before, sourceLocation: place)
        #expect(try folder.sh("ls -A work | grep -v records || true") == "", sourceLocation: place)
        var outcome: RestoreOutcome?
        try operation.run(checked, fileName: "a.zip", report: { _ in }, outcome: { outcome = $0 }) { Self.id }
        let told = try #require(outcome, sourceLocation: place)
        #expect(told == rehearsed, sourceLocation: place)
        #expect(try folder.sh("ls -A app | grep -v '^database.sqlite'; ls -A work") == "photos\nrecords", sourceLocation: place)
        return told
    }

    private static let everything =
        "sqlite3 -readonly app/database.sqlite .dump; cd app/photos; find . -type f | sort | xargs -d '\\n' sha256sum"
    private static let state = """
        sqlite3 -readonly app/database.sqlite 'select id, file, caption from photos order by id'
        cd app/photos; find . -type f -printf '%P ' -exec cat {} ';' -printf '\\n' | sort; find . -type l -printf '%P -> %l\\n' | sort
        """

    private static func media(_ added: Int, _ renamed: Int, _ alreadyThere: Int, _ skipped: Int) -> MediaOutcome {
        var outcome = MediaOutcome()
        outcome.added = added
        outcome.renamed = renamed
        outcome.alreadyThere = alreadyThere
        outcome.skipped = skipped
        return outcome
    }

    @Test(arguments: [ImportStrategy.merge, .skip])
    func `RST-07: another photo of the same name comes under a new one, and its record follows`(strategy: ImportStrategy) throws {
        let folder = try TemporaryFolder()
        // Photos are what they are called: a different file of that name is another photo.
        try Self.makeApp(
            folder, identity: "file",
            "insert into photos values (1,'beach.jpg','mine'),(2,'same.jpg','mine'),(3,'2024/deep.jpg','mine')",
            "printf mine > beach.jpg; printf same > same.jpg; mkdir 2024; printf deep > 2024/deep.jpg; touch -d 2020-01-01 *.jpg")
        try Self.makeArchive(
            folder,
            [(1, "beach.jpg", "theirs"), (2, "same.jpg", "theirs"), (4, "new.jpg", "new"), (5, "2024/deep.jpg", "other")],
            "printf theirs > beach.jpg; printf same > same.jpg; printf new > new.jpg; mkdir 2024; printf DEEP > 2024/deep.jpg; printf x > unnamed.jpg"
        )
        let outcome = try Self.restore(folder, strategy, identity: "file")
        let isMerge = strategy == .merge
        #expect(outcome.media == Self.media(2, 2, 1, 0))
        #expect(outcome.media?.restoredCount == 4)
        #expect(
            [
                outcome.records.collections[0].added, outcome.records.collections[0].updated,
                outcome.records.collections[0].skipped,
            ]
                == (isMerge ? [3, 1, 0] : [3, 0, 1]))
        let expected = """
            1|beach.jpg|mine
            2|same.jpg|\(isMerge ? "theirs" : "mine")
            3|2024/deep.jpg|mine
            4|new.jpg|new
            5|2024/deep-2.jpg|other
            6|beach-2.jpg|theirs
            2024/deep-2.jpg DEEP
            2024/deep.jpg deep
            beach-2.jpg theirs
            beach.jpg mine
            new.jpg new
            same.jpg same
            unnamed.jpg x
            """
        #expect(try folder.sh(Self.state) == expected)
        #expect(try folder.sh("stat -c %Y app/photos/beach.jpg app/photos/same.jpg") == "1577836800\n1577836800")
        // Once more: it is all there, under the names it has got.
        let again = try Self.restore(folder, strategy, identity: "file")
        #expect(again.media == Self.media(0, 0, 5, 0))
        #expect(again.records.collections[0].skipped == 4 && again.records.collections[0].added == 0)
        #expect(try folder.sh(Self.state) == expected)
    }

    @Test func `the photo of a skipped record is not brought a second time, unless it is missing`() throws {
        let folder = try TemporaryFolder()
        // Photos are told apart by their captions here.
        try Self.makeApp(
            folder, identity: "caption",
            "insert into photos values (1,'beach.jpg','Beach'),(2,'lost.jpg','Lost')", "printf mine > beach.jpg")
        try Self.makeArchive(
            folder, [(7, "beach.jpg", "Beach"), (8, "lost.jpg", "Lost")], "printf theirs > beach.jpg; printf lost > lost.jpg")
        let skipped = try Self.restore(folder, .skip, identity: "caption")
        #expect(skipped.media == Self.media(1, 0, 0, 1))
        #expect(skipped.records.collections[0].skipped == 2)
        let kept = "1|beach.jpg|Beach\n2|lost.jpg|Lost\nbeach.jpg mine\nlost.jpg lost"
        #expect(try folder.sh(Self.state) == kept)
        #expect(try Self.restore(folder, .skip, identity: "caption").media == Self.media(0, 0, 1, 1))
        #expect(try folder.sh(Self.state) == kept)
        // With merge the record gets the file's photo, and the old one stays where it is.
        let merged = try Self.restore(folder, .merge, identity: "caption")
        #expect(merged.media == Self.media(0, 1, 1, 0))
        #expect(merged.records.collections[0].updated == 1)
        let changed = "1|beach-2.jpg|Beach\n2|lost.jpg|Lost\nbeach-2.jpg theirs\nbeach.jpg mine\nlost.jpg lost"
        #expect(try folder.sh(Self.state) == changed)
        #expect(try Self.restore(folder, .merge, identity: "caption").media == Self.media(0, 0, 2, 0))
        #expect(try folder.sh(Self.state) == changed)
    }

    @Test func `paths of another machine, names that the archive has itself, files in the way of folders, links`() throws {
        let folder = try TemporaryFolder()
        try Self.makeApp(
            folder, identity: "id", "insert into photos values (1,'a.jpg','mine')",
            "printf mine > a.jpg; printf mine > trip; ln -s a.jpg link; printf mine > .hidden; printf mine > noext; mkdir dir; printf in > dir/x"
        )
        try Self.makeArchive(
            folder,
            [
                (11, "/data/user/0/photos/a.jpg", "a"), (12, "file:///x/trip/day.jpg", "day"), (13, "nowhere.jpg", "none"),
                (14, "a-2.jpg", "a2"),
            ],
            """
            printf theirs > a.jpg; printf two > a-2.jpg; mkdir trip; printf day > trip/day.jpg; ln -s a-2.jpg link; printf theirs > .hidden
            printf theirs > noext; printf file > dir; mkdir empty
            """)
        // zipfile follows links: one as a link, by another tool.
        try folder.sh("rm a.zip; bsdtar --format zip -cf a.zip export.json media")
        let outcome = try Self.restore(folder, .merge, identity: "id")
        #expect(outcome.media == Self.media(1, 6, 0, 0))
        #expect(
            try folder.sh(Self.state) == """
                1|a.jpg|mine
                11|/data/user/0/photos/a-3.jpg|a
                12|file:///x/trip-2/day.jpg|day
                13|nowhere.jpg|none
                14|a-2.jpg|a2
                .hidden mine
                .hidden-2 theirs
                a-2.jpg two
                a-3.jpg theirs
                a.jpg mine
                dir-2 file
                dir/x in
                noext mine
                noext-2 theirs
                trip mine
                trip-2/day.jpg day
                link -> a.jpg
                link-2 -> a-2.jpg
                """)
        #expect(try folder.sh("find app/photos -type d -printf '%P\\n' | sort") == "\ndir\nempty\ntrip-2")
        let again = try Self.restore(folder, .merge, identity: "id")
        #expect(again.media == Self.media(0, 0, 7, 0))
        #expect(again.records.collections[0].skipped == 4)
    }

    @Test(arguments: [ImportStrategy.merge, .skip])
    func `a database comes with its log, and never beside the log of another`(strategy: ImportStrategy) throws {
        let folder = try TemporaryFolder()
        try Self.makeApp(
            folder, identity: "file", "select 1",
            """
            printf mine > a.db; printf same > b.db; printf log > b.db-wal; printf log > c.db-journal; printf same > d.db; printf mine > e.db-wal
            printf same > f.db
            """)
        try Self.makeArchive(
            folder, [],
            """
            printf theirs > a.db; printf log > a.db-wal; printf same > b.db; printf other > b.db-wal; printf theirs > c.db; printf same > d.db
            printf log > d.db-journal; printf theirs > e.db; printf log > e.db-wal; printf same > f.db; printf new > g.db; printf log > g.db-wal
            printf log > g.db-wal-wal; printf shm > a.db-shm
            """)
        let outcome = try Self.restore(folder, strategy, identity: "file")
        let expected = """
            a-2.db theirs
            a-2.db-shm shm
            a-2.db-wal log
            a.db mine
            b-2.db same
            b-2.db-wal other
            b.db same
            b.db-wal log
            c-2.db theirs
            c.db-journal log
            d-2.db same
            d-2.db-journal log
            d.db same
            e-2.db theirs
            e-2.db-wal log
            e.db-wal mine
            f.db same
            g.db new
            g.db-wal log
            g.db-wal-wal log
            """
        #expect(try folder.sh(Self.state) == expected)
        #expect(outcome.media == Self.media(3, 10, 1, 0))
        #expect(try Self.restore(folder, strategy, identity: "file").media == Self.media(0, 0, 14, 0))
        #expect(try folder.sh(Self.state) == expected)
    }

    @Test func `a number before the ending, in names of any length`() {
        let long = String(repeating: "ä", count: 125) + ".jpg"
        for (name, number, expected) in [
            ("a.jpg", 1, "a.jpg"), ("a.jpg", 2, "a-2.jpg"), ("a.tar.gz", 12, "a.tar-12.gz"), ("noext", 3, "noext-3"),
            (".hidden", 2, ".hidden-2"),
            ("a.", 2, "a-2."), (long, 2, String(repeating: "ä", count: 124) + "-2.jpg"),
        ] {
            #expect(MediaPlan.numbered(Array(name.utf8), number) == Array(expected.utf8), "\(name)")
        }
    }

    /// Where a file system cannot rename without replacing, a file gets a second name before it loses the first.
    @Test func `a file that has both names after a crash does not come twice`() throws {
        let folder = try TemporaryFolder()
        try folder.sh(
            """
            mkdir -p app/photos app/.backupfs-staging-op; cd app; printf staged > .backupfs-staging-op/b.jpg; printf c > .backupfs-staging-op/c.jpg
            ln .backupfs-staging-op/b.jpg photos/b.jpg; printf theirs > photos/c.jpg; ln .backupfs-staging-op/c.jpg photos/c-2.jpg
            """)
        let media = RestoreJournal.Media(
            kind: .addition, path: folder("app/photos"), stagingPath: folder("app/.backupfs-staging-op"),
            stagedInode: try FileSystem.status(folder("app/.backupfs-staging-op")).inode)
        try MediaExchange.publish(
            media, AppDatabase(at: folder("app/database.sqlite"), definition: try Diary.definition()))
        #expect(
            try folder.sh("cd app/photos; ls -A | tr '\\n' ' '; cat *; ls -A ../.backupfs-staging-op")
                == "b.jpg c-2.jpg c.jpg stagedctheirs")
    }

    @Test func `a crash in the middle of publishing is finished, and what came in between stays`() throws {
        let folder = try TemporaryFolder()
        try folder.sh(
            """
            mkdir -p app/photos/old app/.backupfs-staging-op/old app/.backupfs-staging-op/new/deep work
            cd app; printf mine > photos/a.jpg; printf staged > .backupfs-staging-op/b.jpg; printf c > .backupfs-staging-op/old/c.jpg
            printf d > .backupfs-staging-op/new/deep/d.jpg; touch -d 2021-01-01 .backupfs-staging-op/new
            # The app has made a file of that name meanwhile.
            printf theirs > photos/b.jpg
            """)
        let media = RestoreJournal.Media(
            kind: .addition, path: folder("app/photos"), stagingPath: folder("app/.backupfs-staging-op"),
            stagedInode: try FileSystem.status(folder("app/.backupfs-staging-op")).inode)
        let database = AppDatabase(at: folder("app/database.sqlite"), definition: try Diary.definition())
        try MediaExchange.publish(media, database)
        try MediaExchange.publish(media, database)
        try MediaExchange.undo(media)
        #expect(
            try folder.sh(
                "cd app; ls -A; cd photos; find . -type f -printf '%P ' -exec cat {} ';' -printf '\\n' | sort; stat -c %Y new")
                == "photos\na.jpg mine\nb-2.jpg staged\nb.jpg theirs\nnew/deep/d.jpg d\nold/c.jpg c\n1609459200")
        #expect(failure { try MediaExchange.publish(media, database) }?.code == .notFound)
    }
}

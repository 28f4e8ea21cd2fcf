import TestSupport
import Testing

/// `kill -9` of the mounting process at each named fault point: afterwards the state is the old or the new one, nothing in
/// between.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct CrashTests {
    static let backupPoints = [
        "backup.pack-written", "backup.pack-written:2", "backup.pack-published", "backup.pack-published:2",
        "backup.catalog-updated",
        "backup.catalog-updated:2", "backup.record-written", "backup.published",
    ]

    /// Before the database commits, the old state stays; from then on it is the new one.
    static let restorePointsBefore = [
        "backup.pack-written", "backup.published", "restore.safety-made", "restore.media-staged", "restore.journal-written",
        "restore.transaction-begun", "restore.rows-deleted", "restore.rows-inserted", "restore.before-commit",
    ]
    static let restorePointsAfter = [
        "restore.committed", "restore.media-published", "restore.journal-published", "restore.marker-removed",
        "restore.journal-removed",
    ]

    /// An operation leaves no temporary files. A dropped file is removed by the next mount.
    static func expectNoLeftovers(_ sandbox: Sandbox, keeping: String = "nothing", at place: SourceLocation = #_sourceLocation)
        throws
    {
        let script = """
            ls -A -I CACHEDIR.TAG $S/spool | grep -v "$KEEP" || true; ls $S | grep journal || true; find $S/app -name '.backupfs*'
            sqlite3 -readonly $S/app/database.sqlite "pragma integrity_check"
            sqlite3 -readonly $S/app/database.sqlite "select name from sqlite_master where name like 'backupfs%'"
            """
        let found = try sandbox.sh(script, ["KEEP": keeping])
        #expect(found == "ok", sourceLocation: place)
    }

    @Test(arguments: Rounds.part(of: backupPoints, oneIn: 4))
    func `SAF-10: killed while it backs up`(point: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample; backupfs backup --store $S --label first")
            try sandbox.sh("sqlite3 $S/app/database.sqlite \"update expenses set notes = 'changed ' || id\"")
            try sandbox.mount(["BACKUPFS_FAULT": point])
            let sums = try sandbox.sh("cat $M/snapshots/first/SHA256SUMS")
            let state = try sandbox.state()
            let result = try sandbox.run("mkdir $M/snapshots/second")
            let wasReached = result.exitCode != 0
            // The second pass of a point may not occur in a backup of this size.
            #expect(wasReached || point.hasSuffix(":2"), "\(point) was not reached")
            if wasReached { #expect(sandbox.waitForProcesses()) } else { try sandbox.unmount() }
            try sandbox.mount()
            #expect(sandbox.mounts.count == 1)
            let names = try sandbox.names("snapshots")
            #expect(names == ["first", "latest"] || names == ["first", "latest", "second"], "\(names)")
            if point == "backup.published" { #expect(names.count == 3) }
            if point == "backup.pack-written" { #expect(names.count == 2) }
            try sandbox.sh(
                "for s in $M/snapshots/*/; do cd $s; sha256sum --quiet --strict -c SHA256SUMS; unzip -tqq archive.zip; done")
            #expect(try sandbox.sh("cat $M/snapshots/first/SHA256SUMS") == sums)
            #expect(try sandbox.state() == state)
            try Self.expectNoLeftovers(sandbox)
            #expect(try sandbox.sh("jq -r .state $M/status.json") == "idle")
            try sandbox.sh("mkdir $M/snapshots/third; cd $M/snapshots/third; sha256sum --quiet --strict -c SHA256SUMS")
            try sandbox.unmount()
            // The crashed backup leaves no drafts either.
            #expect(
                try sandbox.sh("find $S/repository -name '*.tmp*' -o -name '*.new*' -o -name '*.draft*' -o -name '*.partial*'")
                    == ""
            )
        }
    }

    /// - Parameter isNew: whether the restore must have happened.
    private func check(_ point: String, isNew: Bool, recover: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            // An undo writes settings that had their defaults, so they are stored from the beginning.
            try sandbox.sh(
                """
                backupfs init --store $S --sample
                sqlite3 $S/app/database.sqlite "insert into user_settings values ('preferred_currency', 'USD'), ('preferred_language', 'en')"
                backupfs backup --store $S --label first
                """)
            try sandbox.write(SampleDocument.variant("new", expenses: 300), to: "new.json")
            // The expected new state, from a store that restores without interruption.
            try sandbox.sh("backupfs init --store $R/other; backupfs restore --store $R/other $R/new.json --yes")
            let new = try sandbox.databaseDump(store: "$R/other")
            let old = try sandbox.databaseDump()
            try sandbox.mount(["BACKUPFS_FAULT": point])
            let result = try sandbox.run("cp $R/new.json $M/restore/")
            #expect(result.exitCode != 0, "\(point) was not reached")
            #expect(sandbox.waitForProcesses())
            try recover(sandbox)
            #expect(try sandbox.databaseDump() == (isNew ? new : old))
            #expect(try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == (isNew ? "new" : "Tesla Model 3") || !isNew)
            try Self.expectNoLeftovers(sandbox)
            try sandbox.sh("for s in $M/snapshots/*/; do cd $s; sha256sum --quiet --strict -c SHA256SUMS; done")
            let journalled = ![
                "backup.pack-written", "backup.published", "restore.safety-made", "restore.media-staged",
                "restore.journal-removed",
            ].contains(point)
            if journalled {
                #expect(
                    try sandbox.report("[.result, .success, .file] | @json")
                        == (isNew ? #"["completed",true,"new.json"]"# : #"["undone",false,"new.json"]"#))
            }
            if isNew {
                #expect(try sandbox.names("safety").count == 1)
                try sandbox.sh("cp $M/safety/* $M/restore/")
                #expect(try sandbox.databaseDump() == old)
            } else {
                try sandbox.sh("cp $R/new.json $M/restore/")
                #expect(try sandbox.databaseDump() == new)
            }
            try Self.expectNoLeftovers(sandbox, keeping: "^drop-")
            try sandbox.unmount()
        }
    }

    @Test(arguments: Rounds.part(of: restorePointsBefore, oneIn: 4))
    func `killed before the restore is committed`(point: String) throws {
        try check(point, isNew: false) { sandbox in try sandbox.mount() }
    }

    @Test(arguments: Rounds.part(of: restorePointsAfter, oneIn: 4))
    func `killed after the restore is committed`(point: String) throws {
        try check(point, isNew: true) { sandbox in try sandbox.mount() }
    }

    @Test func `any command that opens the store recovers it as well`() throws {
        try check("restore.committed", isNew: true) { sandbox in
            try sandbox.sh("backupfs status --store $S")
            try Self.expectNoLeftovers(sandbox, keeping: "^drop-")
            try sandbox.mount()
        }
        try check("restore.before-commit", isNew: false) { sandbox in
            try sandbox.sh("backupfs snapshots --store $S")
            try Self.expectNoLeftovers(sandbox, keeping: "^drop-")
            try sandbox.mount()
        }
    }

    @Test(arguments: Rounds.part(of: ["restore.committed", "restore.journal-published", "restore.marker-removed"], oneIn: 3))
    func `killed again while it recovers`(point: String) throws {
        try check(point, isNew: true) { sandbox in
            for again in restorePoints {
                _ = try sandbox.run("backupfs status --store $S", ["BACKUPFS_FAULT": again])
            }
            try sandbox.mount()
        }
    }

    private var restorePoints: [String] { Self.restorePointsAfter + ["restore.recovered", "restore.reported"] }

    @Test(arguments: Rounds.part(of: restorePointsBefore + restorePointsAfter, oneIn: 3))
    func `a failing disk at the same points`(point: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample")
            try sandbox.write(SampleDocument.variant("new", expenses: 3), to: "new.json")
            let old = try sandbox.databaseDump()
            try sandbox.mount(["BACKUPFS_FAULT": "\(point)=fail"])
            let result = try sandbox.run("cp $R/new.json $M/restore/")
            let isNew = try sandbox.sh("sqlite3 -readonly $S/app/database.sqlite 'select count(*) from expenses'") == "3"
            if result.exitCode == 0 { #expect(isNew, "\(point): cp succeeded, but the data is old") }
            if !isNew {
                #expect(try sandbox.databaseDump() == old)
                #expect(result.errors.contains("Input/output error"), "\(result.errors)")
                #expect(try sandbox.report("[.result, .success] | @json") == #"["failed",false]"#)
            }
            #expect(Self.restorePointsBefore.contains(point) == !isNew, "\(point)")
            // The same mount continues to work.
            try sandbox.sh(
                """
                cp $R/new.json $M/restore/again.json; mkdir $M/snapshots/one; cd $M/snapshots/one
                sha256sum --quiet -c SHA256SUMS
                """
            )
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "3")
            try sandbox.remount()
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "3")
            try Self.expectNoLeftovers(sandbox)
            try sandbox.unmount()
        }
    }

    @Test(arguments: ["restore.journal-written", "restore.before-commit", "restore.committed", "restore.media-published"])
    func `a command is killed while it restores, beside a running mount`(point: String) throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; cd $P; rm -rf ./*; printf new > new.jpg; ls $M/live/media >/dev/null
                sqlite3 $S/app/database.sqlite "delete from photos; insert into photos values (9, 'new.jpg', 'new')"
                """)
            let result = try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": point])
            #expect(result.exitCode == 137, "\(point) was not reached")
            // Neither the mount nor a backup mixes the records of one state with the photos of the other.
            let isNew = Self.restorePointsAfter.contains(point)
            for folder in ["snapshots/two", "live"] {
                if folder != "live" { try sandbox.sh("mkdir $M/\(folder)") }
                #expect(try sandbox.sh("jq -c '[.photos[].id]' $M/\(folder)/export.json") == (isNew ? "[1,2,3]" : "[9]"))
                #expect(try sandbox.sh("ls $M/\(folder)/media") == (isNew ? "2024\none.jpg" : "new.jpg"))
            }
            #expect(try sandbox.report(".result") == (isNew ? "completed" : "undone"))
            try Self.expectNoLeftovers(sandbox)
        }
    }

    @Test(arguments: ["backup.pack-written", "backup.pack-published", "backup.record-written", "backup.published"])
    func `a command is killed while it backs up, beside a running mount`(point: String) throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/first")
            let result = try sandbox.run("backupfs backup --store $S --label second", ["BACKUPFS_FAULT": point])
            #expect(result.exitCode == 137, "\(point) was not reached")
            #expect(try sandbox.sh("jq -r .state $M/status.json") == "idle")
            #expect(
                try sandbox.names("snapshots")
                    == (point == "backup.published" ? ["first", "latest", "second"] : ["first", "latest"]))
            try sandbox.sh("mkdir $M/snapshots/third")
            try sandbox.sh("for s in $M/snapshots/*/; do cd $s; sha256sum --quiet --strict -c SHA256SUMS; done")
            try sandbox.remount()
            try Self.expectNoLeftovers(sandbox)
        }
    }
}

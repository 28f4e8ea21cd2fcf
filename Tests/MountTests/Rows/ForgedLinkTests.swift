import TestSupport
import Testing

/// A record with valid checksums whose folder has a link that our program never writes (format.md, finding 5). An independent
/// program forges it.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ForgedLinkTests {
    private static let forger = "python3 -B \(Machine.projectPath)/Tests/BackupRepositoryTests/Fixtures/forge_repository.py"

    @Test(arguments: ["link-without-target", "link-with-nul"])
    func `F-5: a link that leads to no path is found, and the rest of the backup comes back`(forgery: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                sqlite3 $R/app.db 'create table t(id integer primary key, x text); insert into t values (1, "a")'
                mkdir -p $R/media/folder; echo photo > $R/media/folder/p.jpg
                backupfs init --store $S --database $R/app.db --media $R/media --repository $R/r
                backupfs backup --label a --store $S; \(Self.forger) \(forgery) $R/r a
                """)
            let words = "zzzz: the link leads to no path"
            try sandbox.fails("backupfs check --read-data --store $S", saying: "a/\(words)", exitCode: 1)
            try sandbox.fails("backupfs verify a --store $S", saying: words, exitCode: 1)
            let left = try sandbox.fails("backupfs restore a --target $R/out --store $S", saying: words, exitCode: 1)
            #expect(left.text.contains("The others are whole"))
            #expect(
                try sandbox.sh("cd $R/out; ls -A zzzz 2>/dev/null || true; diff -r media $R/media; stat -c %s export.json") != "0"
            )
            // A restore in place changes nothing.
            let before = try sandbox.sh("sqlite3 $R/app.db .dump; find $R/media | sort")
            #expect(try sandbox.run("backupfs restore a --yes --store $S").exitCode == 1)
            #expect(try sandbox.sh("sqlite3 $R/app.db .dump; find $R/media | sort") == before)
            // A repair removes nothing, and a prune nothing that is needed.
            let files = "cd $R/r; find packs snapshots labels -type f | sort | xargs sha256sum"
            let stored = try sandbox.sh(files)
            try sandbox.fails("backupfs check --repair --yes --store $S", saying: "a/\(words)", exitCode: 1)
            #expect(try sandbox.sh(files) == stored)
            try sandbox.sh("backupfs prune --store $S")

            // In the mount it is an error: the kernel would show the text before the NUL.
            try sandbox.mount()
            #expect(try sandbox.sh("ls $M/snapshots/a | grep -c zzzz") == "1")
            try sandbox.fails("readlink -v $M/snapshots/a/zzzz", saying: "Input/output error", exitCode: 1)
            try sandbox.sh("diff -r $M/snapshots/a/media $R/media; cmp $M/snapshots/a/export.json $R/out/export.json")
            try sandbox.unmount()
        }
    }
}

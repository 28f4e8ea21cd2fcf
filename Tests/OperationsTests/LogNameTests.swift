import Restore
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Media with the names of SQLite's logs: `X-wal`, `X-shm` and `X-journal` belong to a file `X`; beside a folder or a link they
/// are ordinary files.
@Suite(.rotating(oneIn: 3)) struct LogNameTests {
    static let tree =
        "find . -mindepth 1 -printf '%P %y %l\\n' | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum"

    /// Restores `one` while another program is about to write to the records: the restore is refused.
    static let refusedRestore = """
        mkfifo $R/lock; sqlite3 $S/app/database.sqlite < $R/lock >/dev/null & holder=$!; exec 3> $R/lock
        printf "begin immediate;\\n.shell touch $R/locked\\n" >&3
        wait_until [ -e $R/locked ]
        backupfs restore one --yes --store $S >/dev/null 2>$R/told; echo "exit $?"
        exec 3>&-; wait $holder; rm $R/lock $R/locked
        """

    @Test func `names of logs beside folders and links are backed up`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos; mkdir Dune d.db y; printf epub > Dune/dune.epub; printf notes > Dune-journal; ln -s one.jpg link; printf l > link-wal
            printf x > d.db/x; printf a > d.db-wal; printf b > d.db-shm; printf j > d.db-wal-journal; mkdir y-wal; printf w > y-journal; printf z > z-wal
            printf t > 2024/t; mkdir 2024/t-wal; printf s > 2024/t-shm; printf k > 2024/t-journal
            backupfs backup --label one --store $S; backupfs restore one --target $R/out --store $S >/dev/null
            """)
        let tree = try sandbox.sh("cd $S/app/photos; \(Self.tree)")
        #expect(try sandbox.sh("cd $R/out/media; \(Self.tree)") == tree)
        // So a restore over them keeps nothing aside: the safety backup has everything.
        #expect(
            try sandbox.sh("backupfs restore one --yes --store $S >/dev/null; jq -r .keptMedia $S/restore/last.json") == "null")
        #expect(try sandbox.sh("cd $S/app/photos; \(Self.tree)") == tree)
    }

    @Test(arguments: [
        "rm x.db", "rm x.db; mkdir x.db; printf in > x.db/in", "rm x.db; ln -s one.jpg x.db", "rm x.db-wal; mkdir x.db-wal",
    ])
    func `a log whose database goes after the listing is backed up`(change: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let result = try sandbox.run(
            """
            cd $S/app/photos; printf database > x.db; printf log > x.db-wal; printf index > x.db-shm
            touch $R/pause; BACKUPFS_FAULT=backup.media-listed=pause:$R/pause backupfs backup --label one --store $S >/dev/null & backup=$!
            wait_paused $R/pause $backup
            \(change); rm $R/pause; wait $backup; echo "exit $?"; backupfs restore one --target $R/out --store $S >/dev/null
            diff -r --no-dereference . $R/out/media && echo same
            """)
        #expect(result.output == "exit 0\nsame\n", "\(result)")
    }

    /// An SQLite database's companion files come and go with each commit; other files do not.
    @Test func `only a database's log is no sign that something was moved`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            mkdir $R/media; cd $R/media; sqlite3 x.db 'create table t(x)'; : > empty; printf text > notes; printf SQLite > short
            mkfifo pipe; ln -s x.db link; mkdir folder; sqlite3 $R/other.db 'create table t(x)'
            """)
        let amongMedia = try DatabaseAmongMedia(database: sandbox("other.db"), media: sandbox("media"))
        func digest() throws -> FolderDigest { try FolderDigest.list(DirectoryHandle(path: sandbox("media")), amongMedia).digest }
        let before = try digest()
        for (name, counts) in [
            ("x.db", false), ("empty", false), ("notes", true), ("short", true), ("pipe", true), ("link", true), ("folder", true),
            ("missing", true),
        ] {
            for suffix in ["journal", "wal", "shm"] {
                try sandbox.sh("printf log > $R/media/\(name)-\(suffix)")
                #expect(try (digest() != before) == counts, "\(name)-\(suffix)")
                try sandbox.sh("rm $R/media/\(name)-\(suffix)")
                #expect(try digest() == before)
            }
        }
    }

    @Test func `a refused restore leaves folders with the names of logs where they are`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let result = try sandbox.run(
            """
            cd $S/app/photos; mkdir trip trip-journal 2024-wal; printf a > trip/a.jpg; printf b > trip-journal/b.jpg; printf c > 2024-wal/c.jpg; printf d > trip-wal
            backupfs backup --label one --store $S; (\(Self.tree)) > $R/before; \(Self.refusedRestore)
            (\(Self.tree)) | diff $R/before -; ls $S/app; jq -r .keptMedia $S/restore/last.json
            """)
        #expect(result.output.hasSuffix("exit 13\ndatabase.sqlite\nphotos\nnull\n"), "\(result)")
    }

    @Test(arguments: ["restore.media-staged", "restore.folder-tried", "restore.probes-moved"])
    func `a cancelled restore leaves them, too, and so does one that is killed`(point: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let result = try sandbox.run(
            """
            cd $S/app/photos; mkdir trip trip-journal; printf a > trip/a.jpg; printf b > trip-journal/b.jpg; printf d > trip-wal
            backupfs backup --label one --store $S; (\(Self.tree)) > $R/before
            touch $R/pause; BACKUPFS_FAULT=\(point)=pause:$R/pause backupfs restore one --yes --store $S >/dev/null 2>$R/told & restore=$!
            wait_paused $R/pause $restore
            kill -TERM $restore; rm $R/pause; wait $restore; echo "exit $?"; (\(Self.tree)) | diff $R/before -; ls -I "*.sqlite-*" $S/app
            BACKUPFS_FAULT=\(point) backupfs restore one --yes --store $S >/dev/null 2>&1; backupfs status --store $S >/dev/null
            (\(Self.tree)) | diff $R/before -; ls -I "*.sqlite-*" $S/app
            """)
        #expect(result.output.hasSuffix("exit 130\ndatabase.sqlite\nphotos\ndatabase.sqlite\nphotos\n"), "\(result)")
    }

    @Test func `an undo that has to keep something says so in the error`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let result = try sandbox.run(
            """
            cd $S/app/photos; backupfs backup --label one --store $S; mkfifo $R/lock
            touch $R/pause; BACKUPFS_FAULT=restore.folder-tried=pause:$R/pause backupfs restore one --yes --store $S >/dev/null 2>$R/told & restore=$!
            wait_paused $R/pause $restore
            printf mine > 2024; kill -TERM $restore; rm $R/pause; wait $restore; echo "exit $?"
            cat 2024/two.jpg; cat $(jq -r .keptMedia $S/restore/last.json)/2024; echo; grep -c "kept in $S/app/photos-kept-" $R/told
            grep -c 'in the way when the old ones came back' $S/restore/last.txt
            """)
        #expect(result.output.hasSuffix("exit 130\ntwomine\n1\n2\n"), "\(result)")
    }

    /// The content of a random folder: each name as some kind of entry, or not at all.
    private static func filling(_ generator: inout SeededGenerator, share: Int) -> String {
        var lines = ["mkdir -p sub"]
        let suffixes = ["", "-wal", "-shm", "-journal", "-wal-journal", "-journal-wal"]
        for name in ["", "sub/"].flatMap({ folder in ["a", "b.db", "c"].flatMap { base in suffixes.map { folder + base + $0 } } })
        {
            guard Int.random(in: 0..<100, using: &generator) < share else { continue }
            let text = "\(Int.random(in: 0..<1_000_000, using: &generator))"
            lines.append("rm -rf \(name)")
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: break
            case 1: lines.append("mkdir \(name); printf \(text) > \(name)/inner; printf \(text) > \(name)/inner-wal")
            case 2: lines.append("ln -s \(text) \(name)")
            default: lines.append("printf \(text) > \(name)")
            }
        }
        return lines.joined(separator: "\n")
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func `property: whatever has these names, a backup holds all and a restore loses nothing`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos; \(Self.filling(&generator, share: 80))
            backupfs backup --label one --store $S >/dev/null; backupfs restore one --target $R/out --store $S >/dev/null
            """)
        let first = try sandbox.sh("cd $R/out/media; \(Self.tree)")
        #expect(try sandbox.sh("cd $S/app/photos; \(Self.tree)") == first)
        // A refused restore changes nothing.
        let refused = try sandbox.run(
            """
            cd $S/app/photos; \(Self.filling(&generator, share: 50))
            (\(Self.tree); find . -printf '%P %i\\n' | sort) > $R/before; \(Self.refusedRestore)
            (\(Self.tree); find . -printf '%P %i\\n' | sort) | diff $R/before -; ls -I "*.sqlite-*" $S/app
            """)
        #expect(refused.output == "exit 13\ndatabase.sqlite\nphotos\n", "\(refused)")
        // What comes after the safety backup is in no backup.
        let restored = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.safety-made=pause:$R/pause backupfs restore one --yes --store $S >/dev/null & restore=$!
            wait_paused $R/pause $restore
            cd $S/app/photos; \(Self.filling(&generator, share: 20))
            cp -a . $R/state; rm $R/pause; wait $restore; echo "exit $?"
            """)
        #expect(restored.output == "exit 0\n", "\(restored)")
        #expect(try sandbox.sh("cd $S/app/photos; \(Self.tree)") == first)
        let safety = try #require(try Store.open(sandbox.storePath).ownSnapshots(kind: .safety).last?.name)
        let lost = try sandbox.sh(
            """
            backupfs restore '\(safety)' --target $R/safe --store $S >/dev/null; kept=$(jq -r .keptMedia $S/restore/last.json); cd $R/state
            find . \\( -type f -o -type l \\) | while read -r file; do
                for place in $R/safe/media $kept; do
                    if [ -L $file ]; then
                        if [ -L $place/$file ] && [ $(readlink $file) = $(readlink $place/$file) ]; then continue 2; fi
                    elif [ ! -L $place/$file ] && cmp -s $file $place/$file; then continue 2; fi
                done
                echo "lost $file"
            done
            """)
        #expect(lost == "")
    }
}

import TestSupport
import Testing

/// `export: off` and `export: live` in the mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct RenderedExportTests {
    private static let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"
    private static let rows = "sqlite3 -readonly $S/app/database.sqlite '.dump expenses' '.dump cars'"

    /// Everything about the files of the current folder: the size, also as listed, is the number of their bytes, the attributes
    /// are what the programs of GNU coreutils find, and the archives are whole.
    private static let examine = """
        find . -type f | sort | while read -r file; do
          [ "$(stat -c %s "$file")" = "$(wc -c < "$file")" ] || echo "size of $file"
          for sum in md5 sha1 sha256; do
            [ "$(getfattr --only-values -n user.checksum.$sum "$file")" = "$(${sum}sum < "$file" | cut -d' ' -f1)" ] || echo "$sum of $file"
          done
          crc=$(python3 -c 'import sys, zlib; print("%08x" % zlib.crc32(sys.stdin.buffer.read()))' < "$file")
          [ "$(getfattr --only-values -n user.checksum.crc32 "$file")" = "$crc" ] || echo "crc32 of $file"
        done
        ls -l | awk 'NR > 1 && $1 ~ /^-/ { print $5, $NF }' | while read -r size name; do [ "$size" = "$(wc -c < "$name")" ] || echo "listed size of $name"; done
        unzip -tqq archive.zip; tar -tf archive.tar > /dev/null
        sha256sum --quiet -c SHA256SUMS; md5sum --quiet -c MD5SUMS
        """

    private static func withMount(_ setting: String, _ setUp: String = "--sample", _ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S \(setUp) >/dev/null; backupfs config set export \(setting) --store $S")
            try sandbox.mount()
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    @Test func `without an export the folder and its archives have the database`() throws {
        try Self.withMount("off") { sandbox in
            let old = try sandbox.sh(Self.dump)
            try sandbox.sh("mkdir $M/snapshots/one")
            #expect(
                try sandbox.sh("ls $M/snapshots/one | paste -sd' '")
                    == "MD5SUMS SHA256SUMS archive.tar archive.zip database.sqlite manifest.json")
            #expect(try sandbox.sh("cd $M/snapshots/one; \(Self.examine)") == "")
            #expect(try sandbox.names("exports") == [])
            #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.export $M/snapshots/one") == "off")
            try sandbox.fails("cat $M/snapshots/one/export.json", saying: "No such file")
            for name in ["archive.zip", "archive.tar", "database.sqlite"] {
                try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 5'")
                let before = try sandbox.sh(Self.dump)
                try sandbox.sh("cp $M/snapshots/one/\(name) $M/restore/")
                #expect(try sandbox.sh(Self.dump) == old, "\(name)")
                // The undo is a file, too.
                try sandbox.sh("cp $M/safety/\(try sandbox.report(".safetyBackup")) $M/restore/undo.json")
                #expect(try sandbox.sh(Self.dump) == before, "\(name)")
            }
            // On another machine nothing is known of the backup.
            try sandbox.sh(
                "backupfs init --store $R/other >/dev/null; backupfs restore $M/snapshots/one/archive.zip --yes --store $R/other")
            #expect(
                try sandbox.sh("sqlite3 $R/other/app/database.sqlite 'select count(*), sum(odometer) from expenses'")
                    == sandbox.sh("sqlite3 $M/snapshots/one/database.sqlite 'select count(*), sum(odometer) from expenses'"))
        }
    }

    @Test(arguments: ["ev-charging-tracker", "keeptrack", "smilepile", "photo-library"])
    func `a rendered export has the bytes that would have been stored`(app: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $S --app \(app) --sample >/dev/null; backupfs config set export live --store $S
                cp -a $S $R/stored; backupfs config set export always --store $R/stored
                for store in $S $R/stored; do backupfs backup --label one --store $store; done
                mkdir $R/other; backupfs mount --store $R/stored $R/other
                """, Sandbox.fixedClock)
            try sandbox.mount()
            #expect(try sandbox.sh("cd $M/snapshots/one; \(Self.examine)") == "")
            try sandbox.sh("cmp $M/snapshots/one/export.json $R/other/snapshots/one/export.json")
            #expect(
                try sandbox.sh("cd $M/snapshots/one; find data -type f | sort | xargs -r sha256sum")
                    == sandbox.sh("cd $R/other/snapshots/one; find data -type f | sort | xargs -r sha256sum"))
            // The same file in exports/, and the same members in the app's own archive.
            #expect(try sandbox.names("exports") == sandbox.sh("ls $R/other/exports").split(separator: "\n").map(String.init))
            let members = "zipinfo -1 archive.zip | grep -v -e schema.json -e changes.json -e thumb | sort"
            #expect(
                try sandbox.sh("cd $M/snapshots/one; \(members)") == sandbox.sh("cd $R/other/snapshots/one; \(members)"))
            #expect(try sandbox.sh("cd $M/exports; for f in *; do [ $(stat -c %s $f) = $(wc -c < $f) ] || echo $f; done") == "")
            try sandbox.sh("wait_until fusermount3 -u $R/other")
            try sandbox.unmount()
        }
    }

    @Test(arguments: ["archive.zip", "archive.tar", "export.json", "database.sqlite", "exports"])
    func `S88: what the mount shows is restored, and undone`(name: String) throws {
        try Self.withMount("live") { sandbox in
            let old = try sandbox.sh(Self.rows)
            try sandbox.sh("mkdir $M/snapshots/one; sqlite3 $S/app/database.sqlite 'delete from expenses where id > 5'")
            let before = try sandbox.sh(Self.rows)
            let path = name == "exports" ? "$M/exports/*" : "$M/snapshots/one/\(name)"
            // From the mount, and as a copy that came from elsewhere.
            for command in ["cp \(path) $M/restore/", "cp \(path) $R/copy; cat $R/copy > $M/restore/copy"] {
                try sandbox.sh(command)
                #expect(try sandbox.sh(Self.rows) == old, "\(command)")
                try sandbox.sh("backupfs undo --yes --store $S")
                #expect(try sandbox.sh(Self.rows) == before, "\(command)")
            }
        }
    }

    @Test func `S89: names alone render nothing, sizes do so once for ever`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "backupfs init --store $S --sample >/dev/null; backupfs config set export live --store $S; backupfs backup --label one --store $S"
            )
            try sandbox.mount(["BACKUPFS_FAULT": "export.rendering=fail"])
            #expect(
                try sandbox.sh("ls $M/snapshots/one | paste -sd' '")
                    == "MD5SUMS SHA256SUMS archive.tar archive.zip data database.sqlite export.json index.html manifest.json")
            try sandbox.sh(
                "ls $M/exports; cat $M/snapshots/one/manifest.json >/dev/null; sqlite3 $M/snapshots/one/database.sqlite 'select count(*) from cars'"
            )
            try sandbox.fails("stat $M/snapshots/one/export.json", saying: "Input/output error")
            #expect(try sandbox.sh("ls $S/rendered-exports 2>/dev/null || true") == "")
            try sandbox.unmount()
            try sandbox.mount()
            let sizes = try sandbox.sh("cd $M/snapshots/one; stat -c '%n %s' * data/*")
            #expect(try sandbox.sh("ls $S/rendered-exports | wc -l") == "1")
            try sandbox.unmount()
            // Without a rendering, all sizes are there; the text is not.
            try sandbox.mount(["BACKUPFS_FAULT": "export.rendering=fail"])
            #expect(try sandbox.sh("cd $M/snapshots/one; stat -c '%n %s' * data/*") == sizes)
            // The kernel may try it once more, and then it succeeds.
            _ = try sandbox.run("cat $M/snapshots/one/export.json")
            #expect(try sandbox.sh("jq -r 'select(.phase == \"rendering\") | .snapshot' $S/backupfs.log | sort -u") == "one")
            try sandbox.unmount()
            // The cache is removed while the store is mounted.
            try sandbox.mount()
            try sandbox.sh("cd $M/snapshots/one; stat -c %s export.json; rm -r $S/rendered-exports")
            #expect(try sandbox.sh("cd $M/snapshots/one; \(Self.examine)") == "")
            try sandbox.sh("mkdir $M/snapshots/two; cd $M/snapshots/two; \(Self.examine)")
            #expect(try sandbox.sh("ls $S/rendered-exports | wc -l") == "1")
            try sandbox.unmount()
        }
    }

    @Test func `a damaged record of sizes counts as none`() throws {
        try Self.withMount("live") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; stat -c %s $M/snapshots/one/export.json; printf x >> $S/rendered-exports/*")
            try sandbox.unmount()
            try sandbox.mount()
            #expect(try sandbox.sh("cd $M/snapshots/one; \(Self.examine)") == "")
        }
    }

    @Test func `S90: other requests of the mount go on while an export is rendered`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "backupfs init --store $S --sample >/dev/null; backupfs backup --label stored --store $S; backupfs config set export live --store $S; backupfs backup --label one --store $S; touch $R/pause"
            )
            try sandbox.mount(["BACKUPFS_FAULT": "export.rendering=pause:\(sandbox.path)/pause"])
            let readers = try (0..<3).map { number in try sandbox.start("cat $M/snapshots/one/export.json > $R/\(number).json") }
            try sandbox.sh("wait_until [ -e $R/pause.reached ]")
            try sandbox.sh(
                """
                ls -l $M/snapshots $M/snapshots/stored; sha256sum --quiet -c $M/snapshots/stored/SHA256SUMS 2>/dev/null || (cd $M/snapshots/stored; sha256sum --quiet -c SHA256SUMS)
                sqlite3 $M/snapshots/stored/database.sqlite 'select count(*) from cars'; cat $M/live/export.json >/dev/null; cat $M/status.json >/dev/null
                mkdir $M/snapshots/more; rm $R/pause
                """)
            for reader in readers { #expect(try reader.wait().exitCode == 0) }
            try sandbox.sh("for n in 0 1 2; do cmp $R/$n.json $M/snapshots/one/export.json; done")
            try sandbox.unmount()
        }
    }

    @Test func `a mount shows backups of every setting beside one another`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            var dumps: [(String, String)] = []
            for (number, setting) in ["always", "off", "live", "always"].enumerated() {
                try sandbox.sh(
                    "backupfs config set export \(setting) --store $S; kill -HUP \(try #require(sandbox.daemons.first)); sqlite3 $S/app/database.sqlite 'delete from expenses where id = \(number + 1)'"
                )
                try sandbox.sh(
                    "wait_until sh -c 'mkdir $M/snapshots/\(number)-try && getfattr -d $M/snapshots/\(number)-try >/dev/null'")
                dumps.append(("\(number)-try", try sandbox.sh(Self.dump)))
            }
            for (name, dump) in dumps.reversed() {
                #expect(try sandbox.sh("cd $M/snapshots/\(name); \(Self.examine)") == "")
                #expect(try sandbox.sh("sqlite3 $M/snapshots/\(name)/database.sqlite .dump") == dump)
                try sandbox.sh("cp $M/snapshots/\(name)/archive.zip $M/restore/")
                #expect(try sandbox.sh(Self.dump) == dump, "\(name)")
            }
        }
    }
}

import TestSupport
import Testing

/// An unreadable file affects only itself, and nothing beside it.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct DamagedListingTests {
    /// Damages every chunk of the packs that `$R/packs` does not name.
    private static let damage = """
        for pack in $(find $S/repository/packs -name '*.pack'); do
        grep -qxF "$pack" $R/packs || python3 -c 'import sys; f = open(sys.argv[1], "r+b"); d = bytearray(f.read())
        for p in range(16, len(d), 8): d[p] ^= 1
        f.seek(0); f.write(d)' "$pack"; done
        """
    private static let top = [
        "README.txt", "control", "copy", "exports", "history", "index.html", "jobs", "live", "remotes", "reports", "restore",
        "safety",
        "snapshots", "status.json", "versions",
    ]

    @Test func `T-A1: a damaged backup hides only itself`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/good; find $S/repository/packs -name '*.pack' > $R/packs")
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 20'; mkdir $M/snapshots/bad")
            let exports = try sandbox.names("exports")
            #expect(exports.count == 2)
            try sandbox.unmount()
            try sandbox.sh(Self.damage)
            try sandbox.mount()
            // `ls` alone reads the names with their attributes; `-l` queries those that it did not get.
            #expect(try sandbox.names("") == Self.top)
            #expect(try sandbox.sh("stat -c %F $M/exports $M/snapshots $M/safety | sort -u") == "directory")
            #expect(try sandbox.names("exports") == exports)
            let whole = try sandbox.sh("cd $M/exports; for name in *; do stat -c %n $name 2>/dev/null || true; done")
            #expect(whole.split(separator: "\n").count == 1)
            try sandbox.sh("jq -e .cars $M/exports/\(whole) >/dev/null; jq -e .cars $M/snapshots/good/export.json >/dev/null")
            let damaged = try #require(exports.first { $0 != whole })
            try sandbox.fails("cat $M/exports/\(damaged)", saying: "Input/output error")
            try sandbox.fails("ls $M/snapshots/bad", saying: "Input/output error")
            // What other backups have is in versions/, and that one is missing is said there.
            #expect(try sandbox.names("versions/data").prefix(1) == ["DAMAGED BACKUPS.txt"])
            try sandbox.sh("grep -q '^bad: ' \"$M/versions/data/DAMAGED BACKUPS.txt\"")
            try sandbox.sh("cmp $M/versions/data/expenses.json/*.json $M/snapshots/good/data/expenses.json")
            try sandbox.fails("cat $M/versions/data/none.json/x", saying: "Input/output error")
            // The same for the history of records.
            #expect(try sandbox.names("history/expenses").prefix(2) == ["1", "10"])
            try sandbox.sh("grep -q '^bad: ' \"$M/history/expenses/DAMAGED BACKUPS.txt\"")
            #expect(try sandbox.names("history/expenses/1200").last == "changes.txt")
            try sandbox.sh("grep -q '^bad: ' \"$M/history/expenses/1200/DAMAGED BACKUPS.txt\"")
            try sandbox.fails("ls $M/history/expenses/5000", saying: "Input/output error")
            try sandbox.sh("jq -e .app $M/status.json >/dev/null; ls $M/live >/dev/null")
        }
    }

    /// Its digests are computed when they are asked for, from the data that is damaged here.
    @Test func `sha256sum names a damaged export, and checks the other files`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let files =
                "find . -type f ! -name '*SUMS' ! -name 'archive.*' ! -name export.json ! -name index.html | cut -c3- | sort"
            let expected = try sandbox.sh("cd $M/snapshots/one; \(files) | xargs sha256sum")
            try sandbox.unmount()
            // Folders are in packs of kind 1.
            try sandbox.sh(
                """
                for pack in $(find $S/repository/packs -name '*.pack'); do
                [ $(od -An -tu1 -j10 -N1 "$pack") -eq 0 ] || echo "$pack"; done > $R/packs
                \(Self.damage)
                """)
            try sandbox.mount()
            #expect(try sandbox.sh("sort -k2 $M/snapshots/one/SHA256SUMS | grep -v ' export.json'") == expected)
            let zeros = String(repeating: "0", count: 64)
            #expect(try sandbox.sh("grep ' export.json' $M/snapshots/one/SHA256SUMS") == "\(zeros)  export.json")
            try sandbox.fails("cat $M/snapshots/one/archive.zip", saying: "Input/output error")
            try sandbox.fails("cd $M/snapshots/one; sha256sum -c SHA256SUMS", saying: "export.json: FAILED open or read")
            try sandbox.fails("getfattr -n user.checksum.sha256 $M/snapshots/one/export.json", saying: "Input/output error")
            #expect(
                try sandbox.sh("backupfs ls one --store $S --json | jq -c '.[] | select(.path == \"export.json\").sha256'")
                    == "null")
            // Done twice, it undoes itself: a disk that is there again.
            try sandbox.sh(Self.damage)
            try sandbox.sh(
                "cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS; md5sum --quiet -c MD5SUMS; unzip -qt archive.zip")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.checksum.sha256 $M/snapshots/one/SHA256SUMS")
                    == sandbox.sh("sha256sum < $M/snapshots/one/SHA256SUMS | cut -c1-64"))
        }
    }

    @Test func `T-A1: when the disk of the repository is gone, the rest is there, and an error is no absence`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; mv $S/repository $R/away")
            #expect(try sandbox.names("") == Self.top)
            try sandbox.sh("cat $M/README.txt >/dev/null; jq -e .cars $M/live/export.json >/dev/null; ls $M/restore >/dev/null")
            try sandbox.fails("ls $M/snapshots", saying: "Input/output error")
            try sandbox.fails("ls $M/exports", saying: "Input/output error")
            try sandbox.sh("mv $R/away $S/repository; ls $M/snapshots/one >/dev/null; stat $M/exports >/dev/null")
        }
    }
}

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
    private static let top = ["README.txt", "exports", "live", "remotes", "restore", "safety", "snapshots", "status.json"]

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
            try sandbox.sh("jq -e .app $M/status.json >/dev/null; ls $M/live >/dev/null")
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

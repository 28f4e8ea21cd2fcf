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
    private static let top = ["README.txt", "exports", "live", "restore", "safety", "snapshots", "status.json"]

    @Test func `T-A1: a damaged backup hides only itself`() throws {
        try Room.withMount("--sample") { room in
            try room.sh("mkdir $M/snapshots/good; find $S/repository/packs -name '*.pack' > $R/packs")
            try room.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 20'; mkdir $M/snapshots/bad")
            let exports = try room.names("exports")
            #expect(exports.count == 2)
            try room.unmount()
            try room.sh(Self.damage)
            try room.mount()
            // `ls` alone reads the names with their attributes; `-l` queries those that it did not get.
            #expect(try room.names("") == Self.top)
            #expect(try room.sh("stat -c %F $M/exports $M/snapshots $M/safety | sort -u") == "directory")
            #expect(try room.names("exports") == exports)
            let whole = try room.sh("cd $M/exports; for name in *; do stat -c %n $name 2>/dev/null || true; done")
            #expect(whole.split(separator: "\n").count == 1)
            try room.sh("jq -e .cars $M/exports/\(whole) >/dev/null; jq -e .cars $M/snapshots/good/export.json >/dev/null")
            let damaged = try #require(exports.first { $0 != whole })
            try room.fails("cat $M/exports/\(damaged)", saying: "Input/output error")
            try room.fails("ls $M/snapshots/bad", saying: "Input/output error")
            try room.sh("jq -e .app $M/status.json >/dev/null; ls $M/live >/dev/null")
        }
    }

    @Test func `T-A1: when the disk of the repository is gone, the rest is there, and an error is no absence`() throws {
        try Room.withMount("--sample") { room in
            try room.sh("mkdir $M/snapshots/one; mv $S/repository $R/away")
            #expect(try room.names("") == Self.top)
            try room.sh("cat $M/README.txt >/dev/null; jq -e .cars $M/live/export.json >/dev/null; ls $M/restore >/dev/null")
            try room.fails("ls $M/snapshots", saying: "Input/output error")
            try room.fails("ls $M/exports", saying: "Input/output error")
            try room.sh("mv $R/away $S/repository; ls $M/snapshots/one >/dev/null; stat $M/exports >/dev/null")
        }
    }
}

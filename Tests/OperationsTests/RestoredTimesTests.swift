import TestSupport
import Testing

/// Modification times of media after a restore by name, and after its undo.
struct RestoredTimesTests {
    @Test func `a restore by name and its undo keep modification times to the nanosecond`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/m/album; sqlite3 $R/a.db 'create table t(a)'
            echo 1 > $R/m/new.jpg; touch -d '2024-06-01 12:00:00.123456789 UTC' $R/m/new.jpg
            echo 2 > $R/m/album/scan.jpg; touch -d '1951-06-01 12:00:00.5 UTC' $R/m/album/scan.jpg
            echo 3 > $R/m/future.jpg; touch -d '2200-06-01 12:00:00 UTC' $R/m/future.jpg
            ln -s new.jpg $R/m/link; touch -h -d '1969-12-31 23:59:59.000000001 UTC' $R/m/link
            touch -d '1970-01-01 00:00:00.999999999 UTC' $R/m/album
            backupfs init --store $S --database $R/a.db --media $R/m; backupfs backup --store $S --label A
            """)
        let list = "cd $R/m; TZ=UTC stat -c '%n %y' new.jpg album/scan.jpg future.jpg link album"
        let times = """
            new.jpg 2024-06-01 12:00:00.123456789 +0000
            album/scan.jpg 1951-06-01 12:00:00.500000000 +0000
            future.jpg 2200-06-01 12:00:00.000000000 +0000
            link 1969-12-31 23:59:59.000000001 +0000
            album 1970-01-01 00:00:00.999999999 +0000
            """
        #expect(try sandbox.sh(list) == times)
        try sandbox.sh("backupfs restore A --yes --store $S")
        #expect(try sandbox.sh(list) == times)
        // The current files come back as well, from the safety backup of the next restore.
        try sandbox.sh(
            """
            touch -d '2001-02-03 04:05:06.000000007 UTC' $R/m/new.jpg; backupfs restore A --yes --store $S
            backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S
            """)
        #expect(try sandbox.sh(list) == times.replacing("2024-06-01 12:00:00.123456789", with: "2001-02-03 04:05:06.000000007"))
    }

    /// GNU tar's own format has whole seconds only, in binary where octal digits do not suffice.
    @Test func `times before 1970 and after 2242 in an archive of GNU tar are restored`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir -p $R/m; sqlite3 $R/a.db 'create table t(a)'; echo 1 > $R/m/early; echo 2 > $R/m/scan; echo 3 > $R/m/late
            touch -d '1902-01-01 UTC' $R/m/early; touch -d '1969-12-31 23:59:59 UTC' $R/m/scan; touch -d '2300-01-01 UTC' $R/m/late
            backupfs init --store $S --database $R/a.db --media $R/m; backupfs backup --store $S --label A
            backupfs restore A --store $S --target $R/out; tar --format=gnu -C $R/out -cf $R/gnu.tar .
            rm $R/m/*; backupfs restore $R/gnu.tar --yes --store $S
            """)
        #expect(
            try sandbox.sh("cd $R/m; TZ=UTC stat -c '%n %y' early scan late") == """
                early 1902-01-01 00:00:00.000000000 +0000
                scan 1969-12-31 23:59:59.000000000 +0000
                late 2300-01-01 00:00:00.000000000 +0000
                """)
    }
}

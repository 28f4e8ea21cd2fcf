import TestSupport
import Testing

/// Metadata that is far longer than any device's name: a foreign file with it is rejected, but the app's own can be backed up and
/// restored.
@Suite(
    .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct LongMetadataTests {
    @Test func `T-A2: a file with a device's name of 17 MiB is refused, and what comes after works`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("jq '.metadata.deviceName = \"x\" * 17825792' $R/old.json > $R/long.json")
            try sandbox.fails("cp $R/long.json $M/restore/", saying: "Invalid argument")
            #expect(try sandbox.report(".message").contains("deviceName has 17825792 bytes, more than 1048576"))
            try sandbox.sh("mkdir $M/snapshots/after; cp $R/old.json $M/restore/; cp $M/safety/* $M/restore/")
            #expect(try sandbox.report(".result") == "success")
        }
    }

    @Test func `T-A2: what the app's own database has of it is backed up and comes back whole`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite "insert or replace into app_metadata (key, value) values
                ('device_name', 'tablet' || char(10) || replace(hex(zeroblob(9000000)), '00', 'xx'))"
                """)
            let digest = "jq -cS 'del(.metadata.createdAt)' $M/live/export.json | sha256sum"
            let before = try sandbox.sh(digest)
            try sandbox.sh("mkdir $M/snapshots/long; getfattr -d $M/snapshots/long >/dev/null")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.device $M/snapshots/long")
                    == "tablet\u{FFFD}" + String(repeating: "x", count: 73) + "…")
            #expect(try sandbox.sh("jq '.deviceName | length' $M/snapshots/long/manifest.json") == "18000007")
            let empty =
                "sqlite3 $S/app/database.sqlite 'delete from expenses; delete from app_metadata where key = \"device_name\"'"
            let ways = [
                ("archive.zip", "cp $M/snapshots/long/archive.zip $M/restore/"),
                ("export.json", "cp $M/snapshots/long/export.json $M/restore/"),
                ("a.zip", "cat $M/snapshots/long/archive.zip > $M/restore/a.zip"),
                ("a.tar", "cat $M/snapshots/long/archive.tar > $M/restore/a.tar"),
                ("copy.json", "cp $M/snapshots/long/export.json $R/copy.json; cp $R/copy.json $M/restore/"),
                ("copy.sqlite", "cp $M/snapshots/long/database.sqlite $R/copy.sqlite; cp $R/copy.sqlite $M/restore/"),
                ("long", "backupfs restore long --yes --store $S"),
            ]
            for (file, way) in Rounds.part(of: ways, oneIn: 3) {
                try sandbox.sh(empty)
                try sandbox.sh(way)
                #expect(try sandbox.sh(digest) == before, "\(way)")
                #expect(
                    try sandbox.report("[.result, .file, (.source.deviceName | length)] | @json")
                        == "[\"success\",\"\(file)\",81]", "\(way)")
            }
            // With it in the data, the next backup and its restore work too.
            try sandbox.sh("mkdir $M/snapshots/again; cp $M/safety/$(ls $M/safety | tail -1) $M/restore/")
        }
    }
}

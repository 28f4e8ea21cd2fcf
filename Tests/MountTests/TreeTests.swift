import TestSupport
import Testing

/// What the mounted tree shows: names, sizes, inode numbers, times and modes.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct TreeTests {
    static let snapshotNames = [
        "MD5SUMS", "SHA256SUMS", "archive.tar", "archive.zip", "changes.json", "data", "database.sqlite", "export.json",
        "index.html", "manifest.json", "schema.json",
    ]

    @Test func `the listings are exactly these`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            #expect(try sandbox.names("") == LifecycleTests.rootNames)
            #expect(try sandbox.names("snapshots") == [])
            #expect(try sandbox.names("exports") == [])
            #expect(try sandbox.names("safety") == [])
            #expect(try sandbox.names("restore") == ["README.txt", "merge", "preview", "replace", "skip"])
            #expect(
                try sandbox.names("live") == [
                    "SHA256SUMS", "archive.tar", "archive.zip", "data", "database.sqlite", "export.json", "schema.json",
                ])
            try sandbox.sh("mkdir $M/snapshots/before-upgrade; backupfs backup --store $S", Sandbox.fixedClock)
            #expect(try sandbox.names("snapshots") == ["2026-01-11_14-30-00", "before-upgrade", "latest"])
            #expect(try sandbox.names("snapshots/before-upgrade") == Self.snapshotNames)
            #expect(
                try sandbox.names("snapshots/before-upgrade/data")
                    == ["cars.json", "delayedNotifications.json", "expenses.json", "plannedMaintenance.json"])
            #expect(
                try sandbox.names("exports") == [
                    "ev_charging_tracker_backup_2026-01-11_14-30-00.json",
                    "ev_charging_tracker_backup_2026-01-11_14-30-00_2.json",
                ])
            #expect(try sandbox.sh("ls -a $M/snapshots | head -2") == ".\n..")
            #expect(try sandbox.sh("cd $M/snapshots/before-upgrade/data/../..; pwd -P") == "\(sandbox.mountpoint)/snapshots")
        }
    }

    @Test func `stat tells the size of every file before anybody reads it`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh(
                "mkdir $M/snapshots/one; cp $R/old.json $M/restore/; mkdir $M/snapshots/two; cp $R/old.json $M/restore/preview/")
            let wrong = try sandbox.sh(
                """
                count=0
                while IFS= read -r -d '' file; do
                    told=$(stat -c %s "$file"); found=$(cat "$file" | wc -c); count=$((count + 1))
                    [ "$told" = "$found" ] || echo "$file: $told, but $found"
                    [ "$found" -gt 0 ] || echo "$file: empty"
                    blocks=$(stat -c %b "$file")
                    [ "$blocks" = $(((told + 511) / 512)) ] || echo "$file: $blocks blocks of $told bytes"
                done < <(find $M -type f -print0)
                [ $count -gt 30 ] || echo "only $count files"
                """)
            #expect(wrong == "")
        }
    }

    @Test func `inode numbers are unique and outlive a remount`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("mkdir $M/snapshots/one $M/snapshots/two; cp $R/old.json $M/restore/; rm $M/restore/old.json")
            let script = "cd $M; find . -printf '%i %p\\n' | sort"
            let before = try sandbox.sh(script)
            #expect(try sandbox.sh("cd $M; find . -printf '%i\\n' | sort | uniq -d") == "")
            // readdir and stat agree.
            #expect(
                try sandbox.sh(
                    "cd $M; ls -1Ui snapshots | while read i n; do [ $i = $(stat -c %i snapshots/$n) ] || echo $n; done")
                    == "")
            #expect(
                try sandbox.sh("cd $M/snapshots/one; ls -1Ui | while read i n; do [ $i = $(stat -c %i $n) ] || echo $n; done")
                    == "")
            try sandbox.remount()
            #expect(try sandbox.sh(script) == before)
        }
    }

    @Test func `folders have one link, and times and modes mean something`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            #expect(try sandbox.sh("find $M -type d -printf '%n %m\\n' | sort -u") == "1 700")
            #expect(try sandbox.sh("find $M -type f -printf '%n %m\\n' | sort -u") == "1 600")
            #expect(try sandbox.sh("find $M -type l -printf '%f -> %l\\n'") == "latest -> one")
            #expect(try sandbox.sh("find $M/snapshots $M/exports -printf '%T+\\n' | sort -u") == "2026-01-11+14:30:00.0000000000")
            #expect(try sandbox.sh("find $M ! -user $(id -u) -o ! -group $(id -g)") == "")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.created-at $M/snapshots/one") == "2026-01-11T14:30:00Z")
        }
    }

    @Test func `df tells the space of the disk that holds the store`() throws {
        try Sandbox.withMount { sandbox in
            let size = try sandbox.sh("df --output=size -B1 $S | tail -1")
            #expect(try sandbox.sh("df --output=size -B1 $M | tail -1") == size)
            #expect(
                try sandbox.sh("df --output=source,fstype $M | tail -1").split(separator: " ") == ["backupfs", "fuse.backupfs"])
            #expect(try sandbox.sh("stat -f -c %l $M") == "255")
        }
    }

    @Test func `README and status say what they should`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let readme = try sandbox.sh("cat $M/README.txt")
            for text in [
                "mkdir snapshots/", "cp old.json restore/", "rmdir snapshots/", "sha256sum -c SHA256SUMS", "not encrypted",
            ] {
                #expect(readme.contains(text))
            }
            #expect(
                try sandbox.sh(
                    "jq -c '[.app, .state, .snapshotCount, .lastBackup, .records.cars, .records.expenses]' $M/status.json")
                    == #"["ev-charging-tracker","idle",0,null,3,1200]"#)
            try sandbox.sh("mkdir $M/snapshots/one")
            #expect(try sandbox.sh("jq -c '[.snapshotCount, .lastBackup.name]' $M/status.json") == #"[1,"one"]"#)
        }
    }

    @Test func `names that file managers and shells probe for are not there`() throws {
        try Sandbox.withMount { sandbox in
            for name in [".git", ".Trash", ".Trash-1000", ".hidden", ".DS_Store", "autorun.inf", "Thumbs.db"] {
                for folder in ["", "snapshots/", "exports/", "safety/", "live/"] {
                    try sandbox.fails("stat \"$M/\(folder)\(name)\"", saying: "No such file or directory")
                }
            }
            try sandbox.fails("mkdir $M/.Trash-0", saying: "Read-only file system")
            try sandbox.fails("mkdir $M/restore/.Trash-0", saying: "Operation not permitted")
            try sandbox.fails("mkdir $M/snapshots/.Trash-0", saying: "Operation not permitted")
            #expect(try sandbox.names("snapshots") == [])
        }
    }

    @Test func `a listing stays whole while backups come and go`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh("for i in $(seq 1 60); do mkdir $M/snapshots/backup-with-a-name-of-some-length-$i; done")
            #expect(try sandbox.names("snapshots").count == 61)
            let result = try sandbox.sh(
                """
                python3 - <<'END'
                import os
                folder = os.environ["M"] + "/snapshots"
                seen = []
                with os.scandir(folder) as entries:
                    for number, entry in enumerate(entries):
                        seen.append(entry.name)
                        if number == 3:
                            os.rmdir(folder + "/backup-with-a-name-of-some-length-60")
                            os.mkdir(folder + "/new")
                print(len(seen) == len(set(seen)), len(seen) >= 60, sum(name.startswith("backup") for name in seen) >= 59)
                END
                """)
            #expect(result == "True True True")
        }
    }
}

import Testing

/// The commands that look into backups and say things about them, beside a mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ExploreCommandTests {
    @Test func `tags and pins are seen in the mount at once`() throws {
        try Room.withMount("--sample") { room in
            try room.sh("backupfs backup --store $S --label one --tag manual; mkdir $M/snapshots/two")
            let attribute = "getfattr --only-values -n user.backupfs.tag $M/snapshots"
            #expect(try room.sh("\(attribute)/one") == "manual")
            #expect(try room.sh("backupfs tag one two --add spring --store $S") == "one: manual, spring\ntwo: spring")
            #expect(try room.sh("\(attribute)/one") == "manual,spring")
            #expect(try room.sh("\(attribute)/two") == "spring")
            #expect(try room.sh("backupfs snapshots --store $S --tag manual --tag none --json | jq -r '.[].name'") == "one")
            #expect(try room.sh("backupfs snapshots --store $S --tag none") == "No backups with this tag.")
            try room.sh("backupfs tag one --remove manual --remove absent --store $S; mv $M/snapshots/one $M/snapshots/first")
            #expect(
                try room.sh("backupfs tag first latest --store $S --json | jq -c '.[]|[.name,.tags]'") == #"["first",["spring"]]"#
                    + "\n" + #"["two",["spring"]]"#)
            #expect(try room.sh("backupfs tag first --set b --set a --store $S") == "first: a, b")
            try room.remount()
            #expect(try room.sh("\(attribute)/first") == "a,b")
            #expect(try room.sh(#"backupfs tag first --set "" --store $S"#) == "first: no tags")
            try room.fails("\(attribute)/first", saying: "No such attribute")
            // What was said when it was made stays in the manifest.
            #expect(try room.sh("jq -r .tag $M/snapshots/first/manifest.json") == "manual")

            try room.fails("backupfs tag first nowhere --add x --store $S", saying: "there is no such backup", exitCode: 1)
            try room.fails("backupfs tag first --add 'a,b' --store $S", saying: "this cannot be a tag", exitCode: 1)
            try room.fails("backupfs tag first --add a --set b --store $S", saying: "--set replaces all tags", exitCode: 2)
            try room.fails("backupfs backup --tag 'a,b' --store $S", saying: "this cannot be a tag", exitCode: 1)
            #expect(try room.sh("backupfs tag first --store $S") == "first: no tags")

            let pinned = "getfattr --only-values -n user.backupfs.pinned $M/snapshots/two"
            #expect(try room.sh("backupfs pin two first --store $S") == "two: pinned\nfirst: pinned")
            #expect(try room.sh(pinned) == "1")
            #expect(try room.sh("backupfs snapshots --store $S | grep -c pinned") == "2")
            #expect(try room.sh("backupfs unpin latest --store $S --json | jq -c '.[]|[.name,.pinned]'") == #"["two",false]"#)
            #expect(try room.sh(pinned) == "0")
        }
    }

    @Test func `statistics agree with the catalog and with the files`() throws {
        try PhotoDiary.withMount { room in
            try room.sh(
                "head -c 3000000 /dev/urandom > $P/big.jpg; mkdir $M/snapshots/one; cp $P/big.jpg $P/again.jpg; mkdir $M/snapshots/two"
            )
            let catalog = try room.sh(
                "sqlite3 $S/repository/catalog.sqlite 'select count(*), sum(plain_length), sum(stored_length) from chunks'")
            let total = try room.sh(
                "backupfs stats --store $S --json | tee $R/stats | jq -r '.total|[.chunkCount,.uniqueBytes,.storedBytes]|join(\"|\")'"
            )
            #expect(total == catalog)
            let sizes = try room.sh(
                "cd $M/snapshots; find one two -type f ! -name '*SUMS' ! -name archive.zip -printf '%s\\n' | awk '{s+=$1} END {print s}'"
            )
            #expect(try room.sh("jq .total.logicalBytes $R/stats") == sizes)
            #expect(try room.sh("jq -c '[.snapshots[].name]' $R/stats") == #"["one","two"]"#)
            // The same photo twice costs its directory objects, and what says so.
            #expect(
                try room.sh("jq '.snapshots[1].storedBytes < 20000 and .snapshots[1].exclusiveBytes < 20000' $R/stats") == "true")
            #expect(try room.sh("jq '.snapshots[0].exclusiveBytes < 20000 and .total.ratio > 1.5' $R/stats") == "true")
            #expect(try room.sh("backupfs stats two --store $S --json | jq '.snapshots[0].storedBytes > 3300000'") == "true")
            let text = try room.sh("backupfs stats --store $S")
            #expect(text.contains("deduplication 2.") && text.contains("\nTogether"), "\(text)")
            try room.fails("backupfs stats three --store $S", saying: "there is no such backup", exitCode: 1)
            try room.sh("rmdir $M/snapshots/one $M/snapshots/two")
            #expect(try room.sh("backupfs stats --store $S") == "No backups yet. Make one with: backupfs backup")
        }
    }
}

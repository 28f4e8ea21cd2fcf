import TestSupport
import Testing

/// The commands that inspect and annotate backups, beside a mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ExploreCommandTests {
    @Test func `tags and pins are seen in the mount at once`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("backupfs backup --store $S --label one --tag manual; mkdir $M/snapshots/two")
            let attribute = "getfattr --only-values -n user.backupfs.tag $M/snapshots"
            #expect(try sandbox.sh("\(attribute)/one") == "manual")
            #expect(try sandbox.sh("backupfs tag one two --add spring --store $S") == "one: manual, spring\ntwo: spring")
            #expect(try sandbox.sh("\(attribute)/one") == "manual,spring")
            #expect(try sandbox.sh("\(attribute)/two") == "spring")
            #expect(try sandbox.sh("backupfs snapshots --store $S --tag manual --tag none --json | jq -r '.[].name'") == "one")
            #expect(try sandbox.sh("backupfs snapshots --store $S --tag none") == "No backups with this tag.")
            try sandbox.sh("backupfs tag one --remove manual --remove absent --store $S; mv $M/snapshots/one $M/snapshots/first")
            #expect(
                try sandbox.sh("backupfs tag first latest --store $S --json | jq -c '.[]|[.name,.tags]'")
                    == #"["first",["spring"]]"#
                    + "\n" + #"["two",["spring"]]"#)
            #expect(try sandbox.sh("backupfs tag first --set b --set a --store $S") == "first: a, b")
            try sandbox.remount()
            #expect(try sandbox.sh("\(attribute)/first") == "a,b")
            #expect(try sandbox.sh(#"backupfs tag first --set "" --store $S"#) == "first: no tags")
            try sandbox.fails("\(attribute)/first", saying: "No such attribute")
            // The tag that it was created with stays in the manifest.
            #expect(try sandbox.sh("jq -r .tag $M/snapshots/first/manifest.json") == "manual")

            try sandbox.fails("backupfs tag first nowhere --add x --store $S", saying: "there is no such backup", exitCode: 1)
            try sandbox.fails("backupfs tag first --add 'a,b' --store $S", saying: "this cannot be a tag", exitCode: 1)
            try sandbox.fails("backupfs tag first --add a --set b --store $S", saying: "--set replaces all tags", exitCode: 2)
            try sandbox.fails("backupfs backup --tag 'a,b' --store $S", saying: "this cannot be a tag", exitCode: 1)
            #expect(try sandbox.sh("backupfs tag first --store $S") == "first: no tags")

            let pinned = "getfattr --only-values -n user.backupfs.pinned $M/snapshots/two"
            #expect(try sandbox.sh("backupfs pin two first --store $S") == "two: pinned\nfirst: pinned")
            #expect(try sandbox.sh(pinned) == "1")
            #expect(try sandbox.sh("backupfs snapshots --store $S | grep -c pinned") == "2")
            #expect(try sandbox.sh("backupfs unpin latest --store $S --json | jq -c '.[]|[.name,.pinned]'") == #"["two",false]"#)
            #expect(try sandbox.sh(pinned) == "0")
        }
    }

    @Test func `statistics agree with the catalog and with the files`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                "head -c 3000000 /dev/urandom > $P/big.jpg; mkdir $M/snapshots/one; cp $P/big.jpg $P/again.jpg; mkdir $M/snapshots/two"
            )
            let catalog = try sandbox.sh(
                "sqlite3 $S/repository/catalog.sqlite 'select count(*), sum(stored_length) from chunks'")
            let total = try sandbox.sh(
                "backupfs stats --store $S --json | tee $R/stats | jq -r '.total|[.chunk_count,.stored_bytes]|join(\"|\")'"
            )
            #expect(total == catalog)
            let sizes = try sandbox.sh(
                "cd $M/snapshots; find one two -type f ! -name '*SUMS' ! -name 'archive.*' ! -name index.html -printf '%s\\n' | awk '{s+=$1} END {print s}'"
            )
            #expect(try sandbox.sh("jq .total.logical_bytes $R/stats") == sizes)
            #expect(try sandbox.sh("jq -c '[.snapshots[].name]' $R/stats") == #"["one","two"]"#)
            // The same photo a second time only costs its directory objects, and the backup's description of itself.
            #expect(
                try sandbox.sh("jq '.snapshots[1].stored_bytes < 20000 and .snapshots[1].exclusive_bytes < 20000' $R/stats")
                    == "true")
            #expect(try sandbox.sh("jq '.snapshots[0].exclusive_bytes < 20000 and .total.ratio > 1.5' $R/stats") == "true")
            #expect(try sandbox.sh("backupfs stats two --store $S --json | jq '.snapshots[0].stored_bytes > 3300000'") == "true")
            let text = try sandbox.sh("backupfs stats --store $S")
            #expect(text.contains("deduplication 2.") && text.contains("\nTogether"), "\(text)")
            try sandbox.fails("backupfs stats three --store $S", saying: "there is no such backup", exitCode: 1)
            try sandbox.sh("rmdir $M/snapshots/one $M/snapshots/two")
            #expect(try sandbox.sh("backupfs stats --store $S") == "No backups yet. Make one with: backupfs backup")
        }
    }

    @Test func `differences are shown record by record and file by file`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one
                cd $P; printf 'ONE' > one.jpg; rm 2024/two.jpg; printf new > n.jpg; ln -s n.jpg link; touch -d 2001-01-01 2024/summer/three.jpg
                sqlite3 $S/app/database.sqlite "update photos set caption='Änderung \\\"x\\\"' where id=1; delete from photos where id=2;
                  insert into photos values (9,'n.jpg',null)"
                """)
            let filter = """
                jq -c '[.from.name, .to.name], (.records.photos|[.added,.changed,.removed], (.changes[]|[.change,.key,.fields])),
                  (.files|[.added,.changed,.removed], (.changes[]|[.change,.path,.old_size,.new_size]|select(.[1]!="database.sqlite")))'
                """
            let expected = """
                [1,1,1]
                ["added",9,[{"field":"id","new":9},{"field":"file","new":"n.jpg"}]]
                ["changed",1,[{"field":"caption","old":"first","new":"Änderung \\"x\\""}]]
                ["removed",2,[{"field":"id","old":2},{"field":"file","old":"2024/two.jpg"}]]
                [2,2,1]
                ["removed","media/2024/two.jpg",3,null]
                ["added","media/link",null,5]
                ["added","media/n.jpg",null,3]
                ["changed","media/one.jpg",3,3]
                """
            let live = try sandbox.sh("backupfs diff one live --store $S --json | \(filter)")
            #expect(live == #"["one","live"]"# + "\n" + expected)
            try sandbox.sh("mkdir $M/snapshots/two")
            #expect(
                try sandbox.sh("backupfs diff one latest --store $S --json | \(filter)") == #"["one","two"]"# + "\n" + expected)
            #expect(try sandbox.sh("backupfs diff two live --store $S") == "No differences.")
            #expect(try sandbox.sh("backupfs diff two two --store $S") == "No differences.")
            let back = try sandbox.sh("backupfs diff two one --store $S")
            #expect(
                back.hasPrefix(
                    """
                    photos: 1 added, 1 changed, 1 removed
                      + 2
                      ~ 1
                          caption: "Änderung \\"x\\"" → "first"
                      - 9
                    files: 1 added, 2 changed, 2 removed
                      ~ database.sqlite
                    """), "\(back)")
            #expect(
                try sandbox.sh("backupfs diff one two --store $S --limit 0")
                    == "photos: 1 added, 1 changed, 1 removed\n  … and 3 more\nfiles: 2 added, 2 changed, 1 removed\n  … and 5 more"
            )
            try sandbox.fails("backupfs diff one three --store $S", saying: "there is no such backup", exitCode: 1)
            try sandbox.fails("backupfs diff one two --limit 10001 --store $S", saying: "--limit is 0 to 10000", exitCode: 2)
            // A safety backup can be compared like any other.
            try sandbox.sh("backupfs restore one --yes --store $S")
            let safety = try sandbox.sh("backupfs stats --store $S --json | jq -r '.snapshots[]|select(.kind==\"safety\").name'")
            #expect(try sandbox.sh("backupfs diff two '\(safety)' --store $S") == "No differences.")
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
        }
    }

    @Test func `files are found by name, path and content`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; cd $P; cp 2024/summer/three.jpg copy.jpg; touch -d '2020-02-02 02:02:02' copy.jpg
                printf 'x' > 'Grün [1].jpg'; mkdir $M/snapshots/two
                """)
            func found(_ pattern: String) throws -> String {
                try sandbox.sh(
                    "backupfs find \(pattern) --store $S --json | jq -r '.[]|[.snapshot,.type,.path,.size]|join(\" \")'")
            }
            #expect(try found("two.jpg") == "one file media/2024/two.jpg 3\ntwo file media/2024/two.jpg 3")
            #expect(try found("'Gr?n \\[1\\].*'") == "two file media/Grün [1].jpg 1")
            #expect(
                try found("'media/20*/s*'")
                    == ["one", "two"].map { "\($0) dir media/2024/summer 0\n\($0) file media/2024/summer/three.jpg 300000" }
                    .joined(separator: "\n"))
            #expect(try found("'*.JPG'") == "" && found("nothing") == "")
            #expect(try found("two.jpg two") == "two file media/2024/two.jpg 3")
            let digest = try sandbox.sh("sha256sum < $P/copy.jpg | cut -c1-64")
            let copies =
                "one file media/2024/summer/three.jpg 300000\ntwo file media/2024/summer/three.jpg 300000\ntwo file media/copy.jpg 300000"
            #expect(try found("sha256:\(digest)") == copies.split(separator: "\n").sorted { $0 < $1 }.joined(separator: "\n"))
            #expect(try found("sha256:\(digest.prefix(12).uppercased())").split(separator: "\n").count == 3)
            #expect(
                try sandbox.sh("backupfs find copy.jpg --store $S --json | jq -r '.[0]|[.mtime,.sha256]|join(\" \")'")
                    == "2020-02-02T02:02:02Z \(digest)")
            let line = try sandbox.sh("backupfs find copy.jpg --store $S")
            #expect(line == "two        300000  2020-02-02 02:02:02  media/copy.jpg")
            #expect(try sandbox.run("backupfs find nothing --store $S").errors == "Nothing found.\n")
            try sandbox.fails("backupfs find sha256:12 --store $S", saying: "8 to 64 hexadecimal digits", exitCode: 2)
            try sandbox.fails("backupfs find x nowhere --store $S", saying: "there is no such backup", exitCode: 1)
        }
    }

    @Test func `a backup is written into a folder while it is mounted`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; printf later > $P/later.jpg")
            #expect(
                try sandbox.sh(
                    "backupfs restore one --target $R/out --dry-run --store $S --json | jq -c '[.message_type,.files]'")
                    == #"["would_write",9]"#)
            #expect(try sandbox.sh("ls $R/out 2>/dev/null || echo none") == "none")
            #expect(
                try sandbox.sh(
                    "backupfs restore one --target $R/out --store $S --json | jq -s -c '.[-1]|[.message_type,.snapshot,.files]'")
                    == #"["summary","one",9]"#)
            try sandbox.sh("cd $R/out; sha256sum --quiet --strict -c $M/snapshots/one/SHA256SUMS")
            #expect(
                try sandbox.sh("cd $R/out/media; \(PhotoDiary.describe) | tr '\\0' '\\n'")
                    == sandbox.sh("cd $P; rm later.jpg; \(PhotoDiary.describe) | tr '\\0' '\\n'"))
            try sandbox.fails(
                "backupfs restore one --target $R/out --store $S", saying: "the folder holds something else", exitCode: 1)
            try sandbox.fails("backupfs restore two --target $R/x --store $S", saying: "there is no such backup", exitCode: 1)
            #expect(try sandbox.sh("backupfs restore latest --target $R/x --store $S").hasPrefix("Wrote 9 files, "))
            #expect(try sandbox.names("safety") == [])
        }
    }

    @Test func `a drill tells whether a backup can be restored`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("head -c 2000000 /dev/urandom > $P/big.jpg; mkdir $M/snapshots/one")
            let attribute = "getfattr --only-values -n user.backupfs.verified-at $M/snapshots"
            try sandbox.fails("\(attribute)/one", saying: "No such attribute")
            #expect(
                try sandbox.sh("backupfs verify one --store $S", Sandbox.fixedClock).hasPrefix(
                    "one: can be restored: 10 files, 2."))
            #expect(try sandbox.sh("\(attribute)/one") == "2026-01-11T14:30:00Z")
            #expect(try sandbox.sh("backupfs snapshots --store $S --json | jq -r '.[0].verified_at'") == "2026-01-11T14:30:00Z")
            try sandbox.sh("mkdir $M/snapshots/two; backupfs restore one --yes --store $S")
            let line = "select(.message_type==\"verification\")|[.verified,.files,.records,.findings]"
            #expect(
                try sandbox.sh("backupfs verify --all --store $S --json | jq -c '\(line)'").split(separator: "\n")
                    == ["[true,10,3,[]]", "[true,10,3,[]]", "[true,10,3,[]]"])

            // One byte of the photo in its pack is changed; all three backups contain it.
            try sandbox.sh(
                """
                python3 - <<'END'
                import glob, os
                wanted = open(os.environ["P"] + "/big.jpg", "rb").read()[1_000_000:1_000_064]
                for path in glob.glob(os.environ["S"] + "/repository/packs/*/*.pack"):
                    data = open(path, "rb").read()
                    if (at := data.find(wanted)) >= 0:
                        os.chmod(path, 0o600)
                        with open(path, "r+b") as pack:
                            pack.seek(at); pack.write(bytes([data[at] ^ 4]))
                END
                """)
            let result = try sandbox.fails(
                "backupfs verify two --store $S", saying: "1 of 1 backups cannot be restored as they were made", exitCode: 1)
            #expect(result.output.hasPrefix("two: cannot be restored as it was made\n  media/big.jpg: chunk "))
            #expect(result.output.split(separator: "\n").count == 2, "\(result.output)")
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
            try sandbox.fails("backupfs verify three --store $S", saying: "there is no such backup", exitCode: 1)
            try sandbox.fails("backupfs verify --store $S", saying: "or say --all", exitCode: 2)
            try sandbox.fails("backupfs verify one --all --store $S", saying: "not both", exitCode: 2)
        }
    }
}

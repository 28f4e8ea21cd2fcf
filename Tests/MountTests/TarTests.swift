import TestSupport
import Testing

/// `archive.tar`, read by every available program, straight from the mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct TarTests {
    private static let readers = [
        ("tar", "tar -tvf"), ("bsdtar", "bsdtar -tvf"), ("7z", "7z t -bso0 -bsp0"), ("python3", "python3 -m tarfile -t"),
    ]

    /// Photos with names of every kind, links, and times with nanoseconds.
    private static let oddPhotos = """
        \(MediaTests.oddFiles); ln -s one.jpg link; ln -s "/nowhere/$(head -c 120 /dev/zero | tr '\\0' t)" dangling
        printf b > 'back\\slash.jpg'; touch -d '2024-02-29 23:59:59.123456789' big.raw; touch -d '1969-12-31 23:59:58.5' zeros.bin
        touch -h -d '2020-01-01 00:00:00.25' link; chmod 751 -- -rf
        mkdir -p deep/$(head -c 200 /dev/zero | tr '\\0' d); cd deep/d*; printf deep > file.jpg; cd $P
        """

    @Test func `every program at hand accepts the archive`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(Self.oddPhotos); mkdir $M/snapshots/one")
            for archive in ["$M/snapshots/one/archive.tar", "$M/live/archive.tar"] {
                for (tool, command) in Self.readers where Machine.hasTool(tool) {
                    try sandbox.sh("\(command) \(archive) >/dev/null")
                }
                #expect(try sandbox.sh("stat -c '%s %F' \(archive) | awk '{ print $1 % 10240, $2, $3 }'") == "0 regular file")
            }
        }
    }

    @Test(arguments: ["tar", "bsdtar"])
    func `unpacked it is the backup, with modes, targets, and times to the nanosecond`(tool: String) throws {
        guard Machine.hasTool(tool) else { return }
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(Self.oddPhotos); mkdir $M/snapshots/one $R/out")
            try sandbox.sh("\(tool) -xpf $M/snapshots/one/archive.tar -C $R/out")
            // No file may be missing or extra, whatever its name.
            try sandbox.sh("diff -r --no-dereference -x 'archive.*' -x index.html $M/snapshots/one $R/out")
            let describe = PhotoDiary.describe + "; find . -mindepth 1 ! -type l -printf '%P %m\\0' | sort -z"
            // libarchive treats the fraction of a time before 1970 as one after the second.
            if tool == "bsdtar" { try sandbox.sh("touch -d '1969-12-31 23:59:58' $P/zeros.bin $R/out/media/zeros.bin") }
            let source = try sandbox.sh("cd $P; { \(describe); } | tr '\\0' '|'")
            #expect(try sandbox.sh("cd $R/out/media; { \(describe); } | tr '\\0' '|'") == source)
            #expect(
                try sandbox.sh("stat -c '%y %a' $R/out/media/big.raw $R/out/media/link | cut -c1-29") == """
                    2024-02-29 23:59:59.123456789
                    2020-01-01 00:00:00.250000000
                    """)
            try sandbox.sh("cd $R/out; sha256sum --quiet --strict -c SHA256SUMS; md5sum --quiet --strict -c MD5SUMS")
            try sandbox.sh("cmp $R/out/SHA256SUMS $M/snapshots/one/SHA256SUMS")
        }
    }

    @Test func `it has the members of the ZIP, in their order`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(Self.oddPhotos); rm invalid*; mkdir $M/snapshots/one")
            try sandbox.sh(
                """
                python3 - <<'END'
                import os, tarfile, zipfile
                folder = os.environ["M"] + "/snapshots/one/"
                zipped = [info.filename.rstrip("/") for info in zipfile.ZipFile(folder + "archive.zip").infolist()]
                tarred = tarfile.open(folder + "archive.tar").getnames()
                assert zipped == tarred and len(tarred) > 30, (zipped, tarred)
                # The list that needs all files is last where it would have to be waited for.
                live = tarfile.open(os.environ["M"] + "/live/archive.tar").getnames()
                stored = ["MD5SUMS", "SHA256SUMS", "changes.json", "manifest.json"]
                assert live == [name for name in tarred if name not in stored] + ["SHA256SUMS"], live
                END
                """)
        }
    }

    @Test func `one member comes out by itself`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(Self.oddPhotos); mkdir $M/snapshots/one")
            for archive in ["$M/snapshots/one/archive.tar", "$M/live/archive.tar"] {
                try sandbox.sh(
                    """
                    tar -xOf \(archive) 2024/summer/three.jpg && exit 1
                    tar -xOf \(archive) media/2024/summer/three.jpg | cmp - $P/2024/summer/three.jpg
                    tar -xOf \(archive) 'media/with space/and 🚗/naïve é.jpg' | grep -x x
                    tar -xOf \(archive) --no-unquote $'media/new\\nline.jpg' | grep -x y
                    tar -xOf \(archive) $'media/invalid-\\xff\\xfe.jpg' 2>/dev/null | grep -x z
                    tar -xOf \(archive) --no-unquote --no-wildcards 'media/back\\slash.jpg' | grep -x b
                    """)
            }
            try sandbox.sh("cmp <(tar -xOf $M/snapshots/one/archive.tar export.json) $M/snapshots/one/export.json")
        }
    }

    @Test func `its bytes are the same for each reader, however often, and in whatever order`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(Self.oddPhotos); mkdir $M/snapshots/one; cp $M/snapshots/one/archive.tar $R/first.tar")
            let told = try sandbox.sh("stat -c %s $M/snapshots/one/archive.tar")
            #expect(try sandbox.sh("stat -c %s $R/first.tar") == told)
            try sandbox.remount()
            #expect(try sandbox.sh("stat -c %s $M/snapshots/one/archive.tar") == told)
            try sandbox.expectSameBytes("snapshots/one/archive.tar", as: "first.tar")
            try sandbox.sh("cmp $R/first.tar $M/snapshots/one/archive.tar; mv $M/snapshots/one $M/snapshots/two")
            try sandbox.sh("cmp $R/first.tar $M/snapshots/two/archive.tar")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.checksum.sha256 $M/snapshots/two/archive.tar")
                    == sandbox.sh("sha256sum $R/first.tar | cut -d' ' -f1"))
        }
    }

    @Test func `that of the live data needs no checksum of a file to be read`() throws {
        try PhotoDiary.withMount { sandbox in
            // Too long to read to the end; and enough to keep the list, which comes last, out of the blocks that tar reads in one
            // call.
            try sandbox.sh(
                "truncate -s 4T $P/huge.raw; head -c 50000 /dev/zero > $P/zeros; sqlite3 $S/app/database.sqlite \"insert into photos values (9,'h','h')\""
            )
            #expect(
                try sandbox.sh("timeout 60 tar --occurrence=1 -xOf $M/live/archive.tar export.json | jq '.photos|length'") == "4")
            try sandbox.sh("timeout 60 tar --occurrence=1 -xOf $M/live/archive.tar media/one.jpg | grep -x one")
            #expect(try sandbox.sh("timeout 60 tail -c 512 $M/live/archive.tar | tr -d '\\0' | wc -c") == "0")
            #expect(
                try sandbox.sh("timeout 60 tar -tvf $M/live/archive.tar --occurrence=1 media/huge.raw | awk '{ print $3 }'")
                    == "4398046511104")
            try sandbox.sh("rm $P/huge.raw; tar -xf $M/live/archive.tar -C $R SHA256SUMS; cmp $R/SHA256SUMS $M/live/SHA256SUMS")
        }
    }

    @Test func `an export written by a command is the same archive`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one $R/out; backupfs export one --tar -o $R/out.tar --store $S
                cmp $R/out.tar $M/snapshots/one/archive.tar
                backupfs export one --tar -o - --store $S | tar -x -C $R/out; diff -r -x 'archive.*' -x index.html $R/out $M/snapshots/one
                """
            )
            #expect(
                try sandbox.sh("cd $R/out; backupfs export --tar --store $S", Sandbox.fixedClock)
                    == "ev_charging_tracker_export_2026-01-11_14-30-00.tar")
            try sandbox.sh("cd $R/out; cmp *.tar $M/live/archive.tar")
            try sandbox.fails("backupfs export --zip --tar --store $S", saying: "Choose one of --json, --zip, --tar")
        }
    }

    @Test func `it cannot be written, and can be restored`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            for command in [
                "echo x >> $M/snapshots/one/archive.tar", "rm -f $M/snapshots/one/archive.tar", "touch $M/live/archive.tar",
            ] {
                try sandbox.fails(command, saying: "Read-only file system")
            }
            let state = try sandbox.state()
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses'; cp $M/snapshots/one/archive.tar $M/restore/")
            #expect(try sandbox.state() == state)
            // The same through another disk, where its bytes are copied.
            try sandbox.sh("cp $M/snapshots/one/archive.tar $R/; sqlite3 $S/app/database.sqlite 'delete from expenses'")
            try sandbox.sh("cp $R/archive.tar $M/restore/again.tar")
            #expect(try sandbox.state() == state)
        }
    }
}

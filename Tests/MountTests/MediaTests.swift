import TestSupport
import Testing

/// An app with a folder of photos: backed up, listed, zipped, verified and restored with its records.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct MediaTests {
    /// Creates files with every kind of name and content that a disk allows.
    static let oddFiles = """
        cd $P; mkdir -p 'with space/and 🚗' empty-folder; printf x > 'with space/and 🚗/naïve é.jpg'
        printf y > $'new\\nline.jpg'
        printf z > $'invalid-\\xff\\xfe.jpg'; : > empty.jpg; printf h > .hidden.jpg; printf d > ' leading'; printf t > 'trailing '
        printf q > "quote'\\"\\$.jpg"; printf m > -rf
        printf L > "$(head -c 250 /dev/zero | tr '\\0' n)"; head -c 5000000 /dev/urandom > big.raw
        head -c 3000000 /dev/zero > zeros.bin; printf c > $'control\\001.jpg'; printf s > 'semi;colon&amp|pipe*?[x].jpg'
        """

    @Test func `a backup holds every file as it is, with its time`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(Self.oddFiles); ln -s one.jpg link; ln -s /nowhere dangling; printf b > 'back\\slash.jpg'")
            let source = try sandbox.sh("cd $P; \(PhotoDiary.describe)").replacing(" 640 ", with: " 600 ").replacing(
                " 644 ", with: " 600 ")
            try sandbox.sh("mkdir $M/snapshots/one")
            let stored = try sandbox.sh("cd $M/snapshots/one/media; \(PhotoDiary.describe)")
            #expect(stored == source)
            let live = try sandbox.sh("cd $M/live/media; \(PhotoDiary.describe)")
            #expect(live == source)
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet --strict -c SHA256SUMS; md5sum --quiet --strict -c MD5SUMS")
            try sandbox.sh("cd $M/live; sha256sum --quiet --strict -c SHA256SUMS")
            #expect(try sandbox.sh("diff -r --no-dereference $P $M/snapshots/one/media") == "")
            try sandbox.sh(
                """
                cp -a $M/snapshots/one $R/copy; diff -r --no-dereference $R/copy/media $P
                rsync -a $M/snapshots/one/media/ $R/rsync/; diff -r --no-dereference $R/rsync $P
                """
            )
            let wrong = try sandbox.sh(
                """
                cd $M/snapshots/one; while IFS= read -r -d '' file; do
                [ "$(stat -c %s "$file")" = "$(cat "$file" | wc -c)" ] || echo "$file"
                told=$(getfattr --only-values -n user.checksum.md5 -- "$file")
                [ "$told" = "$(md5sum < "$file" | cut -d' ' -f1)" ] || echo "$file"
                done < <(find . -type f -print0)
                """)
            #expect(wrong == "")
        }
    }

    @Test func `the archive holds every file, and all programs agree`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("\(Self.oddFiles); mkdir $M/snapshots/one")
            try sandbox.sh(
                """
                unzip -tqq $M/snapshots/one/archive.zip
                python3 -c 'import sys, zipfile; sys.exit(zipfile.ZipFile(sys.argv[1]).testzip() is not None)' \\
                $M/snapshots/one/archive.zip
                """
            )
            if Machine.hasTool("bsdtar") {
                try sandbox.sh(
                    """
                    mkdir $R/bsdtar; cd $R/bsdtar; bsdtar -xf $M/snapshots/one/archive.zip
                    diff -r -x 'archive.*' -x index.html $M/snapshots/one $R/bsdtar
                    """
                )
            }
            if Machine.hasTool("7z") { try sandbox.sh("7z t -bso0 -bsp0 $M/snapshots/one/archive.zip") }
            // Java rejects archives with names that are not UTF-8.
            if Machine.hasTool("jar") {
                try sandbox.sh("rm $P/invalid*; mkdir $M/snapshots/two; jar tf $M/snapshots/two/archive.zip >/dev/null")
            }
            try sandbox.sh(
                """
                cp $M/snapshots/one/archive.zip $R/copy.zip; cmp $R/copy.zip $M/snapshots/one/archive.zip
                unzip -tqq $M/live/archive.zip
                """
            )
            // Empty folders are included, and names in UTF-8 are unpacked unchanged.
            try sandbox.sh(
                """
                mkdir $R/unzip; cd $R/unzip; unzip -qq $M/snapshots/one/archive.zip; test -d media/empty-folder
                cmp 'media/with space/and 🚗/naïve é.jpg' "$P/with space/and 🚗/naïve é.jpg"
                """
            )
        }
    }

    @Test(arguments: ["snapshots/one", "live", "safety"])
    func `an archive brings records and photos back, as they were`(source: String) throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(Self.oddFiles)
            let files = try sandbox.sh("cd $P; \(PhotoDiary.describeInSeconds)")
            let records = try sandbox.liveExport()
            let sources = ["snapshots/one": "$M/snapshots/one/archive.zip", "live": "$R/live.zip", "safety": "$M/safety/*.zip"]
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/live/archive.zip $R/live.zip")
            try sandbox.sh(
                """
                cd $P; rm -rf ./*; printf new > new.jpg; sqlite3 $S/app/database.sqlite 'delete from photos'
                mkdir $M/snapshots/two
                """
            )
            if source == "safety" {
                // The restore of "two" saves the state before it, so restore "one" first.
                try sandbox.sh(
                    """
                    cp $M/snapshots/one/archive.zip $M/restore/; rm $M/restore/archive.zip; wait_second
                    cp $M/snapshots/two/archive.zip $M/restore/
                    """
                )
                #expect(try sandbox.sh("ls $P") == "new.jpg")
                try sandbox.sh("cp $(ls -d $M/safety/*.zip | tail -1) $M/restore/")
            } else {
                try sandbox.sh("cp \(sources[source] ?? "") $M/restore/")
            }
            let restored = try sandbox.sh("cd $P; \(PhotoDiary.describeInSeconds)")
            #expect(restored == files)
            #expect(try sandbox.liveExport() == records)
            #expect(try sandbox.sh("ls -A $S/app | grep -c backupfs || true") == "0")
            let safety = try sandbox.names("safety")
            #expect(safety.allSatisfy { $0.wholeMatch(of: /photo_diary_safety_.*\.zip/) != nil } && !safety.isEmpty)
        }
    }

    @Test func `links and names with a backslash survive a restore of the backup's own archive`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("cd $P; ln -s one.jpg link; ln -s ../one.jpg 2024/up; ln -s 2024 folder; printf b > 'back\\slash.jpg'")
            let files = try sandbox.sh("cd $P; \(PhotoDiary.describeInSeconds)")
            try sandbox.sh(
                "mkdir $M/snapshots/one; rm -rf $P/*; printf other > $P/other.jpg; cp $M/snapshots/one/archive.zip $M/restore/")
            let restored = try sandbox.sh("cd $P; \(PhotoDiary.describeInSeconds)")
            #expect(restored == files)
            try sandbox.sh("rm $P/link; cp $(ls -d $M/safety/*.zip) $M/restore/")
            #expect(try sandbox.sh("ls $P") == "other.jpg")
        }
    }

    @Test func `a link to somewhere else is taken from the backups' own archives and refused from any other`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("ln -s ../../outside $P/away; mkdir $M/snapshots/one; rm $P/away; printf new > $P/new.jpg")
            // The same backup repacked: any program could have created that.
            try sandbox.sh("mkdir $R/x; cd $R/x; unzip -q $M/snapshots/one/archive.zip; zip -q -r -y $R/packed.zip .")
            try sandbox.fails("cp $R/packed.zip $M/restore/", saying: "Invalid argument")
            #expect(try sandbox.report(".message") == "Import failed: the link media/away points outside of the media folder")
            #expect(try sandbox.sh("ls $P") == "2024\nnew.jpg\none.jpg")
            try sandbox.sh("backupfs restore one --yes --store $S")
            #expect(try sandbox.sh("readlink $P/away; ls $P") == "../../outside\n2024\naway\none.jpg")
            // The undo that a report offers: the safety backup, dropped under any name.
            try sandbox.sh("ln -s /etc $P/system; printf '{}' > $P/x.json; mkdir $M/snapshots/two; rm $P/x.json $P/system")
            try sandbox.sh("cp $M/snapshots/one/archive.zip $R/kept.zip; cp $R/kept.zip $M/restore/; readlink $P/away")
            let undo = try sandbox.sh("ls -d $M/safety/*.zip | tail -1")
            try sandbox.sh("cp $M/snapshots/two/archive.zip $M/restore/; readlink $P/system; cp \(undo) $M/restore/undo.zip")
            #expect(try sandbox.sh("readlink $P/away; ls $P") == "../../outside\n2024\naway\none.jpg")
            #expect(
                try sandbox.sh("backupfs restore $R/kept.zip --yes --store $S >/dev/null; readlink $P/away") == "../../outside")
            // With one more byte, it counts as foreign.
            try sandbox.sh("cp $R/kept.zip $R/more.zip; printf x >> $R/more.zip")
            try sandbox.fails("cp $R/more.zip $M/restore/", saying: "Bad message")
            // A foreign archive: a link, and a file that would be behind it.
            try sandbox.sh(
                """
                mkdir $R/outside; python3 - <<'END'
                import os, zipfile
                R = os.environ["R"]
                with zipfile.ZipFile(R + "/bad.zip", "w") as z:
                    z.writestr("export.json", open(os.environ["M"] + "/snapshots/one/export.json", "rb").read())
                    link = zipfile.ZipInfo("media/out"); link.create_system = 3; link.external_attr = 0o120777 << 16
                    z.writestr(link, R + "/outside"); z.writestr("media/out/evil.jpg", b"x")
                END
                """)
            try sandbox.fails("cp $R/bad.zip $M/restore/", saying: "Invalid argument")
            #expect(try sandbox.sh("ls $R/outside; ls $P") == "2024\naway\none.jpg")
        }
    }

    @Test func `ZIP-05, VAL-02, CHK-06: records alone leave the photos, and a refused archive leaves everything`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; sqlite3 $S/app/database.sqlite "update photos set caption='x'"
                printf changed > $P/one.jpg
                """
            )
            let files = try sandbox.sh("cd $P; \(PhotoDiary.describe)")
            try sandbox.sh("cp $M/snapshots/one/export.json $M/restore/; cp $M/snapshots/one/database.sqlite $M/restore/")
            #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select caption from photos where id=1'") == "first")
            #expect(try sandbox.sh("cd $P; \(PhotoDiary.describe)") == files)
            // One byte of a photo differs from SHA256SUMS: rejected, even when its CRC is right.
            try sandbox.sh(
                """
                mkdir $R/work; cd $R/work; unzip -qq $M/snapshots/one/archive.zip; printf 0ne > media/one.jpg
                zip -qr $R/changed.zip .
                cp $M/snapshots/one/archive.zip $R/flipped.zip
                python3 -c "f=open('$R/flipped.zip','r+b'); d=f.read(); p=d.index(b'three.jpg')+5000
                f.seek(p); f.write(bytes([d[p]^1]))"
                """)
            let before = try sandbox.databaseDump()
            for name in ["changed.zip", "flipped.zip"] { try sandbox.fails("cp $R/\(name) $M/restore/", saying: "Bad message") }
            #expect(try sandbox.report(".message") == "This backup file is corrupted and cannot be restored.")
            #expect(try sandbox.sh("cd $P; \(PhotoDiary.describe)") == files)
            #expect(try sandbox.databaseDump() == before)
        }
    }

    @Test func `changes tell which photos came, changed and went`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; cd $P; printf new > new.jpg; printf ONE > one.jpg; rm 2024/two.jpg
                mkdir $M/snapshots/two
                """
            )
            let changes = try sandbox.sh("cat $M/snapshots/two/changes.json")
            #expect(
                try sandbox.sh("jq -c '[.files.added, .files.changed, .files.removed]' $M/snapshots/two/changes.json")
                    == "[1,1,1]",
                "\(changes)")
        }
    }

    @Test func `a photo that cannot be read is reported, and the rest is backed up`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkfifo $P/pipe")
            try sandbox.fails("mkdir $M/snapshots/one", saying: "", exitCode: nil)
            let result = try sandbox.run("backupfs backup --store $S --label two")
            #expect(result.exitCode == 3, "\(result.text)")
            #expect(result.errors.contains("pipe"), "\(result.errors)")
            try sandbox.sh("cd $M/snapshots/two; sha256sum --quiet -c SHA256SUMS; diff -r -x pipe media $P")
            #expect(try sandbox.sh("jq -c '.unreadable|length' $M/snapshots/two/manifest.json") == "1")
        }
    }

    @Test(arguments: Rounds.part(of: CrashTests.restorePointsBefore + CrashTests.restorePointsAfter, oneIn: 3))
    func `killed while it restores, photos and records belong together`(point: String) throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh(
                """
                backupfs backup --store $S --label one; cd $P; rm -rf ./*; printf new > new.jpg
                sqlite3 $S/app/database.sqlite "delete from photos; insert into photos values (9, 'new.jpg', 'new')"
                """
            )
            try sandbox.mount(["BACKUPFS_FAULT": point])
            let result = try sandbox.run("cp $M/snapshots/one/archive.zip $M/restore/")
            #expect(result.exitCode != 0, "\(point) was not reached")
            #expect(sandbox.waitForProcesses())
            try sandbox.mount()
            let isNew = CrashTests.restorePointsAfter.contains(point)
            #expect(
                try sandbox.sh("sqlite3 $S/app/database.sqlite 'select id from photos order by id'") == (isNew ? "1\n2\n3" : "9"))
            #expect(try sandbox.sh("ls $P") == (isNew ? "2024\none.jpg" : "new.jpg"))
            if isNew { try sandbox.sh("diff -r $P $M/snapshots/one/media; diff -r $M/live/media $M/snapshots/one/media") }
            try CrashTests.expectNoLeftovers(sandbox)
            try sandbox.unmount()
        }
    }
}

import TestSupport
import Testing

/// What desktops do: they probe for hidden names, copy by GIO or KIO, and query types, sizes and times.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct FileManagerTests {
    private static let hasGIO = Machine.hasTool("gio")

    @Test func `probes find nothing and do not wake the live data`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/archive.zip $M/restore/preview/")
            try sandbox.remount()
            // A rendering of the live data is held in unnamed files of the spool.
            let daemon = try #require(sandbox.daemons.first)
            let renderings = "ls -l /proc/\(daemon)/fd | grep -c /spool/ || true"
            let probes = [
                ".Trash", ".Trash-0", ".Trash-1000", ".hidden", ".directory", ".xdg-volume-info", ".DS_Store", "._export.json",
                ".git",
                ".nomedia", ".autorun", "autorun.inf", "AUTORUN.INF", "desktop.ini", "Desktop.ini", "Thumbs.db",
                ".metadata_never_index",
            ]
            for folder in [
                "", "live", "snapshots", "snapshots/one", "snapshots/one/data", "exports", "safety", "restore", "restore/preview",
            ] {
                for probe in probes {
                    try sandbox.fails("stat \"$M/\(folder)/\(probe)\"", saying: "No such file or directory", exitCode: 1)
                }
            }
            try sandbox.sh("ls -la $M $M/snapshots $M/snapshots/one $M/exports $M/safety $M/restore; stat $M/live; df $M")
            #expect(try sandbox.sh(renderings) == "0")
            try sandbox.sh("ls $M/live")
            #expect(try sandbox.sh(renderings) != "0")
            // The app's own folder may contain such files, and they are treated like any others.
            try sandbox.sh(
                "printf mine > $P/.hidden; printf mine > $P/Thumbs.db; cat $M/live/media/.hidden $M/live/media/Thumbs.db")
        }
    }

    @Test(.enabled(if: hasGIO, "NOT TESTED: there is no gio"))
    func `GIO lists, tells and copies`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let photo = "$M/snapshots/one/media/2024/summer/three.jpg"
            #expect(
                try sandbox.sh("gio list $M | sort").split(separator: "\n").map(String.init) == LifecycleTests.rootNames.sorted())
            #expect(
                try sandbox.sh("gio list -l -n $M/snapshots/one/media/2024 | cut -f1-3 | sort")
                    == "summer\t0\t(directory)\ntwo.jpg\t3\t(regular)")
            let asked = "standard::size,standard::type,standard::fast-content-type,time::modified,time::modified-usec,unix::mode"
            #expect(
                try sandbox.sh("gio info -a \(asked) \(photo) | sed -n 's/^  //p' | sort") == """
                    standard::fast-content-type: image/jpeg
                    standard::size: 300000
                    standard::type: 1
                    time::modified-usec: 789000
                    time::modified: 1719837296
                    unix::mode: 33152
                    """)
            #expect(
                try sandbox.sh("gio info -a xattr::checksum.sha256 \(photo) | sed -n 's/.*sha256: //p'")
                    == sandbox.sh("sha256sum < $P/2024/summer/three.jpg | cut -d' ' -f1"))
            try sandbox.sh("gio tree $M/snapshots | grep three.jpg >/dev/null; gio cat \(photo) | cmp - $P/2024/summer/three.jpg")
            try sandbox.sh("gio copy -p \(photo) $R/copy.jpg; cmp $R/copy.jpg $P/2024/summer/three.jpg")
            #expect(try sandbox.sh("stat -c %Y $R/copy.jpg") == "1719837296")
            try sandbox.sh(
                "gio copy $M/snapshots/one/archive.zip $R/copy.zip; unzip -tqq $R/copy.zip; cmp $R/copy.zip $M/snapshots/one/archive.zip"
            )
            try sandbox.fails("gio trash $M/snapshots/one/export.json", saying: "trash")
            try sandbox.fails("gio remove $M/snapshots/one/export.json", saying: "Read-only file system")
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test(.enabled(if: hasGIO, "NOT TESTED: there is no gio"))
    func `T-B2: GIO deletes the backup that it was asked to, which can be brought back, and moves none to a trash`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one $M/snapshots/two")
            let sums = try sandbox.sh("cat $M/snapshots/one/SHA256SUMS")
            try sandbox.fails("gio trash $M/snapshots/one", saying: "trash", exitCode: 1)
            #expect(try sandbox.names("snapshots") == ["latest", "one", "two"])
            try sandbox.sh("gio remove $M/snapshots/one")
            #expect(try sandbox.names("snapshots") == ["latest", "two"])
            try sandbox.sh("cd $M/snapshots/two; sha256sum --quiet -c SHA256SUMS; backupfs undelete one --store $S")
            #expect(try sandbox.names("snapshots") == ["latest", "one", "two"])
            #expect(
                try sandbox.sh("cat $M/snapshots/one/SHA256SUMS; cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS") == sums)
        }
    }

    @Test(.enabled(if: hasGIO, "NOT TESTED: there is no gio"))
    func `GIO restores, and says when that was refused`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/export.json $R/old.json; echo '{' > $R/bad.json")
            let change = "sqlite3 $S/app/database.sqlite \"update photos set caption = 'changed'\""
            let captions = "sqlite3 -readonly $S/app/database.sqlite 'select caption from photos order by id'"
            for command in [
                "gio copy $R/old.json $M/restore/copied.json", "gio save $M/restore/saved.json < $R/old.json",
                "gio copy -p $R/old.json $M/restore/",
            ] {
                try sandbox.sh("\(change); \(command)")
                #expect(try sandbox.sh(captions) == "first\n\nsea", "\(command)")
            }
            try sandbox.sh(change)
            for command in ["gio copy $R/bad.json $M/restore/", "gio save $M/restore/bad.json < $R/bad.json"] {
                try sandbox.fails(command, saying: "Invalid argument")
                #expect(try sandbox.sh(captions) == "changed\nchanged\nchanged", "\(command)")
            }
        }
    }

    @Test func `KIO's way: a part file, times and mode, then its name`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                "mkdir $M/snapshots/one; cp $M/snapshots/one/archive.zip $R/old.zip; head -c -1000 $R/old.zip > $R/bad.zip")
            try sandbox.write(Self.copyAsKIO, to: "kio.py")
            try sandbox.sh("printf changed > $P/one.jpg; printf new > $P/new.jpg")
            #expect(try sandbox.sh("python3 $R/kio.py $R/bad.zip $M/restore/bad.zip") == "EBADMSG bad.zip.part")
            #expect(try sandbox.sh("cat $P/one.jpg; ls $P") == "changed2024\nnew.jpg\none.jpg")
            #expect(try sandbox.sh("python3 $R/kio.py $R/old.zip $M/restore/old.zip") == "done old.zip")
            #expect(try sandbox.sh("cat $P/one.jpg; ls $P") == "one2024\none.jpg")
            #expect(try sandbox.names("safety").count == 1)
        }
    }

    private static let copyAsKIO = """
        import errno, os, sys
        source, target = sys.argv[1:]
        part = target + ".part"
        if os.path.exists(part): os.unlink(part)
        file = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(source, "rb") as data:
            while block := data.read(65536): assert os.write(file, block) == len(block)
        os.fchmod(file, 0o644)
        os.close(file)
        os.utime(part, (1700000000, 1700000000))
        try:
            os.rename(part, target)
            print("done", end=" ")
        except OSError as error: print(errno.errorcode[error.errno], end=" ")
        print(*[name for name in os.listdir(os.path.dirname(target)) if name.startswith(os.path.basename(target))])
        """
}

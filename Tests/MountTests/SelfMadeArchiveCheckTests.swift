import TestSupport
import Testing

/// Files of the mount itself, copied into `restore/`: the data of a snapshot's file is not moved.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct SelfMadeArchiveCheckTests {
    private static let spooled =
        "find $S/spool -type f ! -name CACHEDIR.TAG ! -name '*.left' -printf '%s\\n' | awk '{ sum += $1 } END { print sum + 0 }'"

    @Test(arguments: ["archive.zip", "archive.tar", "export.json", "database.sqlite"])
    func `a snapshot's file is restored from where it lies`(name: String) throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let isArchive = name.hasPrefix("archive")
            let old = try sandbox.sh(
                "cd $P; \(PhotoDiary.describeInSeconds); sqlite3 $S/app/database.sqlite 'select * from photos'")
            try sandbox.sh(
                "\(isArchive ? "rm -r $P/2024; echo new > $P/new.jpg;" : "") sqlite3 $S/app/database.sqlite 'delete from photos'")
            try sandbox.sh("cp $M/snapshots/one/\(name) $M/restore/")
            #expect(try sandbox.sh(Self.spooled) == "0")
            #expect(
                try sandbox.sh("cd $P; \(PhotoDiary.describeInSeconds); sqlite3 $S/app/database.sqlite 'select * from photos'")
                    == old)
            #expect(try sandbox.report("[.result, .file] | @json") == "[\"success\",\"\(name)\"]")
            // It is a file like any other: it can be read, truncated and written to.
            try sandbox.sh("cmp $M/snapshots/one/\(name) $M/restore/\(name)")
            #expect(try sandbox.sh("stat -c %s $M/restore/\(name)") == sandbox.sh("stat -c %s $M/snapshots/one/\(name)"))
            try sandbox.sh("printf x > $R/x; cat $R/x >> $M/restore/\(name) || true")
            try sandbox.sh("{ cat $M/snapshots/one/\(name); printf x; } | cmp - $M/restore/\(name)")
            try sandbox.sh(
                "truncate -s 10 $M/restore/\(name) || true; head -c 10 $M/snapshots/one/\(name) | cmp - $M/restore/\(name)")
        }
    }

    @Test func `a copy in parts, out of order or of a live file is a copy of bytes`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            try sandbox.python(
                """
                size = os.stat("snapshots/one/archive.zip").st_size
                source = os.open("snapshots/one/archive.zip", os.O_RDONLY)
                # From its beginning, bit by bit: still nothing but a reference.
                target = os.open("restore/a.zip", os.O_WRONLY | os.O_CREAT)
                done = 0
                while done < size:
                    done += os.copy_file_range(source, target, 10000, done, done)
                os.close(target)
                assert json.load(open("restore/last.json"))["result"] == "success"
                # The end first.
                target = os.open("restore/b.zip", os.O_WRONLY | os.O_CREAT)
                assert os.copy_file_range(source, target, size, size // 2, size // 2) == size - size // 2
                assert os.copy_file_range(source, target, size // 2, 0, 0) == size // 2
                os.close(target)
                assert read("restore/b.zip") == read("snapshots/one/archive.zip")
                assert json.load(open("restore/last.json"))["file"] == "b.zip"
                # Half of it is no archive.
                target = os.open("restore/c.zip", os.O_WRONLY | os.O_CREAT)
                assert os.copy_file_range(source, target, size // 2, 0, 0) == size // 2
                assert code(os.close, target) == "EBADMSG"
                # Nothing is copied beyond the end, nor into what cannot be written.
                assert os.copy_file_range(source, os.open("restore/d", os.O_WRONLY | os.O_CREAT), 10, size, 0) == 0
                assert code(os.copy_file_range, source, source, 10, 0, 0) != "ok"
                """)
            #expect(try sandbox.sh("cp $M/live/archive.zip $M/restore/live.zip; jq -r .result $M/restore/last.json") == "success")
        }
    }

    @Test func `a dropped archive is whole after its backup has been removed`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                "mkdir $M/snapshots/one; cp $M/snapshots/one/archive.zip $R/; cp $M/snapshots/one/archive.zip $M/restore/")
            try sandbox.sh("rmdir $M/snapshots/one; cmp $R/archive.zip $M/restore/archive.zip")
        }
    }

    /// A media file is foreign, wherever in the mount it is copied from.
    @Test func `T-A4: an archive among the media is not one of ours`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/export.json $R/")
            try sandbox.python(
                """
                import zipfile
                with zipfile.ZipFile(R + "/evil.zip", "w") as z:
                    z.write(R + "/export.json", "export.json")
                    link = zipfile.ZipInfo("media/passwd")
                    link.create_system = 3
                    link.external_attr = (stat.S_IFLNK | 0o777) << 16
                    z.writestr(link, "/etc/passwd")
                """)
            // Old enough for its bytes to be considered final.
            try sandbox.sh("cp $R/evil.zip $P/evil.zip; touch -d '2024-01-01' $P/evil.zip; mkdir $M/snapshots/two")
            for source in ["$R/evil.zip", "$M/snapshots/two/media/evil.zip", "$M/live/media/evil.zip"] {
                try sandbox.fails("cp \(source) $M/restore/", saying: "Invalid argument")
                #expect(try sandbox.sh("ls $P | grep -c passwd || true") == "0", "\(source)")
                try sandbox.sh("cmp \(source) $M/restore/evil.zip; rm $M/restore/evil.zip")
            }
        }
    }

    /// The app may write to it at any time.
    @Test func `T-A4: what is copied of live data is a copy of bytes`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("cp $M/live/export.json $M/restore/.x")
            #expect(try sandbox.sh(Self.spooled) == sandbox.sh("stat -c %s $M/live/export.json"))
        }
    }

    @Test func `T-A13: cutting a copy of a backup's archive does not copy the archive first`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; cp $M/snapshots/one/archive.zip $M/restore/.x; truncate -s 10 $M/restore/.x")
            #expect(try sandbox.sh(Self.spooled) == "10")
            try sandbox.sh("head -c 10 $M/snapshots/one/archive.zip | cmp - $M/restore/.x")
        }
    }
}

import Glibc
import TestSupport
import Testing

/// Files that were moved into `restore/` and never submitted: `mv` has removed the original, so they must not disappear with the
/// mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LeftDropTests {
    private static let move = """
        mkdir $R/usb; cd $R/usb; for name in a.json.part b.json~ .c.json d.tmp e.sqlite-wal f.sqlite-journal; do printf "only $name" > $name; done
        : > empty.part; mv a.json.part b.json~ .c.json d.tmp e.sqlite-wal f.sqlite-journal empty.part $M/restore/
        ls -A
        """
    private static let names = ".c.json a.json.part b.json~ d.tmp e.sqlite-wal f.sqlite-journal"
    private static let contents =
        "only .c.jsononly a.json.partonly b.json~only d.tmponly e.sqlite-walonly f.sqlite-journal"

    private func expectKept(_ room: Room) throws {
        #expect(
            try room.sh("cd $S/restore/left; ls -A | LC_ALL=C sort | xargs; cat $(ls -A | LC_ALL=C sort)")
                == "\(Self.names)\n\(Self.contents)")
        #expect(try room.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
        #expect(try room.sh("stat -c %a $S/restore/left $S/restore/left/d.tmp | xargs") == "700 600")
    }

    @Test func `what was moved in and never judged is kept when the mount ends`() throws {
        try Room.withMount { room in
            #expect(try room.sh(Self.move) == "")
            try room.unmount()
            try expectKept(room)
            #expect(
                try room.sh("cat $S/mount.log").contains(
                    "files in restore/ were never restored. They are kept in \(room.path)/store/restore/left: "))
            #expect(
                try room.sh("backupfs status --store $S").contains(
                    "Files that were copied into restore/ and never restored: 6, in \(room.path)/store/restore/left"))
            #expect(try room.sh("backupfs status --json --store $S | jq .leftFileCount") == "6")
            // The next mount leaves them, and a later file with the same name gets another one.
            try room.mount()
            try room.sh("printf again > $M/restore/d.tmp; printf removed > $M/restore/gone.part; rm $M/restore/gone.part")
            try room.unmount()
            #expect(try room.sh("cd $S/restore/left; cat d.tmp d.tmp.2; ls | grep -c gone || true") == "only d.tmpagain0")
            try room.mount()
        }
    }

    @Test func `a file that was restored in part is kept, and one that was restored whole is not`() throws {
        try Room.withMount("--sample") { room in
            // An export contains its creation time, to the second. No safety backup with other data may get the name `same.json`.
            try room.sh(
                """
                jq '.expenses[0].notes = "ONLY HERE"' $M/live/export.json > $R/other.json; cp $M/live/export.json $R/same.json
                jq '.expenses[0].further = "ONLY HERE, TOO"' $M/live/export.json > $R/further.json
                second=$(date +%s); while [ $(date +%s) = $second ]; do sleep 0.02; done
                mv $R/other.json $M/restore/skip/; mv $R/further.json $M/restore/; mv $R/same.json $M/restore/
                """)
            try room.unmount()
            #expect(
                try room.sh("ls $S/restore/left; grep -c 'ONLY HERE' $S/restore/left/* | cut -d: -f2 | xargs")
                    == "further.json\nother.json\n1 1")
            try room.mount()
        }
    }

    @Test func `after a crash the next mount keeps it`() throws {
        try Room.withMount { room in
            #expect(try room.sh(Self.move) == "")
            let daemon = try #require(room.daemons.first)
            kill(daemon, SIGKILL)
            #expect(room.waitForProcesses())
            try room.sh("umount -l $M 2>/dev/null || fusermount3 -u -z $M")
            try room.mount()
            try expectKept(room)
        }
    }

    @Test func `what was judged goes with the mount, as before`() throws {
        try Room.withMount { room in
            try room.write(SampleDocument.text, to: "good.json")
            try room.sh("cp $R/good.json $M/restore/x.json.part; mv $M/restore/x.json.part $M/restore/x.json")
            try room.fails("printf '{' > $R/bad.json; cp $R/bad.json $M/restore/", saying: "Invalid argument")
            try room.sh("printf later > $M/restore/y.part; mv $M/restore/y.part $M/restore/z.part")
            try room.unmount()
            #expect(try room.sh("ls -A $S/restore/left") == "z.part")
            try room.mount()
        }
    }

    @Test func `what is refused when it gets its final name is kept`() throws {
        try Room.withMount { room in
            try room.write(SampleDocument.text, to: "good.json")
            try room.sh("cp $R/good.json $R/locked.json.part; printf '{' > $R/bad.json.part; mv $R/*.part $M/restore/")
            try room.fails("mv $M/restore/bad.json.part $M/restore/bad.json", saying: "a subdirectory of itself")
            _ = try room.python(
                """
                database = sqlite3.connect(S + "/app/database.sqlite", isolation_level=None)
                database.execute("begin immediate")
                try:
                    os.rename(M + "/restore/locked.json.part", M + "/restore/locked.json")
                    raise SystemExit("it was taken")
                except OSError as error:
                    assert error.errno == errno.EBUSY, error
                """)
            try room.unmount()
            #expect(
                try room.sh("cd $S/restore/left; ls; cat bad.json.part; cmp locked.json.part $R/good.json")
                    == "bad.json.part\nlocked.json.part\n{")
            try room.mount()
        }
    }

    @Test func `a log that comes after its database was restored is refused`() throws {
        try Room.withMount { room in
            try room.sh(
                """
                mkdir $R/usb; sqlite3 $S/app/database.sqlite ".backup $R/usb/phone.sqlite"
                printf 'rows that only the log has' > $R/usb/phone.sqlite-wal; : > $R/usb/phone.sqlite-journal
                mv $R/usb/phone.sqlite $M/restore/; mv $R/usb/phone.sqlite-journal $M/restore/
                """)
            #expect(try room.report(".result") == "success")
            try room.fails("mv $R/usb/phone.sqlite-wal $M/restore/", saying: "Invalid argument")
            try room.fails("cp $R/usb/phone.sqlite-wal $M/restore/", saying: "Invalid argument")
            #expect(
                try room.sh("getfattr --only-values -n user.backupfs.error $M/restore/phone.sqlite-wal").contains(
                    "the database phone.sqlite was restored before its log came, and without what that holds"))
            #expect(try room.sh("cat $R/usb/phone.sqlite-wal") == "rows that only the log has")
            // The log of another database is kept, like any file that is not submitted.
            try room.sh("printf other > $M/restore/other.sqlite-wal")
            try room.unmount()
            #expect(try room.sh("ls -A $S/restore/left") == "other.sqlite-wal")
            try room.mount()
        }
    }
}

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

    private func expectKept(_ sandbox: Sandbox) throws {
        #expect(
            try sandbox.sh("cd $S/restore/left; ls -A | LC_ALL=C sort | xargs; cat $(ls -A | LC_ALL=C sort)")
                == "\(Self.names)\n\(Self.contents)")
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
        #expect(try sandbox.sh("stat -c %a $S/restore/left $S/restore/left/d.tmp | xargs") == "700 600")
    }

    @Test func `what was moved in and never judged is kept when the mount ends`() throws {
        try Sandbox.withMount { sandbox in
            #expect(try sandbox.sh(Self.move) == "")
            try sandbox.unmount()
            try expectKept(sandbox)
            #expect(
                try sandbox.sh("cat $S/mount.log").contains(
                    "files in restore/ were never restored. They are kept in \(sandbox.path)/store/restore/left: "))
            #expect(
                try sandbox.sh("backupfs status --store $S").contains(
                    "Files that were copied into restore/ and never restored: 6, in \(sandbox.path)/store/restore/left"))
            #expect(try sandbox.sh("backupfs status --json --store $S | jq .leftFileCount") == "6")
            // The next mount leaves them, and a later file with the same name gets another one.
            try sandbox.mount()
            try sandbox.sh("printf again > $M/restore/d.tmp; printf removed > $M/restore/gone.part; rm $M/restore/gone.part")
            try sandbox.unmount()
            #expect(try sandbox.sh("cd $S/restore/left; cat d.tmp d.tmp.2; ls | grep -c gone || true") == "only d.tmpagain0")
            try sandbox.mount()
        }
    }

    @Test func `a file that was restored in part is kept, and one that was restored whole is not`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            // An export contains its creation time, to the second. No safety backup with other data may get the name `same.json`.
            try sandbox.sh(
                """
                jq '.expenses[0].notes = "ONLY HERE"' $M/live/export.json > $R/other.json; cp $M/live/export.json $R/same.json
                jq '.expenses[0].further = "ONLY HERE, TOO"' $M/live/export.json > $R/further.json
                wait_second
                mv $R/other.json $M/restore/skip/; mv $R/further.json $M/restore/; mv $R/same.json $M/restore/
                """)
            try sandbox.unmount()
            #expect(
                try sandbox.sh("ls $S/restore/left; grep -c 'ONLY HERE' $S/restore/left/* | cut -d: -f2 | xargs")
                    == "further.json\nother.json\n1 1")
            try sandbox.mount()
        }
    }

    @Test func `after a crash the next mount keeps it`() throws {
        try Sandbox.withMount { sandbox in
            #expect(try sandbox.sh(Self.move) == "")
            let daemon = try #require(sandbox.daemons.first)
            kill(daemon, SIGKILL)
            #expect(sandbox.waitForProcesses())
            try sandbox.sh("umount -l $M 2>/dev/null || fusermount3 -u -z $M")
            try sandbox.mount()
            try expectKept(sandbox)
        }
    }

    @Test func `what was judged goes with the mount, as before`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.sh("cp $R/good.json $M/restore/x.json.part; mv $M/restore/x.json.part $M/restore/x.json")
            try sandbox.fails("printf '{' > $R/bad.json; cp $R/bad.json $M/restore/", saying: "Invalid argument")
            try sandbox.sh("printf later > $M/restore/y.part; mv $M/restore/y.part $M/restore/z.part")
            try sandbox.unmount()
            #expect(try sandbox.sh("ls -A $S/restore/left") == "z.part")
            try sandbox.mount()
        }
    }

    @Test func `what is refused when it gets its final name is kept`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.sh("cp $R/good.json $R/locked.json.part; printf '{' > $R/bad.json.part; mv $R/*.part $M/restore/")
            try sandbox.fails("mv $M/restore/bad.json.part $M/restore/bad.json", saying: "a subdirectory of itself")
            _ = try sandbox.python(
                """
                database = sqlite3.connect(S + "/app/database.sqlite", isolation_level=None)
                database.execute("begin immediate")
                try:
                    os.rename(M + "/restore/locked.json.part", M + "/restore/locked.json")
                    raise SystemExit("it was taken")
                except OSError as error:
                    assert error.errno == errno.EBUSY, error
                """)
            try sandbox.unmount()
            #expect(
                try sandbox.sh("cd $S/restore/left; ls; cat bad.json.part; cmp locked.json.part $R/good.json")
                    == "bad.json.part\nlocked.json.part\n{")
            try sandbox.mount()
        }
    }

    @Test func `a log that comes after its database was restored is refused`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh(
                """
                mkdir $R/usb; sqlite3 $S/app/database.sqlite ".backup $R/usb/phone.sqlite"
                printf 'rows that only the log has' > $R/usb/phone.sqlite-wal; : > $R/usb/phone.sqlite-journal
                mv $R/usb/phone.sqlite $M/restore/; mv $R/usb/phone.sqlite-journal $M/restore/
                """)
            #expect(try sandbox.report(".result") == "success")
            try sandbox.fails("mv $R/usb/phone.sqlite-wal $M/restore/", saying: "Invalid argument")
            try sandbox.fails("cp $R/usb/phone.sqlite-wal $M/restore/", saying: "Invalid argument")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.error $M/restore/phone.sqlite-wal").contains(
                    "the database phone.sqlite was restored before its log came, and without what that holds"))
            #expect(try sandbox.sh("cat $R/usb/phone.sqlite-wal") == "rows that only the log has")
            // The log of another database is kept, like any file that is not submitted.
            try sandbox.sh("printf other > $M/restore/other.sqlite-wal")
            try sandbox.unmount()
            #expect(try sandbox.sh("ls -A $S/restore/left") == "other.sqlite-wal")
            try sandbox.mount()
        }
    }
}

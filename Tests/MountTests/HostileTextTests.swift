import Glibc
import TestSupport
import Testing

/// Foreign texts are made harmless before they reach a terminal, and foreign stores are not trusted.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HostileTextTests {
    /// Runs a command on a terminal; fails when its output has any escape sequence except its own formatting.
    private static let harmless = #"""
        import pty, re
        def shown(*words):
            process, terminal = pty.fork()
            if process == 0:
                os.execvp(words[0], words)
            output = b""
            while True:
                try:
                    part = os.read(terminal, 10000)
                except OSError:
                    break
                if not part:
                    break
                output += part
            os.waitpid(process, 0)
            text = output.decode()
            bare = re.sub("^\x1b\\[3[12]m[✓✗]\x1b\\[0m ", "", text, flags=re.M)
            assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", bare), repr(text)
            return text
        """#

    @Test func `T-A10: names and texts with escape sequences do nothing to a terminal`() throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.python(
                """
                os.chdir(R)
                name = "a\\x1b]0;pwned\\x07\\u202e\\nb.jpg"
                open(S + "/app/photos/" + name, "w").write("x")
                database = sqlite3.connect(S + "/app/database.sqlite")
                database.execute("insert or replace into app_metadata values ('app_version', '\\x1b[2J' || char(155) || '1m')")
                database.execute("insert into photos values (7, ?, '\\x1b[31m')", (name,))
                database.commit()
                """)
            try sandbox.sh(
                "backupfs backup --store $S --label one; sqlite3 $S/app/database.sqlite 'delete from photos'; rm $P/a*; backupfs backup --store $S --label two"
            )
            try sandbox.sh(
                "backupfs export one --json -o $R/bad.json --store $S; sed -i 's/\"photos\"/\"photos\\\\u001b[2J\"/' $R/bad.json; mv $R/bad.json $R/$'b\\033[2J.json'"
            )
            try sandbox.python(
                Self.harmless + #"""

                    os.chdir(R)
                    for words in (["ls", "one"], ["ls", "-R", "one"], ["find", "*"], ["diff", "one", "two"], ["snapshots"], ["status"], ["verify", "one"],
                                  ["check", "--read-data"], ["stats"], ["history"], ["restore", "--yes", "b\x1b[2J.json"], ["status"], ["restore", "--dry-run", "one"],
                                  ["snapshots", "--json"], ["snapshots", "--safety"], ["ls", "one", "--json"], ["find", "*", "--json"], ["status", "--records"],
                                  ["diff", "one", "two", "--json"], ["undo", "-n"], ["undo", "-n", "--json"]):
                        # Whether to try again is not to be asked.
                        text = shown("sh", "-c", 'exec backupfs "$@" </dev/null', "sh", *words, "--store", S)
                        assert text.strip(), words
                    assert "\\033]0;pwned\\007" in shown("backupfs", "find", "a*", "--store", S)
                    # For a program the name is as it is.
                    raw = subprocess.run(["backupfs", "find", "a*", "--store", S], capture_output=True, text=True).stdout
                    assert "\x1b]0;pwned\x07" in raw, repr(raw)
                    report = open(S + "/restore/last.txt").read()
                    assert "\x1b" not in report, repr(report)
                    """#)
        }
    }

    @Test func `T-A16: settings with the line ends of another system are changed in their lines`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S; sed -i 's/$/\\r/' $S/store.yaml; cp $S/store.yaml $R/before.yaml")
            try sandbox.sh("backupfs config set repository $R/elsewhere --store $S; backupfs config set keep-daily 7 --store $S")
            #expect(try sandbox.sh("backupfs config get repository --store $S") == "\(sandbox.path)/elsewhere")
            #expect(try sandbox.sh("backupfs config get keep-daily --store $S") == "7")
            let difference = try sandbox.sh("diff $R/before.yaml $S/store.yaml | grep -c '^[<>]' || true")
            #expect(difference == "4", "two lines have changed, and no other")
            #expect(try sandbox.sh("grep -c -v $'\\r$' $S/store.yaml || true") == "0")
            try sandbox.sh(
                "backupfs config unset keep-daily --store $S; backupfs config unset schedule --store $S; backupfs config check --store $S || true"
            )
            // Without any line end, and with those of classic Mac OS.
            try sandbox.sh(
                "tr -d '\\r' < $R/before.yaml | tr '\\n' '\\r' > $S/store.yaml; backupfs config set keep-daily 9 --store $S")
            #expect(try sandbox.sh("backupfs config get keep-daily --store $S") == "9")
        }
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: another user needs root"))
    func `T-A21: no command believes what lies in a store of another user`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S; chown -R 65534 $S")
            try sandbox.write(
                "import fcntl, os, time\nfile = open(os.environ['S'] + '/mount.lock', 'a')\nfcntl.lockf(file, fcntl.LOCK_EX)\n"
                    + "open(os.environ['R'] + '/held', 'w')\ntime.sleep(60)\n", to: "hold.py")
            for command in [
                "cancel", "umount", "history", "config get", "config set keep-daily 7", "config unset keep-daily", "config check",
                "app show",
            ] {
                // According to its own record, it is mounted somewhere.
                try sandbox.sh("echo $M > $S/mountpoint; chown 65534 $S/mountpoint; mountpoint -q $M || mount -t tmpfs none $M")
                let held = try sandbox.start("exec python3 $R/hold.py")
                // It must also be reaped: otherwise the tests that wait for processes to end would wait forever.
                defer {
                    kill(held.process, SIGKILL)
                    _ = try? held.wait()
                }
                try sandbox.wait(for: "\(sandbox.path)/held")
                try sandbox.fails("backupfs \(command) --store $S", saying: "this belongs to another user (65534)", exitCode: 1)
                #expect(sandbox.mounts == [sandbox.mountpoint], "\(command)")
                try sandbox.sh("umount $M; rm $R/held")
            }
        }
    }

    @Test func `T-A10: what a purge tells of users' stores is text`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "mkdir -p $R/home/.local/share/backupfs; printf 'repository: \"/x\\033[2Jé\\\\033[31m\"\\n' > $R/home/.local/share/backupfs/store.yaml"
            )
            try sandbox.write("#!/bin/sh\necho \"u:x:1:1::$R/home:/bin/sh\"\n", to: "bin/getent")
            let script = try sandbox.sh("chmod +x $R/bin/getent; echo \(Machine.projectPath)/mount-scripts/package/postrm")
            let said = try sandbox.sh(
                "sed -e '/rm -f/d' -e '/rmdir/d' -e '/systemctl/d' \(script) > $R/postrm; sh $R/postrm purge")
            #expect(!said.contains("\u{1B}"))
            #expect(said.contains("(its backups: /x[2Jé\\033[31m)"), "\(said)")
        }
    }
}

import TestSupport
import Testing

/// The state of a dropped file while it is checked and restored, and which close or rename submits it.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct DropStandstillTests {
    private func withPause(at point: String, _ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample")
            try sandbox.write(SampleDocument.text, to: "good.json")
            // As long as the good one, and just as valid.
            try sandbox.write(SampleDocument.replacing("Tesla Model 3", "Another owner"), to: "evil.json")
            try sandbox.sh("touch $R/pause; [ $(stat -c %s $R/good.json) = $(stat -c %s $R/evil.json) ]")
            try sandbox.mount(["BACKUPFS_FAULT": "\(point)=pause:\(sandbox.path)/pause"])
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    @Test func `T-A8: while it is restored nothing writes to it, and what was checked is imported`() throws {
        try withPause(at: "restore.safety-made") { sandbox in
            let restoring = try sandbox.start("cp $R/good.json $M/restore/x.json")
            try sandbox.wait(for: "\(sandbox.path)/pause.reached")
            try sandbox.fails(
                "dd if=$R/evil.json of=$M/restore/x.json conv=notrunc status=none", saying: "Device or resource busy")
            try sandbox.fails("cp $R/evil.json $M/restore/x.json", saying: "Device or resource busy")
            try sandbox.fails("truncate -s 10 $M/restore/x.json", saying: "Device or resource busy")
            try sandbox.fails("mv $M/restore/x.json $M/restore/preview/", saying: "Device or resource busy")
            try sandbox.sh("cmp $R/good.json $M/restore/x.json; rm $R/pause")
            let result = try restoring.wait(limitSeconds: 60)
            #expect(result.exitCode == 0, "\(result.text)")
            #expect(try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Tesla Model 3")
            // Afterwards it can be written to again, and is submitted again.
            try sandbox.sh("cp $R/evil.json $M/restore/x.json")
            #expect(try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Another owner")
        }
    }

    @Test func `T-A8: removing it does not take it away from the restore that reads it`() throws {
        try withPause(at: "restore.safety-made") { sandbox in
            let restoring = try sandbox.start("cp $R/good.json $M/restore/x.json")
            try sandbox.wait(for: "\(sandbox.path)/pause.reached")
            try sandbox.sh("rm $M/restore/x.json $R/pause")
            let result = try restoring.wait(limitSeconds: 60)
            #expect(result.exitCode == 0, "\(result.text)")
            #expect(try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Tesla Model 3")
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
        }
    }

    @Test func `T-A22: a dropped file that is open keeps its bytes after its name is gone`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.python(
                """
                file = os.open("restore/.x", os.O_RDWR | os.O_CREAT)
                os.write(file, b"twelve bytes")
                os.unlink("restore/.x")
                assert os.fstat(file).st_size == 12, os.fstat(file)
                assert os.pread(file, 100, 0) == b"twelve bytes"
                os.write(file, b" and more")
                assert os.fstat(file).st_size == 21
                os.close(file)
                """)
            try sandbox.sh(
                "wait_until '[ -z \"$(ls -A -I CACHEDIR.TAG $S/spool)\" ]'")
        }
    }

    @Test func `T-A15: a close of what wrote nothing is no verdict on what another program is still writing`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.python(
                """
                text = open(R + "/good.json", "rb").read()
                writer = os.open("restore/x.json", os.O_WRONLY | os.O_CREAT)
                os.write(writer, text[:500])
                subprocess.run(["touch", "restore/x.json"], check=True)
                for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
                    other = os.open("restore/x.json", flags)
                    assert code(os.close, other) == "ok"
                assert not os.path.exists("restore/last.json"), read("restore/last.json")
                os.write(writer, text[500:])
                assert code(os.close, writer) == "ok"
                assert json.load(open("restore/last.json"))["result"] == "success"
                """)
            #expect(try sandbox.sh("backupfs history --store $S --json | jq -s 'flatten | length'") == "1")
        }
    }

    @Test(arguments: [
        "#x.json#", "~$x.json", "x.sqlite-journal", "x.sqlite-wal", "x.json.filepart", "x.json.download", "x.json.opdownload",
        "x.zip.aria2",
    ])
    func `T-A9: what programs write beside a file is not restored`(name: String) throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.sh("cp $R/good.json $M/restore/'\(name)'; test ! -e $M/restore/last.json")
            try sandbox.sh("mv $M/restore/'\(name)' $M/restore/x.json")
            #expect(try sandbox.report(".result") == "success")
        }
    }

    /// Qt's QSaveFile: a temporary name, a close whose error it ignores, and then a rename whose error it checks.
    @Test func `T-A9: the rename of a file that was refused says so again`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.replacing("\"carId\": 1\n", "\"carId\": 99\n"), to: "bad.json")
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.python(
                """
                def save(text, name):
                    file = os.open("restore/" + name + ".Xy12Ab", os.O_WRONLY | os.O_CREAT)
                    os.write(file, text)
                    code(os.close, file)
                    return code(os.rename, "restore/" + name + ".Xy12Ab", "restore/" + name)
                assert save(open(R + "/bad.json", "rb").read(), "a.json") == "EINVAL"
                assert os.listdir("restore").count("a.json.Xy12Ab") == 1
                assert save(open(R + "/good.json", "rb").read(), "b.json") == "ok"
                """)
            // The good one was restored once, at its close, and not again at its rename.
            #expect(try sandbox.names("safety").count == 1)
        }
    }

    @Test func `F11: an empty file says that nothing was restored`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh(": > $R/empty.json; cp $R/empty.json $M/restore/; cp $R/empty.json $M/restore/preview/")
            let words = "the file is empty. There is nothing in it to restore, and nothing was restored."
            #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.error $M/restore/empty.json") == words)
            #expect(try sandbox.sh("cat $M/restore/preview/empty.json.preview.txt") == "empty.json: \(words)")
        }
    }

    @Test func `ERR-01: last.txt says that an empty file was empty, and what is written to it later is restored`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.sh(": > $R/empty.json; cp $R/empty.json $M/restore/")
            // The kernel reports the last close after `cp` has ended.
            let told = "wait_until grep -q '^empty.json' $M/restore/last.txt"
            #expect(
                try sandbox.sh("\(told); head -1 $M/restore/last.txt; grep '^- ' $M/restore/last.txt")
                    == """
                    empty.json: not restored. Invalid file format. Please select a valid backup file.
                    - the file is empty
                    """)
            #expect(
                try sandbox.sh("jq -r '.result, .file, .restoreError' $M/restore/last.json")
                    == "refused\nempty.json\nvalidationFailed")
            #expect(try sandbox.names("safety") == [])
            // Programs that create a file, close it, and write to it afterwards: immediately, again and again.
            try sandbox.python(
                """
                good = open(R + "/good.json", "rb").read()
                for number in range(10):
                    name = f"restore/made-{number}.json"
                    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                    with open(name, "wb") as file: file.write(good)
                """)
            #expect(try sandbox.sh("jq -r '.result, .file' $M/restore/last.json") == "success\nmade-9.json")
        }
    }

    @Test func `T-A22: the preview of a file with the longest name can be read`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "good.json")
            try sandbox.python(
                """
                for name in ("x" * 255, "é" * 127 + "x", "x" + "é" * 127):
                    with open("restore/preview/" + name, "wb") as file:
                        file.write(open(R + "/good.json", "rb").read())
                    views = [each for each in os.listdir("restore/preview") if each.endswith(".preview.txt")]
                    assert len(views) == 1, views
                    assert b"can be restored" in read("restore/preview/" + views[0])
                    os.unlink("restore/preview/" + name)
                """)
        }
    }
}

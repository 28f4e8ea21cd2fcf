import Glibc
import TestSupport
import Testing

/// The drop folder, filled by every kind of program that copies.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct DropProtocolTests {
    /// Writes `old.json`, a good file; `bad.json`, a complete one with a broken reference; `a` and `b`, the halves of `old.json`.
    private func withFiles(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.write(SampleDocument.replacing("\"carId\": 1\n", "\"carId\": 99\n"), to: "bad.json")
            try sandbox.sh(
                """
                cd $R; head -c 900 old.json > a; tail -c +901 old.json > b; touch -d '2025-05-05 05:05:05' old.json
                chmod 640 old.json
                """
            )
            try body(sandbox)
        }
    }

    /// Restores other data, so that the next restore is visible.
    private func reset(_ sandbox: Sandbox) throws {
        try sandbox.write(SampleDocument.variant("before"), to: "other.json")
        try sandbox.sh("cp $R/other.json $M/restore/; [ \"$(jq -r .cars[0].name $M/live/export.json)\" = before ]")
    }

    private func hasRestored(_ sandbox: Sandbox) throws -> Bool {
        try sandbox.sh("jq -r .cars[0].name $M/live/export.json") == "Tesla Model 3"
    }

    static let copiers = [
        "cp $R/old.json $M/restore/x.json", "cp -p $R/old.json $M/restore/x.json", "cp -a $R/old.json $M/restore/x.json",
        "cp --sparse=always $R/old.json $M/restore/x.json", "cp --reflink=auto $R/old.json $M/restore/x.json",
        "cat $R/a $R/b > $M/restore/x.json", "(head -c 900 $R/old.json; tail -c +901 $R/old.json) > $M/restore/x.json",
        "{ cat $R/a; cat $R/b; } > $M/restore/x.json", "cat $R/a > $M/restore/x.json || cat $R/b >> $M/restore/x.json",
        "cat $R/old.json | tee $M/restore/x.json >/dev/null", "dd if=$R/old.json of=$M/restore/x.json bs=100 status=none",
        "dd if=$R/old.json of=$M/restore/x.json conv=fsync status=none",
        "cp $R/old.json $R/x.json; mv $R/x.json $M/restore/x.json",
        "install -m 600 $R/old.json $M/restore/x.json", "rsync -a $R/old.json $M/restore/x.json",
        "rsync -a --inplace $R/old.json $M/restore/x.json", "rsync -a --partial --fsync $R/old.json $M/restore/x.json",
        "cp $R/old.json $R/x.json; tar -C $R -cf - x.json | tar -C $M/restore -xf -",
        "cp $R/old.json $M/restore/x.json.part && mv $M/restore/x.json.part $M/restore/x.json",
        "cp $R/old.json $M/restore/.goutputstream-ABC && mv $M/restore/.goutputstream-ABC $M/restore/x.json",
        "cp $R/old.json $M/restore/x.crdownload; mv $M/restore/x.crdownload $M/restore/x.json",
        "python3 -c \"import shutil; shutil.copyfile('$R/old.json', '$M/restore/x.json')\"",
        "python3 -c \"import shutil; shutil.copy2('$R/old.json', '$M/restore/x.json')\"",
        "while IFS= read -r line || [ -n \"$line\" ]; do printf '%s\\n' \"$line\"; done < $R/old.json > $M/restore/x.json",
        "printf %s \"$(cat $R/old.json)\" > $M/restore/x.json",
        "exec 7> $M/restore/x.json; cat $R/a >&7; cat $R/b >&7; exec 7>&-",
    ]

    @Test func `every way to copy a file in restores it, once`() throws {
        try withFiles { sandbox in
            for copier in Self.copiers {
                try reset(sandbox)
                try sandbox.sh("rm -f $M/restore/x.json; sleep 0.01")
                // (Not `ls -i`, which pads the numbers to one width: the same file's line could differ.)
                let list = "find $M/safety -type f -printf '%i %f\\n'"
                let safety = try sandbox.sh(list)
                try sandbox.sh(copier)
                #expect(try hasRestored(sandbox), "\(copier)")
                // One restore makes one safety backup, and the oldest of them is removed.
                let added = Set(try sandbox.sh(list).split(separator: "\n")).subtracting(safety.split(separator: "\n"))
                #expect(added.count == 1, "\(copier) restored \(added.count) times")
                let copied = try sandbox.sh("cat $M/restore/x.json")
                #expect(copied + "\n" == SampleDocument.text, "\(copier): \(copied)")
            }
            #expect(
                try sandbox.names("restore") == [
                    "LAST RESULT - RESTORED.txt", "README.txt", "last.json", "last.txt", "merge", "other.json", "preview",
                    "replace", "skip", "x.json",
                ])
        }
    }

    @Test(arguments: [
        "cp $R/bad.json $M/restore/x.json", "cat $R/bad.json > $M/restore/x.json",
        "dd if=$R/bad.json of=$M/restore/x.json status=none",
        "cp $R/bad.json $R/x.json; mv $R/x.json $M/restore/x.json", "cat $R/bad.json | tee $M/restore/x.json >/dev/null",
        "python3 -c \"import shutil; shutil.copyfile('$R/bad.json', '$M/restore/x.json')\"",
        "install $R/bad.json $M/restore/x.json",
        "(head -c 900 $R/bad.json; tail -c +901 $R/bad.json) > $M/restore/x.json", "rsync -a $R/bad.json $M/restore/x.json",
        "cp $R/bad.json $M/restore/x.part && mv $M/restore/x.part $M/restore/x.json", "cat $R/a > $M/restore/x.json",
        "dd if=$R/bad.json of=$M/restore/x.json conv=fsync status=none",
    ])
    func `a program that copies a bad file in gets an error`(copier: String) throws {
        try withFiles { sandbox in
            let before = try sandbox.state()
            // mv has its own message for EINVAL from a rename.
            let words =
                copier.contains("mv $M") ? "cannot move" : copier.contains("rsync") ? "Invalid argument (22)" : "Invalid argument"
            try sandbox.fails(copier, saying: words)
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            #expect(try sandbox.report(".success") == "false")
            // A rejected mv leaves its source in place.
            if copier.contains("mv $R/x.json") { try sandbox.sh("cmp $R/x.json $R/bad.json") }
        }
    }

    @Test func `where a program gets no error, the report has it`() throws {
        try withFiles { sandbox in
            for copier in [
                "printf '%s\\n' \"$(cat $R/bad.json)\" > $M/restore/x.json", "rsync -a --inplace $R/bad.json $M/restore/x.json",
            ] {
                _ = try sandbox.run("rm -f $M/restore/x.json; \(copier)")
                #expect(try sandbox.report("[.result, .file] | @json") == #"["refused","x.json"]"#)
                #expect(
                    try sandbox.sh("getfattr --only-values -n user.backupfs.error $M/restore/x.json").contains("unknown car 99"))
                try sandbox.sh("rm $M/restore/last.json 2>/dev/null || true")
            }
        }
    }

    @Test func `times and modes that programs set stay, and the bytes can be read back`() throws {
        try withFiles { sandbox in
            try sandbox.sh("cp -p $R/old.json $M/restore/; cmp $R/old.json $M/restore/old.json")
            #expect(try sandbox.sh("stat -c '%y %a %s' $M/restore/old.json") == sandbox.sh("stat -c '%y %a %s' $R/old.json"))
            #expect(
                try sandbox.sh(
                    "rsync -ani --no-p --no-g --no-o $R/old.json $M/restore/; rsync -a --no-o --no-g $R/old.json $M/restore/")
                    == "")
            try sandbox.sh(
                """
                touch -d '2001-02-03 04:05:06' $M/restore/old.json; chmod 600 $M/restore/old.json
                chown 65534 $M/restore/old.json || true
                """
            )
            #expect(try sandbox.sh("stat -c '%y' $M/restore/old.json") == "2001-02-03 04:05:06.000000000 +0000")
            // None of this is another restore.
            #expect(try sandbox.names("safety").count == 1)
        }
    }

    @Test func `touch and unfinished names restore nothing`() throws {
        try withFiles { sandbox in
            let before = try sandbox.state()
            try sandbox.sh("touch $M/restore/x.json; true > $M/restore/y.json; truncate -s 0 $M/restore/z.json")
            for name in [".hidden", "x.part", "x.partial", "x.crdownload", "x.tmp", "x.json~", ".old.json.AbCdEf"] {
                try sandbox.sh("cp $R/old.json \"$M/restore/\(name)\"; cp $R/bad.json \"$M/restore/\(name)\"")
            }
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            #expect(try sandbox.sh("stat -c %s $M/restore/x.json") == "0")
            // An empty file is reported as not restored.
            #expect(try sandbox.sh("jq -r .result $M/restore/last.json 2>/dev/null || echo none") != "success")
            // A file that is finally complete, but bad, keeps its unfinished name.
            try sandbox.fails("mv $M/restore/x.part $M/restore/final.json", saying: "cannot move")
            #expect(try sandbox.names("restore").contains("x.part"))
            #expect(try !sandbox.names("restore").contains("final.json"))
        }
    }

    @Test func `a copy that is killed half way changes nothing`() throws {
        try withFiles { sandbox in
            try sandbox.write(SampleDocument.variant("long", expenses: 2000), to: "long.json")
            let before = try sandbox.state()
            let job = try sandbox.start(
                """
                python3 -c "import time; f=open('$M/restore/x.json','wb',0); f.write(open('$R/long.json','rb').read()[:100000])
                open('$R/half','w'); time.sleep(60)"
                """
            )
            try sandbox.wait(for: "\(sandbox.path)/half")
            kill(-job.process, SIGKILL)
            #expect(try job.wait().exitCode == 137)
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            // The same file, complete, over it.
            try sandbox.sh("cp $R/long.json $M/restore/x.json")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "2000")
        }
    }

    @Test func `duplicated descriptors restore once, and another copy restores again`() throws {
        try withFiles { sandbox in
            try sandbox.sh(
                """
                python3 - <<'END'
                import os
                data = open(os.environ["R"] + "/old.json", "rb").read()
                file = os.open(os.environ["M"] + "/restore/x.json", os.O_WRONLY | os.O_CREAT)
                os.close(os.dup(file))
                os.write(file, data)
                for turn in range(5): os.close(os.dup(file))
                if os.fork() == 0: os._exit(0)
                os.wait()
                os.pwrite(file, data, 0)
                os.close(file)
                END
                """)
            #expect(try hasRestored(sandbox))
            #expect(try sandbox.names("safety").count == 1)
            try sandbox.sh("sqlite3 $S/app/database.sqlite \"update cars set name='changed'\"; cp $R/old.json $M/restore/x.json")
            #expect(try hasRestored(sandbox))
            #expect(try sandbox.names("safety").count == 2)
        }
    }

    private static let names = [
        "LAST RESULT - RESTORED.txt", "README.txt", "last.json", "last.txt", "merge", "preview", "replace", "skip",
    ]

    @Test func `a name can be used again, renamed and removed`() throws {
        try withFiles { sandbox in
            try sandbox.fails("cp $R/bad.json $M/restore/x.json", saying: "Invalid argument")
            try sandbox.sh("cp $R/old.json $M/restore/x.json")
            #expect(try hasRestored(sandbox))
            try sandbox.fails("getfattr -n user.backupfs.error $M/restore/x.json", saying: "No such attribute")
            try sandbox.sh("mv $M/restore/x.json $M/restore/y.json")
            #expect(try sandbox.names("safety").count == 1)
            try sandbox.sh("cp $R/old.json $R/z.json; mv -f $R/z.json $M/restore/y.json; rm $M/restore/y.json")
            #expect(try sandbox.names("restore") == Self.names)
            #expect(try sandbox.names("safety").count == 2)
            // Listed until then, gone with the mount; the reports stay.
            try sandbox.sh("cp $R/old.json $M/restore/x.json")
            try sandbox.remount()
            #expect(try sandbox.names("restore") == Self.names)
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
        }
    }

    @Test func `what is not a file to restore is refused`() throws {
        try withFiles { sandbox in
            let before = try sandbox.state()
            let cases = [
                ("cp $R/old.json $M/restore/last.json", "Read-only file system"), ("rm $M/restore/preview", ""),
                ("rmdir $M/restore/preview", "Read-only file system"), ("mkdir $M/restore/folder", "Operation not permitted"),
                ("mkdir $R/folder; cp $R/old.json $R/folder; cp -r $R/folder $M/restore/", "Operation not permitted"),
                ("ln -s $R/old.json $M/restore/link", ""), ("mkfifo $M/restore/pipe", ""),
                ("cp $R/old.json $M/", "Read-only file system"), ("cp $R/old.json $M/snapshots/", "Operation not permitted"),
                ("cp $R/old.json $M/live/export.json", "Read-only file system"),
                ("cp $R/old.json $M/safety/", "Read-only file system"),
                ("cp $R/old.json $M/restore/nowhere/", ""),
                ("touch $M/restore/x.json; setfattr -n user.mine -v 1 $M/restore/x.json", "Operation not supported"),
            ]
            for (command, words) in cases { try sandbox.fails(command, saying: words) }
            #expect(try sandbox.state() == before)
        }
    }

    @Test func `FEV-14: large files come through whole`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh(
                """
                python3 - <<'END'
                import json, os
                document = json.loads('''\(SampleDocument.text)''')
                first = document["expenses"][0]
                notes = lambda number: "\\U0001F697 " + "note " * (number % 50)
                document["expenses"] = [dict(first, id=number, notes=notes(number)) for number in range(1, 5001)]
                json.dump(document, open(os.environ["R"] + "/large.json", "w"), ensure_ascii=False)
                END
                cp $R/large.json $M/restore/
                """)
            try sandbox.sh("cmp $R/large.json $M/restore/large.json")
            try sandbox.sh("cmp <(jq -c .expenses $R/large.json) <(jq -c .expenses $M/live/export.json)")
        }
    }
}

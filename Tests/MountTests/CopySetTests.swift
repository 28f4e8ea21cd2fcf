import SystemIO
import TestSupport
import Testing

/// Files that programs copy into `copy/SET/`, and what then is at the destinations.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct CopySetTests {
    /// The job of a burst ends soon after it.
    static let soon = ["BACKUPFS_COPY_IDLE_SECONDS": "0.3"]

    /// A store with the set `cards` of `$R/a` and `$R/b`, and a card with names and files of every kind.
    static func make(in sandbox: Sandbox, settings: String = "verify: \"thorough\"") throws {
        try sandbox.sh(
            #"""
            backupfs init --store $S >/dev/null; mkdir -p $R/a $R/b
            sed -i "/^# End of settings/i copy-sets:\n  cards:\n    destinations: [\"$R/a\", \"$R/b\"]\n    \#(settings)" $S/store.yaml
            mkdir -p $R/card/DCIM/100 $R/card/none; cd $R/card; printf one > DCIM/one.txt; : > DCIM/nothing
            head -c 65537 /dev/urandom > DCIM/100/over; head -c 3000001 /dev/urandom > DCIM/100/clip.mov
            truncate -s 5M sparse; printf middle | dd of=sparse bs=1 seek=3000000 conv=notrunc status=none
            printf y > $'bad-\xff\xfe'; ln -s DCIM/one.txt link; ln -s /nowhere dangling; setfattr -n user.note -v hello DCIM/one.txt
            chmod 640 DCIM/one.txt; chmod 750 DCIM/100; touch -d '2021-02-03 04:05:06.123456789' DCIM/one.txt
            touch -h -d '2001-01-01' link; touch -d '2020-01-01 00:00:00.5' none DCIM/100 DCIM
            # rsync takes times of one second for the same.
            find $R/card -newermt 2022-01-01 -exec touch -h -d '2019-05-05 05:05:05.25' {} +
            """#)
    }

    /// Waits until all jobs have ended. A slow machine makes several of one burst: `$R/job` has the results of all of them, and
    /// the worst of their states.
    static let waitForJobs = #"""
        wait_until '[ -n "$(ls $S/jobs)" ] && ! grep -qE "idle|inProgress" $S/jobs/*/state'; mkdir -p $R/job
        jq -s 'add' $S/jobs/*/results.json > $R/job/results.json; jq -s 'map(.fileCount) | add' $S/jobs/*/source_info.json > $R/job/count
        grep -hv completed $S/jobs/*/state | head -n 1 > $R/job/state || true; [ -s $R/job/state ] || echo completed > $R/job/state
        """#

    /// What a program does, and what of a file it keeps.
    struct Program: Sendable, CustomTestStringConvertible {
        let name: String
        /// Copies `$R/card` to `$C/card`.
        let script: String
        /// Options of rsync for what it keeps, besides bytes and names.
        var kept = "-naXl"
        var testDescription: String { name }
    }

    static let programs = [
        Program(name: "cp -a", script: "cp -a $R/card $C/"),
        Program(name: "cp -r", script: "cp -r $R/card $C/", kept: "-nrlp --checksum"),
        Program(name: "cp -a --sparse=always", script: "cp -a --sparse=always $R/card $C/"),
        Program(name: "rsync -aX", script: "rsync -aX $R/card $C/"),
        Program(name: "mv", script: "cp -a $R/card $R/moved; mkdir $R/m; mv $R/moved $R/m/card; mv $R/m/card $C/"),
        Program(name: "tar", script: "tar -C $R -c card | tar -C $C -x", kept: "-nal"),
        Program(
            name: "unzip",
            script:
                "rm $R/card/bad* $R/card/link $R/card/dangling; find $R/card -exec touch -d 2020-01-01 {} +; cd $R; zip -qry c.zip card; cd $C; unzip -q $R/c.zip",
            kept: "-nrlpt --omit-link-times"),
        Program(
            name: "gio copy",
            script:
                "rm $R/card/bad* $R/card/dangling $R/card/link; mkdir -p $C/card/DCIM/100 $C/card/none; cd $R/card; find . -type f -exec gio copy -p {} $C/card/{} ';'",
            kept: "-nrt --omit-dir-times"),
    ]

    @Test(arguments: programs) func `a program copies a folder to all destinations, verified`(program: Program) throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.mount(Self.soon)
            sandbox.variables["C"] = sandbox("mnt/copy/cards")
            try sandbox.sh(program.script)
            for destination in ["a", "b"] {
                #expect(
                    try sandbox.sh(
                        "diff -r --no-dereference $R/card $R/\(destination)/card; rsync \(program.kept) --itemize-changes --delete $R/card/ $R/\(destination)/card/"
                    ) == "", "\(destination)")
            }
            // The holes are there still.
            if program.name == "cp -a" {
                #expect(try sandbox.sh("[ $(stat -c %b $R/b/card/sparse) -lt 1000 ] && echo sparse") == "sparse")
            }
            try sandbox.sh(Self.waitForJobs)
            #expect(
                try sandbox.sh(
                    "cat $M/jobs/*/state | sort -u; jq -r .kind $M/jobs/*/job.json | sort -u; jq -r 'map(.status) | unique[]' $R/job/results.json; cat $R/job/count"
                ) == "completed\ndrop\nverified\n\(try sandbox.sh("find $R/card -not -type d | wc -l"))")
            // The rows have the final names, and the digests that other programs find.
            #expect(
                try sandbox.sh(
                    "jq -r 'map(select(.sha256 and (.path_base64 | not)) | \"\\(.sha256)  \\(.destination)/\\(.path)\")[]' $R/job/results.json | sha256sum -c --quiet && echo right"
                ) == "right")
            #expect(try sandbox.sh("find $R/a $R/b -name '*part*'; ls $S/spool | grep -c copy- || true") == "0")
            try sandbox.unmount()
        }
    }

    @Test func `what is there already is present, and something else keeps its name`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.mount(Self.soon)
            try sandbox.sh("cp $R/card/DCIM/one.txt $M/copy/cards/x; cp $R/card/DCIM/one.txt $M/copy/cards/x")
            try sandbox.sh("printf two > $R/b/y")
            try sandbox.fails("cp $R/card/DCIM/one.txt $M/copy/cards/y", saying: "File exists", exitCode: 1)
            // The other destination has it all the same.
            #expect(try sandbox.sh("cat $R/a/y $R/b/y") == "onetwo")
            try sandbox.fails("printf more >> $M/copy/cards/x", saying: "Operation not permitted", exitCode: 1)
            try sandbox.fails("rm $M/copy/cards/x", saying: "Operation not permitted", exitCode: 1)
            try sandbox.fails("rmdir $M/copy/cards", saying: "Read-only file system", exitCode: 1)
            try sandbox.fails("mv $M/copy/cards/y $M/copy/cards/x", saying: "File exists", exitCode: 1)
            try sandbox.fails("cp $R/card/DCIM/one.txt $M/copy/cards/.hidden", saying: "Operation not permitted", exitCode: 1)
            try sandbox.fails("ln $M/copy/cards/x $M/copy/cards/z", saying: "Operation not permitted", exitCode: 1)
            #expect(
                try sandbox.sh("mkdir $M/copy/cards/n; mv $M/copy/cards/n $M/copy/cards/folder; ls -A $R/a $R/b")
                    == "\(sandbox("a")):\nfolder\nx\ny\n\n\(sandbox("b")):\nfolder\nx\ny")
            try sandbox.sh(Self.waitForJobs)
            #expect(
                try sandbox.sh(
                    "jq -r '.[] | \"\\(.path) \\(.status)\"' $R/job/results.json | sort | uniq -c | sed 's/^ *//'; cat $R/job/state"
                )
                    == "2 x present\n2 x verified\n1 y conflict\n1 y verified\nfailed")
            #expect(
                try sandbox.fails(
                    "backupfs copy --store $S --resume $(ls $S/jobs | head -n 1)",
                    saying: "Copy the files into copy/cards again"
                ).exitCode != 0)
            try sandbox.unmount()
        }
    }

    @Test func `a copy that reads back differently is the error of close, and the other destination has the file`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.sh("touch $R/hold")
            try sandbox.mount(Self.soon.merging(["BACKUPFS_FAULT": "copy.batch-durable=pause:\(sandbox("hold"))"]) { $1 })
            let result = try sandbox.run(
                """
                cp $R/card/DCIM/100/clip.mov $M/copy/cards/ 2> $R/err & process=$!
                wait_paused $R/hold $process; wait_until "[ -e $R/a/clip.mov ] || [ -e $R/b/clip.mov ]"; victim=a; [ -e $R/a/clip.mov ] && victim=b
                python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(2500000); b = f.read(1)[0]; f.seek(2500000); f.write(bytes([b ^ 1]))' $R/$victim/.clip.mov.*part
                # Others look meanwhile.
                ls $M/copy/cards >/dev/null
                rm $R/hold; code=0; wait $process || code=$?; echo $code; grep -o 'Bad message' $R/err; ls -A $R/$victim | wc -l
                cmp $R/card/DCIM/100/clip.mov $R/a/clip.mov 2>/dev/null || cmp $R/card/DCIM/100/clip.mov $R/b/clip.mov; \(Self.waitForJobs)
                jq -r 'map(.status) | sort[]' $R/job/results.json; cat $R/job/state
                """)
            #expect(result.lines == ["1", "Bad message", "0", "checksumMismatch", "verified", "failed"], "\(result.text)")
            // Once more: what is there is not copied twice.
            #expect(
                try sandbox.sh("cp $R/card/DCIM/100/clip.mov $M/copy/cards/; cmp $R/a/clip.mov $R/b/clip.mov && echo same")
                    == "same")
            try sandbox.unmount()
        }
    }

    /// The copy has a number where another file has the name; an empty file counts as temporary.
    @Test func `what another program has put under a name is neither removed nor renamed with the copy`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox, settings: "on-conflict: \"rename\"")
            try sandbox.sh("echo precious > $R/b/x; echo old > $R/b/m.part; echo new > $R/new; touch -d 2020-01-01 $R/b/*")
            try sandbox.mount(["BACKUPFS_COPY_IDLE_SECONDS": "60"])
            try sandbox.sh("touch $M/copy/cards/x; rm $M/copy/cards/x; cat $R/b/x; [ ! -e $R/a/x ] && [ ! -e $R/b/x-2 ]")
            let moved = try sandbox.run("cp $R/new $M/copy/cards/m.part && mv $M/copy/cards/m.part $M/copy/cards/m")
            #expect(moved.exitCode == 1, "\(moved.text)")
            #expect(
                try sandbox.sh("cat $R/b/x $R/b/m.part $R/a/m; [ ! -e $R/b/m ] && cat $R/b/m-2.part") == "precious\nold\nnew\nnew"
            )
            try sandbox.unmount()
            try sandbox.sh(Self.waitForJobs)
            #expect(
                try sandbox.sh(
                    "cat $R/job/state; jq -r '.[] | select(.path == \"m\") | \"\\(.destination | split(\"/\") | last) \\(.status)\"' $R/job/results.json | sort"
                )
                    == "failed\na verified\nb failed")
        }
    }

    @Test func `a folder that gets another name between two files does not get the files of the next one`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.mount(["BACKUPFS_COPY_IDLE_SECONDS": "60"])
            try sandbox.sh(
                """
                cd $M/copy/cards; mkdir new; : > new/x; mv new/x x; mv new done; mkdir new; echo clip > $R/clip; cp $R/clip new/
                """)
            for place in ["a", "b"] { #expect(try sandbox.sh("ls -A $R/\(place)/done; cat $R/\(place)/new/clip") == "clip") }
            try sandbox.unmount()
            // All files of a burst are one job.
            #expect(try sandbox.sh("ls $S/jobs | wc -l; cat $S/jobs/*/state") == "1\ncompleted")
        }
    }

    /// cp closes the copy before the file that it reads.
    @Test func `a file whose own path ends like that of its copy is copied when the copy is closed`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.sh("mkdir -p $R/home/copy/cards; echo mine > $R/home/copy/cards/x; echo other > $R/b/x")
            try sandbox.mount()
            try sandbox.fails("cp $R/home/copy/cards/x $M/copy/cards/x", saying: "File exists", exitCode: 1)
            #expect(try sandbox.sh("cat $R/a/x $R/b/x") == "mine\nother")
            try sandbox.unmount()
        }
    }

    @Test func `a set whose settings change takes the next file at once`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.mount(["BACKUPFS_COPY_IDLE_SECONDS": "60"])
            try sandbox.sh("echo 1 > $R/one; cp $R/one $M/copy/cards/1; sed -i 's/thorough/paranoid/' $S/store.yaml")
            let daemon = try #require(sandbox.processes.first?.number)
            try sandbox.sh("kill -HUP \(daemon)")
            try sandbox.sh("for i in 2 3 4 5; do cp $R/one $M/copy/cards/$i; done; cat $R/a/5 $R/b/5")
            try sandbox.unmount()
            #expect(try sandbox.sh("cat $S/jobs/*/state | sort -u; ls $R/a | wc -l") == "completed\n5")
        }
    }

    @Test func `3,000 small files; two programs at once; no descriptor stays open`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.mount(Self.soon)
            try sandbox.sh(
                """
                mkdir -p $R/many/one $R/many/two; for i in $(seq 1500); do echo $i > $R/many/one/$i; echo x$i > $R/many/two/$i; done
                mkdir $M/copy/cards/many; cp -r $R/many/one $M/copy/cards/many/ & first=$!; cp -r $R/many/two $M/copy/cards/many/
                wait $first
                """)
            #expect(try sandbox.sh("diff -r $R/many $R/a/many && diff -r $R/many $R/b/many && echo same") == "same")
            try sandbox.sh(Self.waitForJobs)
            #expect(
                try sandbox.sh(
                    "jq length $R/job/results.json; cat $R/job/state $R/job/count; diff <(ls $M/jobs) <(ls $S/jobs)"
                ) == "6000\ncompleted\n3000")
            let process = try #require(sandbox.processes.first?.number)
            #expect(
                try sandbox.sh(
                    "find /proc/\(process)/fd -lname '\(sandbox("a"))*' -o -lname '\(sandbox("b"))*' -o -lname '*/spool/copy-*' -o -lname '*/jobs/*' | wc -l"
                ) == "0")
            try sandbox.unmount()
        }
    }

    @Test func `a mount that is killed leaves a job that says so, and the next file removes what is unfinished`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.sh("touch $R/hold")
            try sandbox.mount([
                "BACKUPFS_FAULT": "copy.batch-durable:3=pause:\(sandbox("hold"))", "BACKUPFS_COPY_IDLE_SECONDS": "60",
            ])
            try sandbox.sh("mkdir $M/copy/cards/d; cp $R/card/DCIM/one.txt $M/copy/cards/d/")
            let process = try #require(sandbox.processes.first?.number)
            try sandbox.sh(
                """
                cp $R/card/DCIM/100/clip.mov $M/copy/cards/d/ 2> $R/err & wait_until '[ -e $R/hold.reached ]'
                kill -9 \(process); code=0; wait $! || code=$?; [ $code = 1 ]; wait_until '! [ -e /proc/\(process) ]'; umount -l $M || fusermount3 -uz $M
                """)
            #expect(
                try sandbox.sh(
                    "backupfs jobs --store $S | grep -c interrupted; find $R/a $R/b -name '*part' | grep -q clip && echo left")
                    == "1\nleft")
            try sandbox.sh("rm -f $R/hold $R/hold.reached")
            try sandbox.mount(Self.soon)
            try sandbox.sh("cp $R/card/DCIM/100/clip.mov $M/copy/cards/d/")
            #expect(
                try sandbox.sh(
                    """
                    find $R/a $R/b -name '*part' | wc -l; for d in a b; do cmp $R/card/DCIM/100/clip.mov $R/$d/d/clip.mov && cat $R/$d/d/one.txt; done
                    wait_until 'grep -q completed $S/jobs/*/state'; ls $S/jobs | wc -l; ls $S/spool | grep -c copy- || true
                    """) == "0\noneone2\n0")
            try sandbox.unmount()
        }
    }

    @Test func `a program that is killed leaves no part of its file`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.mount(Self.soon)
            try sandbox.sh(
                """
                python3 -c 'import sys, time; f = open(sys.argv[1], "wb", buffering=0); f.write(b"part"); open(sys.argv[2], "w").close(); time.sleep(600)' $M/copy/cards/x $R/ready &
                process=$!; wait_until '[ -e $R/ready ]'; kill -9 $process; wait $process || true; wait_until '! [ -e $M/copy/cards/x ]'
                python3 -c 'import subprocess, sys; f = open(sys.argv[1], "w"); p = subprocess.Popen(["sh", "-c", "read x; echo child"], stdin=subprocess.PIPE, stdout=f); f.close(); p.communicate(b"x")' $M/copy/cards/passed
                { echo a; cat $R/card/DCIM/one.txt; } > $M/copy/cards/both; : > $M/copy/cards/empty; touch $M/copy/cards/touched
                """)
            #expect(
                try sandbox.sh(
                    "cd $R/b; ls -A; cat both; stat -c %s empty touched; wait_until '[ -e passed ]'; cat passed; diff -r $R/a $R/b"
                )
                    == "both\nempty\npassed\ntouched\na\none0\n0\nchild")
            try sandbox.unmount()
        }
    }

    @Test func `a program that is killed stays until the mount has seen how it ended`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.sh("touch $R/hold $R/second")
            let faults = ["hold", "second"].enumerated().map { "copy-set.closing:\($0 + 1)=pause:\(sandbox($1))" }
            try sandbox.mount(Self.soon.merging(["BACKUPFS_FAULT": faults.joined(separator: ",")]) { $1 })
            // The second program is killed in close(2) itself: the mount lets it go, and has looked at the first one by then.
            try sandbox.sh(
                #"""
                python3 -c 'import sys, time; f = open(sys.argv[1], "wb", buffering=0); f.write(b"part"); open(sys.argv[2], "w").close(); time.sleep(600)' $M/copy/cards/x $R/ready &
                process=$!; wait_until '[ -e $R/ready ]'; kill -9 $process; wait_until '[ -e $R/hold.reached ]'
                python3 -c 'import sys; f = open(sys.argv[1], "wb", buffering=0); f.write(b"whole"); f.close()' $M/copy/cards/y &
                second=$!; wait_until '[ -e $R/second.reached ]'; kill -9 $second; wait_until '! grep -qs . /proc/$second/cmdline'
                kill -0 $process; grep -q . /proc/$process/stat; ! grep -q ') Z' /proc/$process/stat; rm $R/hold; wait_until '! [ -e $M/copy/cards/x ]'
                wait_until '[ -e $R/b/y ]'; rm $R/second
                """#)
            #expect(try sandbox.sh("cat $R/b/y; ls -A $R/b") == "wholey")
            try sandbox.unmount()
        }
    }

    @Test func `a killed program does not stay while the file is copied for another one`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.sh("touch $R/hold")
            try sandbox.mount(Self.soon.merging(["BACKUPFS_FAULT": "copy.batch-durable:1=pause:\(sandbox("hold"))"]) { $1 })
            try sandbox.python(
                #"""
                path = M + "/copy/cards/x"
                closing = "import os, sys; f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT); os.write(f, b'whole'); input(); os.close(f)"
                closer = subprocess.Popen([sys.executable, "-c", closing, path], stdin=subprocess.PIPE, text=True)
                assert until(lambda: os.path.exists(path), 20)
                keeping = "import os, sys, time; f = os.open(sys.argv[1], os.O_WRONLY); print('open', flush=True); time.sleep(600)"
                keeper = subprocess.Popen([sys.executable, "-c", keeping, path], stdout=subprocess.PIPE, text=True)
                assert keeper.stdout.readline() == "open\n"
                closer.stdin.write("\n"); closer.stdin.flush()
                assert until(lambda: os.path.exists(R + "/hold.reached"), 20)
                keeper.kill(); keeper.wait(20)
                assert closer.poll() is None
                os.unlink(R + "/hold"); assert closer.wait(20) == 0
                """#)
            #expect(try sandbox.sh("cat $R/a/x $R/b/x") == "wholewhole")
            try sandbox.unmount()
        }
    }

    @Test func `a destination that is missing, in the store or twice refuses all files`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.sh("rm -r $R/b; touch $R/b")
            try sandbox.mount(Self.soon)
            try sandbox.fails("cp $R/card/DCIM/one.txt $M/copy/cards/", saying: "cannot create", exitCode: 1)
            #expect(try sandbox.sh("ls -A $R/a; ls $M/copy") == "cards")
            try sandbox.fails(
                "backupfs config check --store $S", saying: "copy-sets.cards.destinations: there is no folder", exitCode: 1)
            // The mount follows the settings.
            let process = try #require(sandbox.processes.first?.number)
            for (old, new) in [("[^\"]*/b", "inside"), ("inside", "\(sandbox("a"))")] {
                try sandbox.sh(
                    """
                    mkdir -p $S/inside; sed -i '/destinations/s,"\(old)"],"\(new)"],' $S/store.yaml; kill -HUP \(process)
                    wait_until '(cp $R/card/DCIM/one.txt $M/copy/cards/ 2>&1 || true) | grep -q "Invalid argument"'
                    """)
            }
            #expect(try sandbox.sh("ls -A $R/a $S/inside") == "\(sandbox("a")):\n\n\(sandbox("store"))/inside:")
            try sandbox.unmount()
        }
    }

    @Test func `a destination in the payload of a bag refuses all files`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.sh("mkdir $R/b/data; touch $R/b/bagit.txt; sed -i 's,/b\"],/b/data\"],' $S/store.yaml")
            try sandbox.mount(Self.soon)
            try sandbox.fails("cp $R/card/DCIM/one.txt $M/copy/cards/", saying: "Invalid argument", exitCode: 1)
            #expect(
                try sandbox.sh(
                    "ls -A $R/a; ls -A $R/b/data; grep -c 'one.txt was not copied .* in the payload of the bag' $S/mount.log")
                    == "1")
            try sandbox.unmount()
        }
    }

    @Test(.enabled(if: Machine.isRoot)) func `a destination that fills up fails alone`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            let result = try sandbox.runInNamespace(
                """
                set -e; mount -t tmpfs -o size=2m none $R/b
                BACKUPFS_COPY_IDLE_SECONDS=0.3 backupfs mount --store $S $M
                code=0; cp -a $R/card $M/copy/cards/ 2> $R/err || code=$?; echo "exit $code"; grep -c 'No space left' $R/err | grep -v '^0$' >/dev/null
                diff -r --no-dereference $R/card $R/a/card && rsync -naXl --omit-link-times --itemize-changes $R/card/ $R/a/card/ && echo same; find $R/b -name '*part' | wc -l
                \(Self.waitForJobs); cat $R/job/state; fusermount3 -u $M
                """, ["S": sandbox("store")])
            #expect(result.lines == ["exit 1", "same", "0", "failed"], "\(result.text)")
        }
    }

    @Test func `a read-only mount takes no files`() throws {
        try Sandbox.use { sandbox in
            try Self.make(in: sandbox)
            try sandbox.mount(options: "-o ro")
            try sandbox.fails("cp $R/card/DCIM/one.txt $M/copy/cards/", saying: "Read-only file system", exitCode: 1)
            #expect(try sandbox.sh("printf there > $R/a/x; cat $M/copy/cards/x") == "there")
            try sandbox.unmount()
        }
    }
}

import TestSupport
import Testing

/// Jobs that are killed, stopped, paused and cancelled, and go on.
struct CopyResumeTests {
    static let points = [
        "copy.folder-made", "copy.folder-made:3", "copy.source-read", "copy.source-read:20", "copy.file-begun",
        "copy.file-begun:9", "copy.block-written", "copy.block-written:12", "copy.file-written:7", "copy.link-made",
        "copy.batch-durable", "copy.batch-durable:2", "copy.batch-named", "copy.batch-named:3", "copy.batch-certain",
        "copy.batch-certain:2", "copy.rows-written", "copy.rows-written:2",
    ]

    @Test(arguments: points)
    func `a job that is killed goes on, copies nothing twice and believes nothing that is not there`(point: String) throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, CopySandbox.oddities)
        let killed = try sandbox.run("backupfs copy $R/card $R/a $R/b", ["BACKUPFS_FAULT": point])
        #expect(killed.exitCode == 137, "\(killed.text)")
        try sandbox.sh(
            """
            \(CopySandbox.findJob); grep -qx inProgress $J/state; backupfs jobs | grep -q interrupted
            printf '{"path":"torn' >> $J/results.jsonl
            backupfs copy --resume $(basename $(readlink $J)) > $R/out
            """)
        for place in ["$R/a", "$R/b"] { #expect(try sandbox.sh(CopySandbox.differences(place)) == "", "\(point)") }
        #expect(try sandbox.sh("find $R/a $R/b -name '*backupfs-part*'") == "")
        #expect(try sandbox.sh("cat $J/state; jq length $J/results.json") == "completed\n90")
        #expect(try sandbox.sh("jq -c '[.path, .path_base64, .destination]' $J/results.jsonl | sort | uniq -d") == "")
    }

    @Test func `what is certain is not copied again; a copy that has changed since is`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let killed = try sandbox.run("backupfs copy $R/card $R/a", ["BACKUPFS_FAULT": "copy.rows-written:1"])
        #expect(killed.exitCode == 137)
        try sandbox.sh(
            """
            \(CopySandbox.findJob); printf changed > $R/a/DCIM/one.txt
            strace -f -y -e trace=pwrite64 -o $R/trace backupfs copy --resume $(readlink $J) --json > $R/out || [ $? = 3 ]
            """)
        // Its copy is no longer the one of the row, so it counts as another file.
        #expect(try sandbox.sh("jq -r '.[] | select(.path == \"DCIM/one.txt\") | .status' $J/results.json") == "conflict")
        #expect(try sandbox.sh("cat $R/a/DCIM/one.txt; grep -c 'clip.mov' $R/trace || true") == "changed0")
    }

    @Test(arguments: [
        "--verify paranoid", "--hidden", "--hash md5", "--manifest sha256sums", "--on-conflict rename", "--verify-source off",
    ])
    func `a job is continued with its own options, and others are refused`(options: String) throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        try sandbox.sh("backupfs copy $R/card $R/a > $R/out; \(CopySandbox.findJob)")
        try sandbox.fails("backupfs copy --resume $(readlink $J) \(options)", saying: "with its own options", exitCode: 2)
    }

    @Test(.enabled(if: Machine.isRoot)) func `a destination that cannot be written does not keep the others back`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "mkdir $R/b")
        let result = try sandbox.runInNamespace(
            """
            set -e; mount -t tmpfs none $R/b
            code=0; BACKUPFS_FAULT=copy.source-read:20 backupfs copy $R/card $R/a $R/b 2> $R/err || code=$?; echo "exit $code"; \(CopySandbox.findJob)
            mount -o remount,ro $R/b; code=0; backupfs copy --resume $(readlink $J) > $R/out 2> $R/err || code=$?; echo "exit $code"
            diff -r $R/card $R/a && echo same; grep -c "$R/b.*read-only" $R/err; cat $J/state
            mount -o remount,rw $R/b; backupfs copy --resume $(readlink $J) > $R/out; diff -r $R/card $R/b && echo same; cat $J/state
            """)
        #expect(
            result.lines.filter { !$0.contains("Killed") } == ["exit 137", "exit 3", "same", "1", "failed", "same", "completed"],
            "\(result.text)")
    }

    /// The leftovers lie in a folder that comes after the file which needs their space.
    @Test(.enabled(if: Machine.isRoot), arguments: [false, true])
    func `the space of unfinished copies counts as free, and they are removed first`(hasOther: Bool) throws {
        let sandbox = try CopySandbox.make(
            "mkdir -p $R/card/1 $R/card/2 $R/b; cd $R/card; head -c 20M /dev/urandom > 1/first; head -c 15M /dev/urandom > 2/second"
        )
        let result = try sandbox.runInNamespace(
            """
            set -e; mount -t tmpfs -o size=\(hasOther ? 44 : 37)m none $R/b
            code=0; BACKUPFS_FAULT=copy.block-written:34 backupfs copy $R/card $R/b > $R/out 2> $R/err || code=$?; echo "exit $code"
            \(CopySandbox.findJob); find $R/b/1 -type f -delete; find $R/b/2 -name '*part' -size +10M | wc -l
            \(hasOther ? "cp -p $R/card/2/second $R/b/2/second" : ":")
            backupfs copy --resume $(readlink $J) > $R/out; cat $J/state; diff -r $R/card $R/b && echo same
            """)
        #expect(
            result.lines.filter { !$0.contains("Killed") } == ["exit 137", "1", "completed", "same"], "\(result.text)")
    }

    /// The check counts what a job needs by the names that its copies can have.
    @Test(.enabled(if: Machine.isRoot)) func `copies under other names need no space once more`() throws {
        let sandbox = try CopySandbox.make(
            "mkdir -p $R/card $R/b; for i in 1 2; do head -c 10M /dev/urandom > $R/card/$i; done")
        let result = try sandbox.runInNamespace(
            """
            set -e; mount -t tmpfs -o size=24m none $R/b; printf other > $R/b/1; printf other > $R/b/2
            code=0; BACKUPFS_FAULT=copy.rows-written:2 backupfs copy --on-conflict rename $R/card $R/b > $R/out 2> $R/err || code=$?; echo "exit $code"
            \(CopySandbox.findJob); ls $R/b; backupfs copy --resume $(readlink $J) > $R/out; cat $J/state; ls $R/b
            cmp $R/card/1 $R/b/1-2; cmp $R/card/2 $R/b/2-2; cat $R/b/1 $R/b/2
            """)
        #expect(
            result.lines.filter { !$0.contains("Killed") }
                == ["exit 137", "1", "1-2", "2", "2-2", "completed", "1", "1-2", "2", "2-2", "otherother"], "\(result.text)")
    }

    /// A mountpoint without its disk is an empty folder: the card must not be erased because of it.
    @Test func `a source that is not whole any more does not end as copied`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let killed = try sandbox.run("backupfs copy $R/card $R/a", ["BACKUPFS_FAULT": "copy.rows-written:1"])
        #expect(killed.exitCode == 137)
        try sandbox.sh("\(CopySandbox.findJob); mv $R/card $R/away; mkdir $R/card")
        let empty = try sandbox.run("backupfs copy --resume $(readlink $J)")
        #expect(empty.exitCode != 0 && !empty.text.contains("Everything was copied"), "\(empty.text)")
        #expect(
            try sandbox.sh("cat $J/state; grep -c -e 'not in the source any more' -e 'fewer files' $J/errors.txt") == "failed\n2")
        try sandbox.sh("rmdir $R/card; mv $R/away $R/card; backupfs copy --resume $(readlink $J)")
        #expect(try sandbox.sh("cat $J/state; diff -r $R/card $R/a && echo same") == "completed\nsame")
    }

    /// Requirement ERR-13.
    @Test func `a file that disappears while the source is copied is named`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let output = try sandbox.sh(
            """
            touch $R/hold; BACKUPFS_FAULT=copy.source-read:1=pause:$R/hold backupfs copy $R/card $R/a > $R/out 2> $R/err & process=$!
            wait_paused $R/hold $process; last=$(cd $R/card; find . -type f | LC_ALL=C sort | tail -1); rm "$R/card/$last"
            rm $R/hold $R/hold.reached; code=0; wait $process || code=$?; echo $code; \(CopySandbox.findJob)
            cat $J/state; grep -c 'fewer files' $J/errors.txt
            """)
        #expect(output == "3\nfailed\n1")
    }

    @Test func `folders that were there keep their modes, and those of a failed job stay writable until it is whole`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let output = try sandbox.sh(
            """
            mkdir -p $R/a/DCIM $R/card/closed; chmod 700 $R/a/DCIM; chmod 755 $R/card/DCIM
            printf new > $R/card/closed/x; chmod 555 $R/card/closed; touch -d 2001-01-01 $R/a/DCIM $R/card/closed
            printf other > $R/a/DCIM/one.txt; backupfs copy $R/card $R/a > $R/out 2>&1 || echo $?; \(CopySandbox.findJob)
            cat $J/state; stat -c %a $R/a/DCIM $R/a/closed
            rm $R/a/DCIM/one.txt; echo cancel > $J/control; backupfs copy --resume $(readlink $J) > $R/out; cat $J/state
            stat -c %a $R/a/DCIM $R/a/closed; stat -c %y $R/a/closed | cut -c1-10
            """)
        #expect(output == "3\nfailed\n700\n755\ncompleted\n700\n555\n2001-01-01")
    }

    /// Requirement ERR-13.
    @Test func `a signal stops the job, and resume goes on`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let output = try sandbox.sh(
            """
            touch $R/hold; BACKUPFS_FAULT=copy.source-read:3=pause:$R/hold backupfs copy $R/card $R/a $R/b > $R/out 2> $R/err & process=$!
            wait_paused $R/hold $process; kill -TERM $process; code=0; wait $process || code=$?; echo $code; \(CopySandbox.findJob)
            cat $J/state; jq -r .reason $J/pause.json; find $R/a $R/b -name '*part' | wc -l; grep -c 'Continue with: backupfs copy --resume' $R/err
            jq -r '.[] | select(.status == "operationCancelled") | .destination' $J/results.json | sort -u | wc -l
            backupfs copy --resume $(basename $(readlink $J)) > $R/out; cat $J/state; ls $J/pause.json 2>/dev/null || echo gone; jq length $J/results.json
            """)
        #expect(output == "130\npaused\ninterrupted\n0\n1\n2\ncompleted\ngone\n72")
        #expect(try sandbox.sh("diff -r $R/card $R/a; diff -r $R/card $R/b") == "")
    }

    /// Requirement FBM-03.
    @Test func `a job pauses, survives its process, and is cancelled`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let output = try sandbox.sh(
            """
            start() { touch $R/hold; BACKUPFS_FAULT=copy.source-read:2=pause:$R/hold backupfs copy "$@" > $R/out 2> $R/err & process=$!; wait_paused $R/hold $process; }
            start $R/card $R/a; \(CopySandbox.findJob); echo pause > $J/control; rm $R/hold $R/hold.reached
            wait_until "grep -qx paused $J/state"; jq -r .reason $J/pause.json; backupfs jobs | grep -c paused
            kill -KILL $process; wait $process || true; cat $J/state
            start --resume $(readlink $J); backupfs jobs pause $(readlink $J); rm $R/hold $R/hold.reached; wait_until "grep -qx paused $J/state"
            backupfs jobs resume $(readlink $J); wait $process; cat $J/state; diff -r $R/card $R/a && echo same
            start $R/card $R/b; \(CopySandbox.findJob); backupfs jobs cancel $(readlink $J); rm $R/hold $R/hold.reached
            code=0; wait $process || code=$?; echo $code; cat $J/state; find $R/b -name '*part' | wc -l
            for f in $(cd $R/b; find . -type f); do cmp $R/card/$f $R/b/$f; done
            backupfs jobs cancel $(readlink $J) 2>/dev/null || echo "exit $?"
            """)
        #expect(output == "control\n1\npaused\ncompleted\nsame\n130\ncancelled\n0\nexit 1")
    }

    @Test func `two processes do not work at one job, and programs see all jobs`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "backupfs init --store $S >/dev/null")
        let output = try sandbox.sh(
            """
            export BACKUPFS_STORE=$S
            touch $R/hold; BACKUPFS_FAULT=copy.source-read=pause:$R/hold backupfs copy --json $R/card $R/a > $R/out 2> $R/err & process=$!
            wait_paused $R/hold $process; id=$(ls $S/jobs); code=0; backupfs copy --resume $id 2>/dev/null || code=$?; echo $code
            backupfs jobs --json | jq -c '.[] | [.state, .running, .verify, .version]'; rm $R/hold; wait $process
            backupfs jobs list --json | jq -c '.[] | [.state, .running]'; tail -n 1 $R/out | jq -c '[.message_type, .state, .files, .destinations[0].succeeded, .version]'
            backupfs copy --resume nope 2>/dev/null || echo "exit $?"
            """)
        #expect(
            output
                == "11\n[\"inProgress\",true,\"standard\",1]\n[\"completed\",false]\n[\"summary\",\"completed\",36,36,1]\nexit 1")
        #expect(try sandbox.sh("head -n 1 $R/out | jq -r .message_type") == "status")
    }
}

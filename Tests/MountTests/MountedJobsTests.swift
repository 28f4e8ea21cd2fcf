import SystemIO
import TestSupport
import Testing

/// `jobs/` in the mount: copy jobs as files.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct MountedJobsTests {
    private static let card = """
        backupfs init --store $S >/dev/null; mkdir -p $R/card/DCIM; cd $R/card
        for i in $(seq 40); do head -c 100000 /dev/urandom > DCIM/$i.jpg; done; cd $R
        """

    @Test func `a job is shown with its state, its source and its results, and nothing in it can be changed`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(Self.card)
            try sandbox.mount()
            #expect(try sandbox.sh("ls -A $M/jobs") == "")
            try sandbox.sh("backupfs copy --store $S $R/card $R/a $R/b >/dev/null")
            let id = try sandbox.sh("ls $M/jobs")
            #expect(try sandbox.sh("ls $S/jobs") == id)
            try sandbox.sh("ls $M/jobs/\(id) > $R/names; ln -sfn $M/jobs/\(id) $R/job")
            #expect(
                try sandbox.sh(
                    "grep -xE '(control|errors.txt|job.json|progress.json|results.jsonl?|source_info.json|state)' $R/names")
                    == "control\nerrors.txt\njob.json\nprogress.json\nresults.json\nresults.jsonl\nsource_info.json\nstate")
            #expect(try sandbox.sh("grep -E '^(lock|folders|ascmhl|history|[.])' $R/names || true") == "")
            #expect(try sandbox.sh("cat $R/job/state; jq -e '.fileCount' $R/job/source_info.json") == "completed\n40")
            #expect(
                try sandbox.sh("jq -c 'map(.status) | unique' $R/job/results.json; jq length $R/job/results.json")
                    == "[\"verified\"]\n80")
            #expect(try sandbox.sh("cmp $R/job/results.json $S/jobs/\(id)/results.json && echo same") == "same")
            try sandbox.fails("echo x > $R/job/state", saying: "Read-only file system", exitCode: 1)
            try sandbox.fails("rm $R/job/state", saying: "Read-only file system", exitCode: 1)
            try sandbox.fails("rm -r $M/jobs/\(id)", saying: "Read-only file system", exitCode: 1)
            #expect(
                try sandbox.sh("[ -e $R/job/lock ] || echo hidden; (ls $M/jobs/none 2>&1 || true) | grep -c 'No such file'")
                    == "hidden\n1")
            // What no job can do is the answer to close(2).
            try sandbox.fails("cp $R/job/state $R/job/control", saying: "Invalid argument", exitCode: 1)
            try sandbox.fails("cp /proc/sys/kernel/ostype $R/job/control", saying: "Invalid argument", exitCode: 1)
            try sandbox.sh("echo pause > $R/word")
            try sandbox.fails("cp $R/word $R/job/control", saying: "No such file or directory", exitCode: 1)
            try sandbox.unmount()
        }
    }

    @Test
    func `PRG-13: a job is paused through the mount, killed, and resumed by the next mount; FBM-03: it says so in its state`()
        throws
    {
        try Sandbox.use { sandbox in
            try sandbox.sh(Self.card)
            try sandbox.mount()
            try sandbox.sh(
                """
                touch $R/hold; BACKUPFS_FAULT=copy.source-read:10=pause:$R/hold backupfs copy --store $S $R/card $R/a > $R/out 2>&1 & process=$!
                wait_paused $R/hold $process; id=$(ls $M/jobs); ln -s $M/jobs/$id $R/job
                [ $(cat $R/job/state) = inProgress ]; echo pause > $R/job/control; rm $R/hold $R/hold.reached
                wait_until '[ $(cat $R/job/state) = paused ]'; jq -e .pausedAt $R/job/pause.json; kill -9 $process; wait $process || true
                """)
            try sandbox.unmount()
            try sandbox.mount()
            #expect(try sandbox.sh("cat $R/job/state; jq -r .reason $R/job/pause.json | wc -w") != "")
            try sandbox.sh("echo resume > $R/word; cp $R/word $R/job/control; wait_until '[ $(cat $R/job/state) = completed ]'")
            #expect(
                try sandbox.sh("diff -r $R/card $R/a && jq length $R/job/results.json; ls $R/job | grep -c pause || true")
                    == "40\n0")
            try sandbox.unmount()
        }
    }

    @Test func `jobs that are resumed while their disk stalls keep no restore waiting`() throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                try sandbox.sh(
                    """
                    backupfs init --store $S --sample >/dev/null; mkdir $R/card; echo one > $R/card/1; echo resume > $R/word
                    for i in $(seq 12); do backupfs copy --store $S $R/card $R/disk/$i >/dev/null; done
                    """)
                try sandbox.mount()
                try sandbox.sh("cp $M/live/export.json $R/export.json")
                disk.stall()
                try sandbox.looks(
                    """
                    waiting = [start("cp", R + "/word", f"jobs/{job}/control") for job in os.listdir("jobs")]
                    begun(waiting)
                    assert [each.poll() for each in waiting] == 12 * [None]
                    answers(("cp", R + "/export.json", "restore/preview/a.json"), 10)
                    assert [each.poll() for each in waiting] == 12 * [None]
                    os.kill(\(disk.process), signal.SIGCONT)
                    for each in waiting: assert ends(each, 60) == 0
                    """)
                try sandbox.unmountStore()
            }
        }
    }

    /// A run that cannot even begin has no record of its end.
    @Test func `the log has the end of a run that fails in the mount before it has begun`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(Self.card)
            try sandbox.sh(
                """
                backupfs copy --store $S $R/card $R/a >/dev/null; job=$(echo $S/jobs/*); mv $job/runs.jsonl $R/runs
                mkdir $job/runs.jsonl; backupfs config set log-level debug --store $S; rm -f $S/backupfs.log
                """)
            try sandbox.mount()
            try sandbox.sh(
                """
                echo resume > $R/word; cp $R/word $M/jobs/*/control
                wait_until 'grep -q phase.:.ended.,.result.:.failed $S/backupfs.log'
                """)
            #expect(
                try sandbox.sh("jq -r 'select(.op == \"copy\") | [.phase, .result] | @csv' $S/backupfs.log")
                    == "\"begun\",\n\"ended\",\"failed\"")
            try sandbox.sh(
                """
                job=$(echo $S/jobs/*); rmdir $job/runs.jsonl; mv $R/runs $job/runs.jsonl; cp $R/word $M/jobs/*/control
                wait_until '[ $(cat $M/jobs/*/state) = completed ]'
                """)
            try sandbox.unmount()
        }
    }

    @Test func `the end of the mount pauses a job that it works at; a job that cannot resume is the error of close`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(Self.card)
            let killed = try sandbox.run(
                "backupfs copy --store $S $R/card $R/a", ["BACKUPFS_FAULT": "copy.source-read:10"])
            #expect(killed.exitCode == 137)
            try sandbox.sh("touch $R/hold")
            sandbox.variables["BACKUPFS_FAULT"] = "copy.source-read:10=pause:\(sandbox("hold"))"
            try sandbox.mount()
            sandbox.variables["BACKUPFS_FAULT"] = nil
            try sandbox.sh(
                """
                ln -s $M/jobs/$(ls $M/jobs) $R/job; echo resume > $R/word; mv $R/card $R/away
                code=0; cp $R/word $R/job/control 2> $R/err || code=$?; [ $code = 1 ]; mv $R/away $R/card
                cp $R/word $R/job/control; wait_until '[ -e $R/hold.reached ]'; [ $(cat $R/job/state) = inProgress ]
                (sleep 0.2; rm $R/hold $R/hold.reached) &
                """)
            try sandbox.unmount()
            #expect(try sandbox.sh("grep -c 'No such file' $R/err; cat $S/jobs/*/state") == "1\npaused")
            #expect(
                try sandbox.sh("backupfs jobs resume --store $S $(ls $S/jobs) >/dev/null; diff -r $R/card $R/a && echo same")
                    == "same")
        }
    }
}

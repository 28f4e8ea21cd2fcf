import TestSupport
import Testing

/// What a mount leaves of the jobs that have ended in it.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct CopySetReportTests {
    private static let reports =
        #"sed -i "/^# End of settings/i report: \"yes\"\nreport-formats: \"json,csv,html\"\nreport-company: \"Example Film\"" $S/store.yaml"#

    @Test func `LOG-05, LOG-06: a job of a set makes the reports of the settings, and its idle time does not count`() throws {
        try Sandbox.use { sandbox in
            try CopySetTests.make(in: sandbox)
            try sandbox.sh(Self.reports)
            try sandbox.mount(["BACKUPFS_COPY_IDLE_SECONDS": "3"])
            try sandbox.sh("cp -a $R/card $M/copy/cards/; job=$S/jobs/$(ls $S/jobs | head -n 1); ln -s $job $R/first")
            try sandbox.sh("wait_until '[ -s $R/first/reports/report.html ]'; \(CopySetTests.waitForJobs)")
            #expect(
                try sandbox.sh("ls $R/first/reports; jq -r .backupfs.verdict $R/first/reports/report.json")
                    == "report.csv\nreport.html\nreport.json\nevery_byte_arrived")
            #expect(
                try sandbox.sh(
                    """
                    cd $R/first; diff <(jq '[.results[] | .status] | length' reports/report.json) <(jq length results.json) && echo same
                    jq -r '.report.company' config.json; jq -c '.statistics.issues' reports/report.json; grep -c 'Example Film' reports/report.html
                    """) == "same\nExample Film\n0\n1")
            // Between the last file and the end of the job are three seconds.
            let seconds = """
                import json, sys, datetime
                lines = [json.loads(line) for line in open(sys.argv[1] + "/runs.jsonl")]
                begin, end = ([line for line in lines if line["event"] == event][0] for event in ("begin", "end"))
                at = [datetime.datetime.fromisoformat(line["at"].replace("Z", "+00:00")) for line in (begin, end)]
                progress = json.load(open(sys.argv[1] + "/progress.json"))
                whole = (at[1] - at[0]).total_seconds()
                assert 0 < end["copy_seconds"] <= end["elapsed_seconds"] <= whole - 1.9, (begin, end)
                assert progress["elapsedSeconds"] <= whole - 1.9, (progress, whole)
                """
            try sandbox.write(seconds, to: "seconds.py")
            try sandbox.sh("python3 $R/seconds.py $R/first")
            try sandbox.unmount()
        }
    }

    @Test func `LOG-01: a job of a set, and one that is resumed in the mount, is in the log from its beginning`() throws {
        try Sandbox.use { sandbox in
            try CopySetTests.make(in: sandbox)
            try sandbox.sh(
                "backupfs config set log-level debug --store $S; backupfs copy --store $S $R/card $R/c >/dev/null; rm $S/backupfs.log"
            )
            try sandbox.mount(CopySetTests.soon)
            try sandbox.write(#"jq -r 'select(.op == "copy") | [.phase, .result, .level] | @csv' $S/backupfs.log"#, to: "lines")
            let whole = #""begun",,"debug""# + "\n" + #""ended","ok","info""#
            try sandbox.sh("echo resume > $R/word; cp $R/word $M/jobs/*/control; wait_until 'bash $R/lines | grep ended'")
            #expect(try sandbox.sh("bash $R/lines") == whole)
            try sandbox.sh("rm $S/backupfs.log; cp $R/card/DCIM/one.txt $M/copy/cards/")
            try sandbox.unmount()
            #expect(try sandbox.sh("bash $R/lines") == whole)
        }
    }

    @Test func `a mount that ends waits for the reports; without the setting there are none`() throws {
        try Sandbox.use { sandbox in
            try CopySetTests.make(in: sandbox)
            try sandbox.mount(["BACKUPFS_COPY_IDLE_SECONDS": "60"])
            try sandbox.sh("cp $R/card/DCIM/one.txt $M/copy/cards/")
            try sandbox.unmount()
            #expect(try sandbox.sh("ls -d $S/jobs/*/reports 2>/dev/null || echo none") == "none")
            try sandbox.sh(Self.reports)
            try sandbox.mount(["BACKUPFS_COPY_IDLE_SECONDS": "60"])
            try sandbox.sh("cp $R/card/DCIM/100/clip.mov $M/copy/cards/")
            try sandbox.unmount()
            #expect(try sandbox.sh("ls $S/jobs/*/reports; ls $S/jobs | wc -l") == "report.csv\nreport.html\nreport.json\n2")
        }
    }
}

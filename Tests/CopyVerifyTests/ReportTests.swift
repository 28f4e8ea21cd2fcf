import TestSupport
import Testing

/// `backupfs report` and `copy --report`: what the reports say, compared with the job's own rows and with what was done.
struct ReportTests {
    /// The ID of the last job in `$ID`, and its reports in `$J/reports`.
    static let job = "\(CopySandbox.findJob); ID=$(basename $(readlink $J))"

    /// Names that spreadsheets, HTML and terminals would take for something else.
    static let names = #"""
        mkdir $R/card; cd $R/card; echo 1 > '=cmd|calc'; echo 2 > '+plus'; echo 3 > '-minus'; echo 4 > '@at'; echo 5 > 'a,"b".txt'
        echo 6 > $'line\nfeed.MOV'; echo 7 > $'bad-\xff\xfe.txt'; echo 8 > '<script>alert(1)<&.txt'; echo 9 > 'مرحبا.mov'; echo 10 > 'Москва 😀.mov'
        """#

    /// The members that the facts name, in their order, and ours.
    private static let members = """
        reportVersion timestamp jobId mode source destinations statistics extensions performance verification backupfs results
        path name totalSize fileCount cameraDetected driveType
        totalFiles totalBytes matches issues successRate averageFileSize largestFile smallestFile
        totalDuration copyDuration verifyDuration throughputMBps peakSpeedMBps averageSpeedMBps filesPerSecond workers bottleneck
        method algorithm issuesByType checksumCache
        hits misses hitRate
        """

    @Test func `LOG-05: the totals of the JSON are those of results.json`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "ln -s DCIM $R/card/link")
        try sandbox.sh("backupfs copy --report json $R/card $R/a $R/b > $R/out; \(Self.job); ln -s $J/reports/report.json $R/r")
        #expect(
            try sandbox.sh(
                "jq -r '., .source, .statistics, .performance, .verification, .verification.checksumCache | keys_unsorted | join(\" \")' $R/r"
            ) == Self.members)
        #expect(
            try sandbox.sh(
                """
                jq -c '[.statistics | .matches, .issues, .totalFiles, .successRate, .largestFile, .smallestFile]' $R/r
                jq -c '[(map(select(.status == "verified")) | length), 0, (map(.path) | unique | length), 100, (map(.size) | max), 0]' $J/results.json
                """)
                == "[74,0,37,100,9000000,0]\n[74,0,37,100,9000000,0]")
        #expect(
            try sandbox.sh(
                "jq -r .statistics.totalBytes,.source.totalSize,.destinations[].bytes $R/r | sort -u; find $R/card -type f -printf '%s\\n' | paste -sd+ | bc"
            ) == "12131128\n12131128")
        #expect(try sandbox.sh("jq -c '.extensions' $R/r") == #"{"":3,"mov":2,"txt":31}"#)
        #expect(
            try sandbox.sh("jq -c '[.backupfs.verdict, .mode, .verification.algorithm, .performance.workers]' $R/r")
                == #"["every_byte_arrived","Copy & Verify","SHA-256",6]"#)
        #expect(
            try sandbox.sh(
                "jq -r '.results[] | [.path, .target, .status] | @tsv' $R/r | sort > $R/x; jq -r '.[] | [.path, .destination + \"/\" + .path, .status] | @tsv' $J/results.json | sort | diff $R/x - && echo same"
            ) == "same")
        #expect(
            try sandbox.sh(
                "jq -r '.results[] | select(.path == \"DCIM/large.mov\") | .sha256' $R/r | sort -u; sha256sum < $R/card/DCIM/large.mov | cut -c1-64 | tail -1"
            ).split(separator: "\n").count == 2)
    }

    @Test func `the CSV has a line for each copy and the summary, and no formulas`() throws {
        let sandbox = try CopySandbox.make(Self.names)
        try sandbox.sh(
            "mkdir $R/a; echo other > $R/a/@at; backupfs copy --report csv $R/card $R/a > $R/out 2>&1 || [ $? = 3 ]; \(Self.job)")
        try sandbox.write(
            #"""
            import csv, sys
            rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8"), strict=True))
            print(rows[0])
            end = rows.index(["# Summary"])
            for row in sorted(rows[2:end], key=lambda r: r[1]): assert row[0] == "verified" and row[3].startswith("SHA-256 "), row
            print(rows[1][:2], rows[1][3])
            print(ascii(sorted(r[1] for r in rows[2:end])))
            assert not [c for r in rows for c in r if c[:1] in "=+-@\t\r" and c]
            print([r for r in rows[end:] if not r[0].startswith(("# Duration", "# Files/"))])
            """#, to: "reader.py")
        #expect(
            try sandbox.sh("python3 $R/reader.py $J/reports/report.csv")
                == #"""
                ['Status', 'File Path', 'Target Path', 'Details', 'Timestamp']
                ['conflict', "'@at"] another file has the name in the destination
                ["'+plus", "'-minus", "'=cmd|calc", '<script>alert(1)<&.txt', 'a,"b".txt', 'bad-\ufffd\ufffd.txt', 'line\nfeed.MOV', '\u041c\u043e\u0441\u043a\u0432\u0430 \U0001f600.mov', '\u0645\u0631\u062d\u0628\u0627.mov']
                [['# Summary'], ['# Total Files', '10'], ['# Matched', '9'], ['# Issues', '1'], ['# Verdict', 'incomplete']]
                """#)
        // The JSON has the bytes.
        try sandbox.sh("backupfs report $ID --format json > $R/out", ["ID": try sandbox.sh("basename $(readlink $J)")])
        #expect(
            try sandbox.sh("jq -r '.results[] | select(.path_base64) | .path_base64' $J/reports/report.json | base64 -d | xxd -p")
                == "6261642dfffe2e747874")
    }

    @Test func `LOG-04: errors.txt counts the faults`() throws {
        let sandbox = try CopySandbox.make(
            CopySandbox.source, "mkdir -p $R/a/MISC; echo x > $R/a/MISC/1.txt; echo y > $R/a/MISC/2.txt")
        #expect(
            try sandbox.sh(
                "backupfs copy $R/card $R/a > $R/out 2>&1 || echo $?; \(Self.job); head -n 2 $J/errors.txt; grep -c ^error: $J/errors.txt"
            ) == "3\nErrors: 2\nWarnings: 0\n2")
    }

    @Test func `LOG-06: without the option there are no reports, and a line that says how to make one`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "backupfs init --store $S >/dev/null")
        #expect(
            try sandbox.sh(
                """
                backupfs copy $R/card $R/a --store $S | sed -n '/^For a report/s/[^ ]*$/ID/p'; job=$S/jobs/$(ls $S/jobs); ls $job | grep -c report || true
                jq -c '.report | [.enabled, .formats]' $job/config.json; find $R/a -name 'Reports*'
                """) == "For a report: backupfs report ID\n0\n[false,[\"json\",\"csv\",\"html\",\"pdf\"]]")
        // What the settings say holds for each job, and the options of one.
        #expect(
            try sandbox.sh(
                """
                for s in report=yes report-formats=json,csv report-title='Day 12' report-client=Client; do backupfs config set "${s%%=*}" "${s#*=}" --store $S >/dev/null; done
                backupfs config set report-formats doc --store $S 2>/dev/null || echo "exit $?"
                backupfs copy $R/card $R/b --store $S > $R/out; job=$S/jobs/$(ls -t $S/jobs | head -n 1); ls $job/reports
                jq -c '.backupfs | [.title, .client]' $job/reports/report.json; jq -c '.report | [.enabled, .formats, .title]' $job/config.json
                backupfs copy --report json $R/card $R/c --store $S > $R/out; ls $S/jobs/$(ls -t $S/jobs | head -n 1)/reports
                """)
                == "exit 1\nreport.csv\nreport.json\n[\"Day 12\",\"Client\"]\n[true,[\"json\",\"csv\"],\"Day 12\"]\nreport.json")
        // A setting that is broken costs the report, and not the copy.
        #expect(
            try sandbox.sh(
                "sed -i 's/^report-formats:.*/report-formats: nonsense/' $S/store.yaml; backupfs copy $R/card $R/d --store $S 2>&1 | grep -c 'settings of reports could not be read'; diff -r $R/card $R/d"
            ) == "1")
    }

    @Test func `a job that was killed, stopped, continued, or never verified says so`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        let verdict = "backupfs report $ID --format json --json | jq -r .verdict"
        let killed = try sandbox.run("backupfs copy $R/card $R/a", ["BACKUPFS_FAULT": "copy.rows-written:1"])
        #expect(killed.exitCode == 137)
        #expect(
            try sandbox.sh(
                """
                \(Self.job); \(verdict); jq -c '[(.destinations[0] | .matches + .notReached), (.statistics.issues > 0), .backupfs.runs[0].ended_at]' $J/reports/report.json
                backupfs copy --resume $ID > $R/out; \(verdict); jq -c '[.statistics.matches, (.backupfs.runs | length), .backupfs.runs[1].state]' $J/reports/report.json
                backupfs report $ID --format html > $R/out; grep -c 'The job was continued: it has had 2 runs' $J/reports/report.html
                """) == "interrupted\n[36,true,null]\nevery_byte_arrived\n[36,2,\"completed\"]\n1")
        #expect(
            try sandbox.sh(
                "backupfs copy --verify quick --report json,html $R/card $R/b > $R/out; \(Self.job); \(verdict); grep -c 'that proves no byte' $J/reports/report.html; jq -c '[.verification.algorithm, .destinations[0].readBack]' $J/reports/report.json"
            )
                == "every_file_arrived\n1\n[\"\",{\"direct\":0,\"dropped\":0}]")
        #expect(
            try sandbox.sh("mkdir $R/none; backupfs copy $R/none $R/c > $R/out; \(Self.job); \(verdict)") == "nothing_to_copy")
        // A running job, and one that is stopped.
        #expect(
            try sandbox.sh(
                """
                touch $R/hold; BACKUPFS_FAULT=copy.source-read:3=pause:$R/hold backupfs copy --report json $R/card $R/d > $R/out 2>&1 & process=$!
                wait_paused $R/hold $process; \(Self.job); \(verdict); kill -TERM $process; wait $process || echo $?; rm -r $J/reports; \(verdict)
                """) == "running\n130\nstopped")
    }

    /// A row that is lost, or a status that another program has changed, must not become "every byte arrived".
    @Test func `a record that contradicts itself is not believed`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source)
        #expect(
            try sandbox.sh(
                """
                backupfs copy $R/card $R/a > $R/out; \(Self.job); sed -i '5d' $J/results.jsonl
                backupfs report $ID --format json --json | jq -r .verdict; jq .statistics.issues $J/reports/report.json
                """) == "incomplete\n1")
    }

    @Test func `reports go into the first complete destination, and replace nothing`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "mkdir -p $R/a/DCIM; echo other > $R/a/DCIM/one.txt")
        let now = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]
        try sandbox.sh(
            "backupfs copy --report json,csv --report-in-destination $R/card $R/a $R/b > $R/out 2>&1 || [ $? = 3 ]", now)
        #expect(
            try sandbox.sh("\(Self.job); cd $R/b/Reports; ls | cat; ls transfers | sed s/$ID/ID/; ls $R/a | grep Reports || true")
                == """
                backupfs_report_2026-01-11T14-30-00Z.csv
                backupfs_report_2026-01-11T14-30-00Z.json
                transfers
                ID.json
                """)
        #expect(
            try sandbox.sh(
                """
                rm $R/a/DCIM/one.txt; sum=$(md5sum $R/b/Reports/*.json); backupfs copy --resume $ID > $R/out; md5sum $R/b/Reports/*00Z.json | grep -cFx "$sum"
                ls $R/a/Reports | cat; jq -r .verdict $R/a/Reports/transfers/$ID.json
                """, now.merging(["ID": try sandbox.sh("basename $(readlink $J)")]) { $1 })
                == "1\nbackupfs_report_2026-01-11T14-30-00Z.csv\nbackupfs_report_2026-01-11T14-30-00Z.json\ntransfers\nevery_byte_arrived"
        )
        #expect(
            try sandbox.sh(
                "for i in 1 2; do backupfs report $(basename $(readlink $J)) --format csv --output $R/out-2; done; ls $R/out-2",
                now
            )
            .hasSuffix("backupfs_report_2026-01-11T14-30-00Z-2.csv\nbackupfs_report_2026-01-11T14-30-00Z.csv"))
    }

    @Test func `a report that cannot be made changes nothing of the copy`() throws {
        let sandbox = try CopySandbox.make(CopySandbox.source, "mkdir $R/alone; cp \(try Machine.binaryPath()) $R/alone/backupfs")
        let output = try sandbox.run("$R/alone/backupfs copy --report json,pdf $R/card $R/a")
        #expect(
            output.exitCode == 0 && output.errors.contains("a report could not be made: no pages can be drawn"), "\(output.text)")
        #expect(try sandbox.sh("\(Self.job); ls $J/reports; cat $J/state; diff -r $R/card $R/a") == "report.json\ncompleted")
        // Asked for by name it is an error; among all forms it is left out.
        let named = try sandbox.run("$R/alone/backupfs report $(basename $(readlink $J)) --format pdf --output $R/x")
        #expect(named.exitCode == 1 && named.errors.contains("backupfs-media is not installed"), "\(named.text)")
        let all = try sandbox.run("$R/alone/backupfs report $(basename $(readlink $J)) --output $R/y; ls $R/x $R/y")
        #expect(all.exitCode == 0 && all.output.contains(".html") && !all.output.contains(".pdf"), "\(all.text)")
        try sandbox.fails("backupfs report nope", saying: "there is no such job", exitCode: 1)
        try sandbox.sh("echo text > $R/logo.png")
        try sandbox.fails(
            "backupfs report $(basename $(readlink $J)) --logo $R/logo.png", saying: "neither a JPEG nor a PNG", exitCode: 2)
    }

    @Test func `100,000 rows are not held in memory`() throws {
        let sandbox = try CopySandbox.make("mkdir $R/card; echo x > $R/card/x")
        try sandbox.sh(
            #"""
            backupfs copy $R/card $R/a > $R/out; jobs=$R/home/.local/state/backupfs/jobs; ln -sfn $jobs/$(ls $jobs) $R/job
            python3 - $R/job <<'EOF'
            import json, sys
            job = sys.argv[1]
            row = json.loads(open(job + "/results.jsonl").readline())
            with open(job + "/results.jsonl", "w") as rows:
                for number in range(100000):
                    row["path"] = f"DCIM/{number // 1000}/clip-{number:06}.mov"
                    rows.write(json.dumps(row) + "\n")
            text = open(job + "/source_info.json").read()
            open(job + "/source_info.json", "w").write(text.replace('"fileCount": 1', '"fileCount": 100000'))
            EOF
            """#)
        let memory = try sandbox.sh(
            "/usr/bin/python3 -c 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' backupfs report $(basename $(readlink $J)) --format json,csv,html,pdf"
        )
        // The PDF has the first rows, and says so.
        #expect(
            try ReportPageTests.words("$J/reports/report.pdf", in: sandbox).contains(
                "This list has the first 2000 of 100000."))
        #expect(try #require(Int(memory)) < 100_000, "\(memory) KiB")
        #expect(
            try sandbox.sh(
                "jq -c '[.backupfs.verdict, (.results | length)]' $J/reports/report.json; grep -c '^verified' $J/reports/report.csv; grep -c '<tr class=\"good\">' $J/reports/report.html"
            )
                == "[\"every_byte_arrived\",100000]\n100000\n100000")
    }
}

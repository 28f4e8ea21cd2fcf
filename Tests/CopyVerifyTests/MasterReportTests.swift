import TestSupport
import Testing

/// `backupfs report master`: one report of all jobs on some disks.
struct MasterReportTests {
    private static let cards = """
        mkdir -p $R/A001 $R/A002 $R/B001 $R/raid; head -c 1000 /dev/urandom > $R/A001/x; head -c 2000 /dev/urandom > $R/A002/x; echo y > $R/A002/y; head -c 5000 /dev/urandom > $R/B001/z
        """

    /// `job FOLDER…` copies, and prints the ID of the job.
    private static let copy =
        "job() { { backupfs copy --json \"$@\" 2>/dev/null || [ $? = 3 ]; } | tail -n 1 | jq -r .job; }; jobs=$R/home/.local/state/backupfs/jobs"

    @Test func `LOG-07: two jobs on a volume are two transfers, also on another machine, and none of them twice`() throws {
        let sandbox = try CopySandbox.make(Self.cards)
        let list = "jq -c '[.summary.transfers, .summary.files, .summary.bytes, .summary.matches, .summary.verification_rate]'"
        #expect(
            try sandbox.sh(
                """
                \(Self.copy); job $R/A001 $R/raid/one --report json --report-in-destination >/dev/null; job $R/A002 $R/raid/two --report json --report-in-destination > /dev/null
                job $R/B001 $R/elsewhere > /dev/null
                backupfs report master $R/raid --format json --output $R/m1 >/dev/null; \(list) $R/m1/*.json
                HOME=$R/other backupfs report master $R/raid/one $R/raid --format json --output $R/m2 >/dev/null; \(list) $R/m2/*.json
                backupfs report master --format json --output $R/m3 >/dev/null; \(list) $R/m3/*.json
                backupfs report master --json $jobs --format csv --output $R/m4 | jq '.transfers | length'
                """) == "[2,3,3002,3,100]\n[2,3,3002,3,100]\n[3,4,8002,4,100]\n3")
    }

    @Test func `cameras, notes and numbers are on all forms`() throws {
        let sandbox = try CopySandbox.make(Self.cards)
        try sandbox.sh(
            """
            \(Self.copy); one=$(job $R/A001 $R/raid/one); two=$(job $R/A002 $R/raid/two); three=$(job $R/B001 $R/raid/one-more $R/raid/two)
            echo '{"type": "Generic", "name": "Generic", "model": null, "serial": null, "evidence": []}' > $jobs/$three/camera.json
            for id in $one $two; do echo '{"type": "Sony", "model": "ILME-FX6V", "serial": "007"}' > $jobs/$id/camera.json; done
            backupfs report master $R/raid --output $R/m --production 'The Long <Example>' --company 'Example Films' --notes $'First line\\nSecond' > $R/out
            """)
        let page = try ReportPageTests.read("$R/m/*.html", in: sandbox)
        #expect(page.hasPrefix("h1 MASTER TRANSFER REPORT\n"))
        for part in [
            "  Production | The Long <Example>\n", "notice good Every byte of all 3 transfers arrived.\n", "h2 SUMMARY\n",
            "  Total Transfers | 3\n",
            "  Total Files | 4\n", "  Total Size | 7.8 KiB\n", "  Verification Rate | 100.0 %\n",
            "  Largest Transfer | B001 (4.8 KiB)\n",
            "  Most Used Destination | \(sandbox("raid/two")) (2)\n", "h2 PRODUCTION NOTES\n",
            "h2 Sony ILME-FX6V (2 transfers)\nh3 A001\n",
            "  Serial number | 007\n", "h2 no camera recognised (1 transfer)\nh3 B001\n",
        ] { #expect(page.contains(part), "\(part) in \(page)") }
        let words = try ReportPageTests.words("$R/m/*.pdf", in: sandbox)
        for part in [
            "MASTER TRANSFER REPORT", "Sony ILME-FX6V (2 transfers)", "PRODUCTION NOTES", "First line Second",
            "Verification Rate 100.0 %",
        ] {
            #expect(words.contains(part), "\(part) in \(words)")
        }
        #expect(
            try sandbox.sh("jq -c '[.cameras[] | [.camera, (.transfers | length)]]' $R/m/*.json")
                == "[[\"Sony ILME-FX6V\",2],[null,1]]")
        #expect(
            try sandbox.sh(
                "python3 -c 'import csv, sys; rows = list(csv.DictReader(open(sys.argv[1], newline=\"\"))); print([(r[\"Camera\"], r[\"Files\"], r[\"Verdict\"]) for r in rows[:3]])' $R/m/*.csv"
            )
            .contains("('Sony ILME-FX6V', '1', 'every_byte_arrived')"))
    }

    @Test func `a transfer that is not proved, and a record that cannot be read, are said first`() throws {
        let sandbox = try CopySandbox.make(Self.cards)
        let result = try sandbox.sh(
            """
            \(Self.copy); job $R/A001 $R/raid/one --report-in-destination --report json >/dev/null; mkdir $R/raid/two; echo other > $R/raid/two/x; job $R/A002 $R/raid/two >/dev/null
            echo '{"transfer_version": 1, "id": "torn' > $R/raid/one/Reports/transfers/torn.json; echo '{"transfer_version": 99}' > $R/raid/one/Reports/transfers/new.json
            backupfs report master $R/raid --format html,json --output $R/m > $R/out 2> $R/err || echo "exit $?"; grep -c -e 'torn.json.*damaged' -e 'new.json.*newer version' $R/err
            jq -c '[.summary.transfers, .summary.issues, .summary.verification_rate, (.problems | length)]' $R/m/*.json
            backupfs report master $R/nowhere --output $R/m2 2>/dev/null || echo "exit $?"; ls $R/m2 2>/dev/null || echo none
            """)
        #expect(result == "exit 3\n2\n[2,1,66.667,2]\nexit 1\nnone")
        let page = try ReportPageTests.read("$R/m/*.html", in: sandbox)
        #expect(page.contains("notice bad 1 of 2 transfers is not proved: do not erase its source.\n"), "\(page)")
        #expect(page.contains("h2 What could not be read\n"))
    }
}

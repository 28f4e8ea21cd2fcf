import TestSupport
import Testing

/// `cp` into `restore/merge/` and `restore/skip/`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct MergeTests {
    /// A mounted store of the app's sample, and `other.json`: one more car, one changed expense, one new one, and other numbers
    /// for all of them.
    private static func withOther(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                cp $M/live/export.json $R/one.json; cd $R; python3 - <<'END'
                import json
                d = json.load(open('one.json'))
                for c in d['cars']: c['id'] = 100 - c['id']
                for k in ('expenses', 'plannedMaintenance'):
                    for e in d[k]:
                        e['id'] += 3
                        if 'carId' in e: e['carId'] = 100 - e['carId']
                d['cars'].append(dict(d['cars'][0], id=1, name='Another'))
                d['expenses'][0]['notes'] = 'changed'
                d['expenses'].append(dict(d['expenses'][1], id=1, carId=1, notes='new'))
                json.dump(d, open('other.json', 'w'))
                END
                """)
            try body(sandbox)
        }
    }

    private static let query =
        "select name, notes, count(*) from expenses join cars on cars.id = car_id where notes in ('changed', 'new') group by 1, 2 order by notes desc"

    @Test(arguments: ["merge", "skip"])
    func `a file is added to what is there`(strategy: String) throws {
        try Self.withOther { sandbox in
            let isMerge = strategy == "merge"
            let before = try sandbox.sh(
                "cat $M/live/export.json | jq -c '[.cars[], .delayedNotifications[], .plannedMaintenance[]]'")
            try sandbox.sh("cp $R/other.json $M/restore/\(strategy)/")
            #expect(
                try sandbox.report(
                    "[.result, .strategy, .carsImported, .expensesImported, .expensesSkipped, .outcome.expenses.updated, .mediaFilesRestored] | @json"
                )
                    == (isMerge ? #"["success","merge",1,1,1199,1,0]"# : #"["success","skip",1,1,1200,0,0]"#))
            #expect(
                try sandbox.sh("sqlite3 -readonly $S/app/database.sqlite \"\(Self.query)\"")
                    == (isMerge ? "Another|new|1\nHyundai Ioniq 5|changed|1" : "Another|new|1"))
            #expect(
                try sandbox.sh("jq '(.cars|length), (.expenses|length)' $M/live/export.json") == "4\n1201")
            // Existing records keep their numbers and all their values.
            let after = try sandbox.sh(
                "cat $M/live/export.json | jq -c '[.cars[] | select(.name != \"Another\")] + [.delayedNotifications[], .plannedMaintenance[]]'"
            )
            #expect(after == before)
            // A second time nothing is added, and nothing is written.
            let dump = try sandbox.databaseDump()
            try sandbox.sh("cp $R/other.json $M/restore/\(strategy)/again.json")
            #expect(try sandbox.report("[.outcome[] | .added + .updated] | @json") == "[0,0,0,0]")
            #expect(try sandbox.databaseDump() == dump)
            // The safety backup undoes it, as reported.
            try sandbox.sh("cp $(ls -d $M/safety/* | head -1) $M/restore/replace/")
            #expect(try sandbox.sh("jq '(.cars|length), (.expenses|length)' $M/live/export.json") == "3\n1200")
            #expect(try sandbox.report("[.strategy, .outcome.cars.removed] | @json") == #"["replace",4]"#)
        }
    }

    @Test func `a preview tells the numbers that each strategy then gives`() throws {
        try Self.withOther { sandbox in
            try sandbox.sh("cp $R/other.json $M/restore/preview/")
            let told = try sandbox.sh(
                "jq -c '[.strategy, .outcome.expenses, .otherStrategies.merge.outcome.expenses, .otherStrategies.skip.outcome.expenses]' $M/restore/preview/other.json.preview.json"
            )
            var done: [String] = []
            for strategy in ["replace", "merge", "skip"] {
                try sandbox.sh("cp $R/other.json $M/restore/\(strategy)/")
                done.append(try sandbox.report(".outcome.expenses | @json"))
                try sandbox.sh("cp $R/one.json $M/restore/replace/back-\(strategy).json")
            }
            #expect(told == "[\"replace\",\(done.joined(separator: ","))]")
            #expect(done[1] == #"{"added":1,"updated":1,"skipped":1199,"kept":0,"removed":0}"#)
        }
    }

    @Test func `the folders are those of the strategies that the app has`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write(
                PhotoDiary.definition.replacing("strategy: replace", with: "strategies: [replace, merge]"), to: "diary.yaml")
            try sandbox.sh("backupfs init --store $S --app $R/diary.yaml")
            try sandbox.mount()
            #expect(try sandbox.names("restore") == ["README.txt", "merge", "preview", "replace"])
            try sandbox.sh("cp $M/live/export.json $R/x.json")
            for place in ["skip/", "skip"] { try sandbox.fails("cp $R/x.json $M/restore/\(place)", saying: "") }
            #expect(try sandbox.names("restore") == ["README.txt", "merge", "preview", "replace"])
            #expect(try sandbox.names("safety") == [])
            try sandbox.unmount()
        }
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "sqlite3 $R/any.sqlite 'create table t (id integer primary key, a); insert into t values (1, 2)'; backupfs init --store $S --database $R/any.sqlite"
            )
            try sandbox.mount()
            #expect(try sandbox.names("restore") == ["README.txt", "preview", "replace"])
            try sandbox.unmount()
        }
    }

    @Test(arguments: ["merge", "skip"])
    func `a file that is refused fails to copy, and nothing changes`(strategy: String) throws {
        try Self.withOther { sandbox in
            let before = try sandbox.state()
            try sandbox.write(SampleDocument.replacing("\"carId\": 1\n", "\"carId\": 99\n"), to: "bad.json")
            try sandbox.fails("cp $R/bad.json $M/restore/\(strategy)/", saying: "Invalid argument")
            try sandbox.write(ReleasedAppDocument.text, to: "released.json")
            try sandbox.fails("cp $R/released.json $M/restore/\(strategy)/", saying: "Operation not supported")
            #expect(try sandbox.report("[.result, .strategy] | @json") == "[\"refused\",\"\(strategy)\"]")
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
        }
    }

    @Test(arguments: [
        "restore.journal-written", "restore.records-matched", "restore.rows-inserted", "restore.before-commit",
        "restore.committed",
        "restore.file-published", "restore.file-published:2", "restore.media-published", "restore.journal-published",
    ])
    func `killed while it merges photos`(point: String) throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh(
                """
                mkdir $R/media; cd $R; printf other > media/one.jpg; mkdir media/new; printf x > media/new/x.jpg; printf y > media/y.jpg
                echo '{"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1", "schemaVersion": 1}, "photos": [{"id": 9, "file": "y.jpg"}]}' > export.json
                zip -qr other.zip export.json media
                """)
            let old = try sandbox.databaseDump()
            try sandbox.mount(["BACKUPFS_FAULT": point])
            let result = try sandbox.run("cp $R/other.zip $M/restore/merge/")
            #expect(result.exitCode != 0, "\(point) was not reached")
            #expect(sandbox.waitForProcesses())
            try sandbox.mount()
            let isNew = ["committed", "published"].contains { point.contains($0) }
            let files = try sandbox.sh("cd $P; find . -type f -printf '%P\\n' | sort")
            let present = ["2024/summer/three.jpg", "2024/two.jpg"]
            #expect(
                files.split(separator: "\n").map(String.init)
                    == (isNew ? present + ["new/x.jpg", "one-2.jpg", "one.jpg", "y.jpg"] : present + ["one.jpg"]), "\(point)")
            #expect(try sandbox.sh("cat $P/one.jpg") == "one")
            #expect(try (sandbox.databaseDump() == old) == !isNew)
            #expect(
                try sandbox.report("[.result, .strategy] | @json") == (isNew ? #"["completed","merge"]"# : #"["undone","merge"]"#)
            )
            try CrashTests.expectNoLeftovers(sandbox)
            try sandbox.sh("cp $R/other.zip $M/restore/merge/")
            #expect(try sandbox.sh("cd $P; cat one.jpg one-2.jpg new/x.jpg y.jpg") == "oneotherxy")
            try sandbox.unmount()
        }
    }
}

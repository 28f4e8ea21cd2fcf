import BackupCore
import Foundation
import Restore
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// `backupfs restore --strategy`, and its reports.
struct MergingTests {
    /// The tracker's sample, and another phone's file: the same cars and expenses under other numbers, one changed, one new.
    private static func makeTracker() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample >/dev/null; backupfs export --json -o $R/one.json --store $S")
        try sandbox.sh(
            """
            cat > $R/make.py <<'END'
            import json
            d = json.load(open('one.json'))
            for c in d['cars']: c['id'] += 1
            for k in ('expenses', 'plannedMaintenance'):
                for e in d[k]:
                    e['id'] += 7
                    if 'carId' in e: e['carId'] += 1
            d['expenses'][0]['notes'] = 'changed'
            d['expenses'].append(dict(d['expenses'][1], id=1, odometer=7, notes='new'))
            json.dump(d, open('other.json', 'w'))
            END
            cd $R; python3 make.py
            """)
        return sandbox
    }

    private static let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"
    private static let numbers =
        "jq -c 'select(.outcome) | [.strategy, .outcome.cars, .outcome.expenses, .expensesImported, .expensesSkipped, .mediaFilesRestored]'"

    @Test(arguments: ["replace", "merge", "skip"])
    func `VAL-18: a dry run tells the numbers of the run`(strategy: String) throws {
        let sandbox = try Self.makeTracker()
        let before = try sandbox.sh(Self.dump)
        let dry = try sandbox.sh(
            "backupfs restore $R/other.json --strategy \(strategy) --dry-run --json --store $S | \(Self.numbers)")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
        let run = try sandbox.sh(
            "backupfs restore $R/other.json --strategy \(strategy) --yes --json --store $S | \(Self.numbers)")
        #expect(run == dry)
        let expected = [
            "replace": [
                #"{"added":3,"updated":0,"skipped":0,"kept":0,"removed":3}"#,
                #"{"added":1201,"updated":0,"skipped":0,"kept":0,"removed":1200}"#, "1201,0",
            ],
            "merge": [
                #"{"added":0,"updated":0,"skipped":3,"kept":0,"removed":0}"#,
                #"{"added":1,"updated":1,"skipped":1199,"kept":0,"removed":0}"#, "1,1199",
            ],
            "skip": [
                #"{"added":0,"updated":0,"skipped":3,"kept":0,"removed":0}"#,
                #"{"added":1,"updated":0,"skipped":1200,"kept":0,"removed":0}"#, "1,1200",
            ],
        ]
        let numbers = try #require(expected[strategy])
        #expect(run == #"["\#(strategy)",\#(numbers[0]),\#(numbers[1]),\#(numbers[2]),0]"#)
        #expect(try sandbox.sh("\(Self.numbers) $S/restore/last.json") == run)
        let notes = try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"select notes, count(*) from expenses where notes in ('changed', 'new') group by 1\""
        )
        #expect(notes == (strategy == "skip" ? "new|1" : "changed|1\nnew|1"))
        // Repeated, nothing is new.
        if strategy != "replace" {
            let after = try sandbox.sh(Self.dump)
            let again = try sandbox.sh(
                "backupfs restore $R/other.json --strategy \(strategy) --yes --json --store $S | jq -c 'select(.outcome) | [.outcome[] | .added, .updated]'"
            )
            #expect(again == "[0,0,0,0,0,0,0,0]")
            #expect(try sandbox.sh(Self.dump) == after)
        }
    }

    @Test func `what the strategies report`() throws {
        let sandbox = try Self.makeTracker()
        let text = try sandbox.sh("backupfs restore $R/other.json --strategy merge --dry-run --store $S")
        #expect(
            text.contains(
                "With merge (what was there gets the file's values):\n  Cars: 0 added, 0 updated, 3 skipped\n  Expenses: 1 added, 1 updated, 1199 skipped\n"
            ))
        #expect(!text.contains("DELETE ALL"))
        let replace = try sandbox.sh("backupfs restore $R/other.json --dry-run --store $S")
        #expect(
            replace.hasSuffix(
                "  Notifications: 4 added, 4 removed\nA safety backup of all data is made first. The restore can be taken back with: backupfs undo\nImporting will DELETE ALL existing data. This cannot be undone."
            ))
        // A preview in the mounted folder reports all strategies.
        let store = try Store.open(sandbox.storePath)
        let report = try RestoreRunner(store: store).preview(ImportSource(file: sandbox("other.json")), comparesOthers: true)
        #expect(report.text.contains("With skip (what was there stays as it is):\n  Cars: 0 added, 0 updated, 3 skipped\n"))
        let document = try json(report.json.prettyText)
        let others = try #require(document["otherStrategies"] as? [String: [String: Any]])
        #expect(Set(others.keys) == ["merge", "skip"])
        #expect(others["merge"]?["expensesImported"] as? Int == 1 && others["skip"]?["expensesSkipped"] as? Int == 1200)
        // A user has to consent.
        let asked = try sandbox.run("backupfs restore $R/other.json --strategy merge --store $S </dev/null")
        #expect(
            asked.exitCode == 2 && asked.errors.contains("a restore changes the data, and there is no terminal to confirm it on")
        )
        let unknown = try sandbox.run("backupfs restore $R/other.json --strategy add --yes --store $S")
        #expect(unknown.exitCode == 2)
        try sandbox.sh("backupfs restore $R/other.json --strategy merge --yes --store $S > $R/told")
        #expect(try sandbox.sh("head -1 $R/told") == "other.json: Added 1, updated 1 and skipped 1214 records.")
    }

    @Test func `an app's own default, and strategies that it does not have`() throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            PhotoDiary.definition(identity: "caption").replacing(
                "strategy: replace", with: "strategies: [merge, replace]\nstrategy: merge"),
            to: "diary.yaml")
        try sandbox.sh(
            "backupfs init --store $S --app $R/diary.yaml; \(PhotoDiary.fill); backupfs export --json -o $R/one.json --store $S")
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"insert into photos values (9, 'nine.jpg', 'nine')\"")
        #expect(
            try sandbox.sh(
                "backupfs restore $R/one.json --yes --json --store $S | jq -c 'select(.outcome) | [.strategy, .outcome.photos.skipped, .photosImported]'"
            ) == #"["merge",3,0]"#)
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos'") == "4")
        #expect(try sandbox.sh("tail -1 $S/restore/last.txt").hasSuffix(" restore/replace/"))
        let refused = try sandbox.run("backupfs restore $R/one.json --strategy skip --yes --store $S")
        #expect(
            refused.exitCode == 1 && refused.errors.contains("Photo Diary has no strategy skip. Choose one of: merge, replace."))
        #expect(
            try sandbox.sh(
                "backupfs restore $R/one.json --strategy replace --yes --json --store $S | jq -c 'select(.outcome) | [.strategy, .outcome.photos]'"
            )
                == #"["replace",{"added":3,"updated":0,"skipped":0,"kept":0,"removed":4}]"#)
        #expect(
            try sandbox.sh("backupfs app show $R/diary.yaml --json | jq -c '[.strategy, .strategies, .collections[0].identity]'")
                == #"["merge",["merge","replace"],["caption"]]"#)
    }

    @Test func `a file of another form is refused before anything is done`() throws {
        let sandbox = try Self.makeTracker()
        try sandbox.write(ReleasedAppDocument.text, to: "seven.json")
        let before = try sandbox.sh(Self.dump)
        for strategy in ["merge", "skip"] {
            for option in ["--yes", "--dry-run"] {
                let result = try sandbox.run("backupfs restore $R/seven.json --strategy \(strategy) \(option) --store $S")
                #expect(result.exitCode == 1)
                #expect(
                    result.errors.contains(
                        "the file is of schema version 9, and the data of version 1, whose cars have another form"),
                    "\(result.errors)")
                #expect(result.errors.contains("Use the strategy replace, or a file of a version from 1 to 1."))
            }
        }
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh("ls $S/repository/snapshots | wc -l") == "0")
        // Once this file has replaced the data, the data has its form, and can be added to.
        try sandbox.sh("backupfs restore $R/seven.json --yes --store $S >/dev/null")
        let again = try sandbox.sh(
            "backupfs restore $R/seven.json --strategy merge --yes --json --store $S | jq -c 'select(.outcome) | [.outcome[] | .added + .updated]'"
        )
        #expect(again == "[0,0,0,0,0,0]")
    }

    @Test func `a backup, an archive and a database are added as an export is`() throws {
        let sandbox = try Self.makeTracker()
        try sandbox.sh(
            "backupfs backup --label one --store $S >/dev/null; backupfs export one --zip -o $R/one.zip --store $S; sqlite3 $S/app/database.sqlite \".backup $R/one.sqlite\""
        )
        for source in ["one", "$R/one.zip", "$R/one.sqlite"] {
            try sandbox.sh("sqlite3 $S/app/database.sqlite \"delete from expenses where id % 2 = 1\"")
            let numbers = try sandbox.sh(
                "backupfs restore \(source) --strategy skip --yes --json --store $S | jq -c 'select(.outcome) | [.carsImported, .expensesImported, .expensesSkipped]'"
            )
            #expect(numbers == "[0,600,600]", "\(source)")
            #expect(
                try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from expenses; select count(*) from cars'")
                    == "1200\n3")
            try sandbox.sh("backupfs restore one --yes --store $S >/dev/null")
        }
    }
}

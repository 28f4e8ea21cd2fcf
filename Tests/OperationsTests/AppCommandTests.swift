import AppData
import Foundation
import Operations
import SystemIO
import TestSupport
import Testing

/// `backupfs app` as users and scripts see it.
@Suite struct AppCommandTests {
    @Test func `list tells the built-in apps, and the store's own`() throws {
        let sandbox = try Sandbox()
        #expect(
            try sandbox.sh("backupfs app list") == """
                NAME                 TITLE                FROM
                ev-charging-tracker  EV Charging Tracker  built in
                keeptrack            KeepTrack            built in
                photo-library        Photo Library        built in
                smilepile            SmilePile            built in
                """)
        #expect(try sandbox.run("backupfs app list --store $S").exitCode == 10)
        _ = try sandbox.makeDiary()
        #expect(
            try sandbox.sh("backupfs app list --store $S") == """
                NAME                 TITLE                FROM
                photo-diary          Photo Diary          \(sandbox.storePath)/app.yaml, the store's app
                ev-charging-tracker  EV Charging Tracker  built in
                keeptrack            KeepTrack            built in
                photo-library        Photo Library        built in
                smilepile            SmilePile            built in
                """)
        #expect(
            try sandbox.sh(
                "BACKUPFS_STORE=$S backupfs app list --json | jq -c '.[]|[.name,.title,.built_in,.path,.of_store,.problems]'")
                    == """
                    ["photo-diary","Photo Diary",false,"\(sandbox.storePath)/app.yaml",true,0]
                    ["ev-charging-tracker","EV Charging Tracker",true,null,false,0]
                    ["keeptrack","KeepTrack",true,null,false,0]
                    ["photo-library","Photo Library",true,null,false,0]
                    ["smilepile","SmilePile",true,null,false,0]
                    """)
        try sandbox.sh("backupfs init --store $R/cars >/dev/null")
        #expect(
            try sandbox.sh("backupfs app list --store $R/cars | sed -n 2p")
                == "ev-charging-tracker  EV Charging Tracker  built in, the store's app")
        // A definition broken by a later edit is still listed.
        try sandbox.sh("sed -i s/title:/titel:/ $S/app.yaml")
        #expect(
            try sandbox.sh("backupfs app list --store $S").contains(
                "it has problems: backupfs app check \(sandbox.storePath)/app.yaml")
        )
    }

    @Test func `show prints definitions as they were written`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        let source = "\(Machine.projectPath)/Sources/AppData/Resources/ev-charging-tracker.yaml"
        try sandbox.sh("backupfs app show ev-charging-tracker | cmp - '\(source)'")
        try sandbox.sh(
            "backupfs app show --store $S | cmp - $R/diary.yaml; backupfs app show $R/diary.yaml | cmp - $R/diary.yaml")
        try sandbox.sh("backupfs app show photo-diary --store $S | cmp - $R/diary.yaml")
        #expect(
            try sandbox.sh(
                """
                backupfs app show ev-charging-tracker --json | jq -c '[.name,.title,.built_in,.schema_version,.minimum_schema_version,.media,.strategy]
                    , .envelope, [.collections[]|.name], .collections[1].fields[10], (.settings.fields[]|[.name,.key,.type,.required])'
                """) == """
                    ["ev-charging-tracker","EV Charging Tracker",true,1,1,null,"replace"]
                    ["metadata","cars","expenses","plannedMaintenance","delayedNotifications","userSettings"]
                    ["cars","expenses","plannedMaintenance","delayedNotifications"]
                    {"name":"carId","column":"car_id","type":"integer","required":false,"nullable":true,"references":"cars.id","media":false}
                    ["preferredCurrency","preferred_currency","text",false]
                    ["preferredLanguage","preferred_language","text",false]
                    """)
        #expect(
            try sandbox.sh("backupfs app show --store $S --json | jq -c '[.name,.path,.media,.migrations,.collections[0].key]'")
                == #"["photo-diary","\#(sandbox.storePath)/app.yaml",{"folder":"photos"},["1-initial"],"id"]"#)
        let unknown = try sandbox.run("backupfs app show none --store $S")
        #expect(unknown.exitCode == 1 && unknown.errors.contains("there is no app called none"))
        #expect(try sandbox.run("backupfs app show $R/none.yaml").exitCode == 1)
        #expect(try sandbox.run("backupfs app show --store $R/none").exitCode == 10)
    }

    @Test func `check names file, line and remedy of every problem`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        #expect(try sandbox.sh("backupfs app check $R/diary.yaml") == "\(sandbox("diary.yaml")): no problems")
        try sandbox.sh(
            "cd $R; sed 's/title:/titel:/; s/type: text, nullable: true/type: txt, nulable: true/' diary.yaml > wrong.yaml")
        let text = try sandbox.run("cd $R; backupfs app check wrong.yaml diary.yaml none.yaml")
        #expect(text.exitCode == 1)
        #expect(
            text.output == """
                wrong.yaml:3: the definition has no member called titel. Did you mean title?
                wrong.yaml:31: collections[0].fields[2] has no member called nulable. Did you mean nullable?
                wrong.yaml:31: collections[0].fields[2].type must be one of integer, double, text, decimalText, boolean, \
                date, epochMilliseconds, dates, uuid, any. Did you mean text?
                diary.yaml: no problems
                none.yaml: could not open the file: No such file or directory

                """)
        #expect(text.errors == "backupfs: there are 4 problems. Correct the definition, and check it again.\n")
        let json = try sandbox.run("cd $R; backupfs app check wrong.yaml diary.yaml --json")
        #expect(json.exitCode == 1)
        let lines = try json.output.split(separator: "\n").map { try OperationsTests.json(Array($0.utf8)) }
        #expect(lines.map { $0["message_type"] as? String } == ["problem", "problem", "problem", "summary", "summary"])
        #expect(lines[0]["file"] as? String == "wrong.yaml" && lines[0]["line"] as? Int == 3)
        #expect(lines[0]["message"] as? String == "the definition has no member called titel")
        #expect(lines[0]["remedy"] as? String == "Did you mean title?")
        #expect(lines[3]["sound"] as? Bool == false && lines[3]["problems"] as? Int == 3 && lines[3]["name"] is NSNull)
        #expect(lines[4]["sound"] as? Bool == true && lines[4]["name"] as? String == "photo-diary")
        #expect(try OperationsTests.json(Array(json.errors.utf8))["error"] as? String == "invalidContent")
        for usage in ["", "a.yaml b.yaml --database x", "--no-such-option a.yaml"] {
            #expect(try sandbox.run("backupfs app check \(usage)").exitCode == 2)
        }
        // The same full report comes when a store is created from it.
        let refused = try sandbox.run("backupfs init --store $R/new --app $R/wrong.yaml")
        #expect(
            refused.exitCode == 1
                && refused.errors.contains("line 3: the definition has no member called titel. Did you mean title?"))
        #expect(refused.errors.contains("\n  line 31: collections[0].fields[2] has no member called nulable"))
    }

    @Test func `check compares with a database`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'create table extra (a)'; sha256sum $S/app/database.sqlite > $R/sum")
        #expect(
            try sandbox.sh("cd $R; backupfs app check diary.yaml --database $S/app/database.sqlite") == """
                diary.yaml: tables of the database that the definition does not mention: extra
                diary.yaml: no problems
                """)
        try sandbox.sh("sha256sum --quiet -c $R/sum")
        try sandbox.sh(
            """
            sqlite3 $R/other.sqlite 'create table photos (id integer primary key, fil text, note text); create table metadata (key, value)'
            """)
        let result = try sandbox.run("cd $R; backupfs app check diary.yaml --database other.sqlite")
        #expect(result.exitCode == 1)
        #expect(
            result.output == """
                diary.yaml:17: the database has no table app_metadata. Did you mean metadata?
                diary.yaml:30: the table photos has no column file. Did you mean fil?
                diary.yaml:31: the table photos has no column caption. Make the column, or name another one. There are: fil, note.
                diary.yaml:24: warning: the table photos has columns without a field: fil, note. \
                Add a field for each: a restore is refused while they hold values, which it would lose.
                diary.yaml: tables of the database that the definition does not mention: metadata

                """)
        let missing = try sandbox.run("backupfs app check $R/diary.yaml --database $R/none.sqlite")
        #expect(missing.exitCode == 1 && missing.output.contains("the database does not exist"))
        #expect(
            try sandbox.sh(
                "cd $R; backupfs app check diary.yaml --database $S/app/database.sqlite --json | jq -c '[.sound,.unmentioned_tables]'"
            )
                == #"[true,["extra"]]"#)
    }

    @Test func `schema prints the published schema`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs app schema | cmp - '\(Machine.projectPath)/Docs/reference/app-definition.schema.json'")
        #expect(try sandbox.run("backupfs app schema extra").exitCode == 2)
        #expect(try sandbox.run("backupfs app").exitCode == 0)
    }
}

import AppData
import Foundation
import Operations
import SystemIO
import TestSupport
import Testing

/// `backupfs app` as users and scripts see it.
@Suite struct AppCommandTests {
    @Test func `list tells the built-in apps, and the store's own`() throws {
        let room = try Room()
        #expect(
            try room.sh("backupfs app list") == """
                NAME                 TITLE                FROM
                ev-charging-tracker  EV Charging Tracker  built in
                keeptrack            KeepTrack            built in
                photo-library        Photo Library        built in
                smilepile            SmilePile            built in
                """)
        #expect(try room.run("backupfs app list --store $S").status == 10)
        _ = try room.makeDiary()
        #expect(
            try room.sh("backupfs app list --store $S") == """
                NAME                 TITLE                FROM
                photo-diary          Photo Diary          \(room.storePath)/app.yaml, the store's app
                ev-charging-tracker  EV Charging Tracker  built in
                keeptrack            KeepTrack            built in
                photo-library        Photo Library        built in
                smilepile            SmilePile            built in
                """)
        #expect(
            try room.sh(
                "BACKUPFS_STORE=$S backupfs app list --json | jq -c '.[]|[.name,.title,.built_in,.path,.of_store,.problems]'")
                    == """
                    ["photo-diary","Photo Diary",false,"\(room.storePath)/app.yaml",true,0]
                    ["ev-charging-tracker","EV Charging Tracker",true,null,false,0]
                    ["keeptrack","KeepTrack",true,null,false,0]
                    ["photo-library","Photo Library",true,null,false,0]
                    ["smilepile","SmilePile",true,null,false,0]
                    """)
        try room.sh("backupfs init --store $R/cars >/dev/null")
        #expect(
            try room.sh("backupfs app list --store $R/cars | sed -n 2p")
                == "ev-charging-tracker  EV Charging Tracker  built in, the store's app")
        // A definition broken by a later edit is still listed.
        try room.sh("sed -i s/title:/titel:/ $S/app.yaml")
        #expect(
            try room.sh("backupfs app list --store $S").contains("it has problems: backupfs app check \(room.storePath)/app.yaml")
        )
    }

    @Test func `show prints definitions as they were written`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        let source = "\(Machine.projectPath)/Sources/AppData/Resources/ev-charging-tracker.yaml"
        try room.sh("backupfs app show ev-charging-tracker | cmp - '\(source)'")
        try room.sh("backupfs app show --store $S | cmp - $R/diary.yaml; backupfs app show $R/diary.yaml | cmp - $R/diary.yaml")
        try room.sh("backupfs app show photo-diary --store $S | cmp - $R/diary.yaml")
        #expect(
            try room.sh(
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
            try room.sh("backupfs app show --store $S --json | jq -c '[.name,.path,.media,.migrations,.collections[0].key]'")
                == #"["photo-diary","\#(room.storePath)/app.yaml",{"folder":"photos"},["1-initial"],"id"]"#)
        let unknown = try room.run("backupfs app show none --store $S")
        #expect(unknown.status == 1 && unknown.complaint.contains("there is no app called none"))
        #expect(try room.run("backupfs app show $R/none.yaml").status == 1)
        #expect(try room.run("backupfs app show --store $R/none").status == 10)
    }

    @Test func `check names file, line and remedy of every problem`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        #expect(try room.sh("backupfs app check $R/diary.yaml") == "\(room("diary.yaml")): no problems")
        try room.sh(
            "cd $R; sed 's/title:/titel:/; s/type: text, nullable: true/type: txt, nulable: true/' diary.yaml > wrong.yaml")
        let text = try room.run("cd $R; backupfs app check wrong.yaml diary.yaml none.yaml")
        #expect(text.status == 1)
        #expect(
            text.output == """
                wrong.yaml:3: the definition has no member called titel. Did you mean title?
                wrong.yaml:31: collections[0].fields[2] has no member called nulable. Did you mean nullable?
                wrong.yaml:31: collections[0].fields[2].type must be one of integer, double, text, decimalText, boolean, \
                date, epochMilliseconds, dates, uuid, any. Did you mean text?
                diary.yaml: no problems
                none.yaml: could not open the file: No such file or directory

                """)
        #expect(text.complaint == "backupfs: there are 4 problems. Correct the definition, and check it again.\n")
        let json = try room.run("cd $R; backupfs app check wrong.yaml diary.yaml --json")
        #expect(json.status == 1)
        let lines = try json.output.split(separator: "\n").map { try OperationsTests.json(Array($0.utf8)) }
        #expect(lines.map { $0["message_type"] as? String } == ["problem", "problem", "problem", "summary", "summary"])
        #expect(lines[0]["file"] as? String == "wrong.yaml" && lines[0]["line"] as? Int == 3)
        #expect(lines[0]["message"] as? String == "the definition has no member called titel")
        #expect(lines[0]["remedy"] as? String == "Did you mean title?")
        #expect(lines[3]["sound"] as? Bool == false && lines[3]["problems"] as? Int == 3 && lines[3]["name"] is NSNull)
        #expect(lines[4]["sound"] as? Bool == true && lines[4]["name"] as? String == "photo-diary")
        #expect(try OperationsTests.json(Array(json.complaint.utf8))["error"] as? String == "invalidContent")
        for usage in ["", "a.yaml b.yaml --database x", "--no-such-option a.yaml"] {
            #expect(try room.run("backupfs app check \(usage)").status == 2)
        }
        // The same full report comes when a store is created from it.
        let refused = try room.run("backupfs init --store $R/new --app $R/wrong.yaml")
        #expect(
            refused.status == 1
                && refused.complaint.contains("line 3: the definition has no member called titel. Did you mean title?"))
        #expect(refused.complaint.contains("\n  line 31: collections[0].fields[2] has no member called nulable"))
    }

    @Test func `check compares with a database`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh("sqlite3 $S/app/database.sqlite 'create table extra (a)'; sha256sum $S/app/database.sqlite > $R/sum")
        #expect(
            try room.sh("cd $R; backupfs app check diary.yaml --database $S/app/database.sqlite") == """
                diary.yaml: tables of the database that the definition does not mention: extra
                diary.yaml: no problems
                """)
        try room.sh("sha256sum --quiet -c $R/sum")
        try room.sh(
            """
            sqlite3 $R/other.sqlite 'create table photos (id integer primary key, fil text, note text); create table metadata (key, value)'
            """)
        let result = try room.run("cd $R; backupfs app check diary.yaml --database other.sqlite")
        #expect(result.status == 1)
        #expect(
            result.output == """
                diary.yaml:17: the database has no table app_metadata. Did you mean metadata?
                diary.yaml:30: the table photos has no column file. Did you mean fil?
                diary.yaml:31: the table photos has no column caption. Make the column, or name another one. There are: fil, note.
                diary.yaml:24: warning: the table photos has columns without a field: fil, note. \
                Add a field for each: a restore is refused while they hold values, which it would lose.
                diary.yaml: tables of the database that the definition does not mention: metadata

                """)
        let missing = try room.run("backupfs app check $R/diary.yaml --database $R/none.sqlite")
        #expect(missing.status == 1 && missing.output.contains("the database does not exist"))
        #expect(
            try room.sh(
                "cd $R; backupfs app check diary.yaml --database $S/app/database.sqlite --json | jq -c '[.sound,.unmentioned_tables]'"
            )
                == #"[true,["extra"]]"#)
    }

    @Test func `schema prints the published schema`() throws {
        let room = try Room()
        try room.sh("backupfs app schema | cmp - '\(Machine.projectPath)/Docs/reference/app-definition.schema.json'")
        #expect(try room.run("backupfs app schema extra").status == 2)
        #expect(try room.run("backupfs app").status == 0)
    }
}

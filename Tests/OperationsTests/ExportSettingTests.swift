import BackupCore
import BackupRepository
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// The setting `export`: backups without a stored export have the same data, and everything that needs their records gets them.
struct ExportSettingTests {
    private static let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"

    /// A store with sample data that does not store exports.
    private static func sandbox(_ setting: String = "off", app: String = "ev-charging-tracker") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --sample --app \(app) --store $S >/dev/null; backupfs config set export \(setting) --store $S")
        return sandbox
    }

    private static func change(_ number: Int) -> String {
        "sqlite3 $S/app/database.sqlite \"delete from expenses where id = \(number); update cars set name = name || '\(number)'\""
    }

    @Test(arguments: ["off", "live"])
    func `a backup stores the database and the manifest`(setting: String) throws {
        let sandbox = try Self.sandbox(setting)
        #expect(try sandbox.sh("backupfs backup --label one --store $S") == "one")
        let names = try Store.open(sandbox.storePath)
        let root = try names.repository.rootDirectory(of: names.snapshot(named: "one"))
        #expect(root.entries.map(\.name.description) == ["database.sqlite", "manifest.json"])
        let listed = try sandbox.sh(
            "backupfs snapshots --json --store $S | jq -c '.[] | [.attributes.export, .file_name, .records]'")
        #expect(listed == "[\"\(setting)\",null,null]")
        #expect(
            try sandbox.sh("backupfs restore one --target $R/out --store $S >/dev/null; ls $R/out")
                == "database.sqlite\nmanifest.json")
        #expect(
            try sandbox.sh("jq -c .records $R/out/manifest.json")
                == #"{"cars":3,"expenses":1200,"plannedMaintenance":8,"delayedNotifications":4}"#)
        #expect(try sandbox.sh("sqlite3 -readonly $R/out/database.sqlite .dump") == sandbox.sh(Self.dump))
        try sandbox.sh("backupfs check --read-data --store $S >/dev/null")
    }

    @Test func `other values are refused, and the default is to store it`() throws {
        let sandbox = try Self.sandbox("always")
        try sandbox.fails("backupfs config set export maybe --store $S", saying: "Write one of off, live, always")
        try sandbox.sh("backupfs config unset export --store $S; backupfs backup --label one --store $S")
        #expect(
            try sandbox.sh("backupfs ls one --store $S | awk '{ print $NF }' | paste -sd' '")
                .contains("changes.json"))
    }

    @Test(arguments: ["replace", "merge"])
    func `it is restored by its name, and the restore is undone`(strategy: String) throws {
        let sandbox = try Self.sandbox()
        let old = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs backup --label one --store $S; \(Self.change(7))")
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore one --strategy \(strategy) --yes --store $S")
        let restored = try sandbox.sh(Self.dump)
        #expect(restored != before)
        if strategy == "replace" { #expect(restored == old) }
        // The safety backup is a file that any program can restore.
        let safety = try sandbox.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].file_name'")
        #expect(safety.hasSuffix(".json"))
        #expect(try sandbox.sh("backupfs ls \(safety) --store $S").contains("export.json"))
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == restored)
    }

    @Test func `its export is the one that would have been stored`() throws {
        let sandbox = try Self.sandbox()
        let clock = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; backupfs config set export always --store $S
            backupfs backup --label two --store $S
            for name in one two; do
              backupfs export $name -o $R/$name.json --store $S; backupfs export $name --zip -o $R/$name.zip --store $S
              mkdir $R/$name; unzip -q $R/$name.zip -d $R/$name; backupfs stats --records $name --store $S > $R/$name.txt
            done
            cmp $R/one.json $R/two.json; cmp $R/one.json $R/one/export.json; diff -r $R/one/data $R/two/data; cmp $R/one.txt $R/two.txt
            cd $R/one; sha256sum --quiet -c SHA256SUMS
            """, clock)
        #expect(try sandbox.sh("backupfs diff one two --store $S") == "No differences.")
        try sandbox.sh(Self.change(7))
        let differences = try sandbox.sh(
            "backupfs diff one live --json --store $S | jq -c '.records | map_values([.changed, .removed])'")
        #expect(
            try sandbox.sh("backupfs diff two live --json --store $S | jq -c '.records | map_values([.changed, .removed])'")
                == differences)
        #expect(differences == #"{"cars":[3,0],"expenses":[0,1],"plannedMaintenance":[0,0],"delayedNotifications":[0,0]}"#)
    }

    @Test func `backups of all settings in one store come back as they were`() throws {
        let sandbox = try Self.sandbox("always")
        var dumps: [String] = []
        for (number, setting) in ["always", "off", "live", "off", "always", "live", "always"].enumerated() {
            try sandbox.sh(
                "backupfs config set export \(setting) --store $S; \(Self.change(number + 10)); backupfs backup --label b\(number) --store $S >/dev/null"
            )
            dumps.append(try sandbox.sh(Self.dump))
        }
        // Each backup that stores its export lists what has changed, even if the backup before it does not store one.
        for number in [0, 4, 6] {
            try sandbox.sh("backupfs restore b\(number) --target $R/b\(number) --store $S >/dev/null")
        }
        #expect(
            try sandbox.sh("jq -c '[.since.name, .records.expenses.removedKeys, .records.cars.changed]' $R/b4/changes.json")
                == #"["b3",[14],3]"#)
        #expect(
            try sandbox.sh("jq -c '[.since.name, .records.expenses.removedKeys, .records.cars.changed]' $R/b6/changes.json")
                == #"["b5",[16],3]"#)
        for number in dumps.indices.reversed() {
            try sandbox.sh("backupfs restore b\(number) --strategy replace --yes --store $S >/dev/null")
            #expect(try sandbox.sh(Self.dump) == dumps[number], "b\(number)")
        }
        let verified = try sandbox.run("backupfs verify b0 b1 b2 b3 b4 b5 b6 --store $S")
        #expect(verified.exitCode == 0, "\(verified)")
        try sandbox.sh("backupfs check --read-data --store $S >/dev/null")
    }

    @Test func `an unchanged database is skipped, and stored again when the export is wanted`() throws {
        let sandbox = try Self.sandbox("always")
        let skip = "backupfs backup --skip-if-unchanged --store $S"
        try sandbox.sh("\(skip) --label one; backupfs config set export off --store $S")
        #expect(try sandbox.sh("\(skip) --label two") == "Nothing has changed since the backup one.")
        try sandbox.sh("backupfs backup --label off --store $S")
        #expect(try sandbox.sh("\(skip) --label two") == "Nothing has changed since the backup off.")
        try sandbox.sh(Self.change(1))
        #expect(try sandbox.sh("\(skip) --label two") == "two")
        try sandbox.sh("backupfs config set export always --store $S")
        #expect(try sandbox.sh("\(skip) --label three") == "three")
        #expect(try sandbox.sh("\(skip) --label four") == "Nothing has changed since the backup three.")
    }

    /// The number of files becomes a third when the setting is changed.
    @Test func `retention takes a backup without an export for no loss`() throws {
        let sandbox = try Self.sandbox("always")
        try sandbox.sh("backupfs backup --label one --store $S; backupfs config set export off --store $S")
        let backup = try sandbox.run("backupfs backup --label two --store $S")
        #expect(backup.exitCode == 0 && backup.errors == "", "\(backup)")
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 100'")
        let less = try sandbox.run("backupfs backup --label three --store $S")
        #expect(less.errors.contains("holds much less than the one before, two"), "\(less)")
    }

    @Test func `values that a restore would refuse are reported, and come back`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"UPDATE expenses SET cost = 'much' WHERE id = 1\"")
        let dump = try sandbox.sh(Self.dump)
        for label in ["one", "two"] {
            let backup = try sandbox.run("backupfs backup --label \(label) --store $S")
            #expect(backup.errors.contains("the app's definition does not allow 1 value"), "\(backup)")
        }
        try sandbox.sh("\(Self.change(9)); backupfs restore one --strategy replace --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == dump)
    }

    /// The export says which photo belongs to which record, with the names of the archive.
    @Test func `an app whose export lists its media gets them back`() throws {
        let sandbox = try Self.sandbox("always", app: "smilepile")
        let describe =
            "sqlite3 $S/app/database.sqlite .dump; cd $S/app/photos; find . -type f -printf '%P %T@\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum"
        let old = try sandbox.sh(describe)
        let clock = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; backupfs config set export off --store $S; backupfs backup --label two --store $S
            for name in one two; do backupfs export $name --zip -o $R/$name.zip --store $S; backupfs export $name -o $R/$name.json --store $S; done
            cmp $R/one.json $R/two.json; unzip -tqq $R/two.zip
            zipinfo -1 $R/one.zip | grep -v thumb | sort > $R/a; zipinfo -1 $R/two.zip | grep -v thumb | sort > $R/b; cmp $R/a $R/b
            """, clock)
        for source in ["two", "$R/two.zip"] {
            try sandbox.sh(
                """
                cd $S/app/photos; rm "$(find . -type f | head -1)"; printf new > new.jpg
                sqlite3 $S/app/database.sqlite "update photos set name = 'x'"
                """)
            let before = try sandbox.sh(describe)
            try sandbox.sh("backupfs restore \(source) --strategy replace --yes --store $S")
            #expect(try sandbox.sh(describe) == old, "\(source)")
            if source == "two" {
                try sandbox.sh("backupfs undo --yes --store $S")
                #expect(try sandbox.sh(describe) == before)
            }
        }
        let verified = try sandbox.run("backupfs verify two --store $S")
        #expect(verified.exitCode == 0, "\(verified)")
    }

    @Test func `a database that no definition describes comes back whole`() throws {
        let sandbox = try Sandbox()
        let dump = "sqlite3 $R/a.db .dump"
        try sandbox.sh(
            """
            sqlite3 $R/a.db "create table t(id integer primary key, a blob); insert into t values (1,'x'),(2,1e999); create table \\"o d/d\\" (x); insert into \\"o d/d\\" values (x'00')"
            backupfs init --store $S --database $R/a.db; backupfs config set export off --store $S
            """)
        let old = try sandbox.sh(dump)
        try sandbox.sh(
            "backupfs backup --label old --store $S; sqlite3 $R/a.db 'drop table t; create table n(y); insert into n values (1)'")
        #expect(try sandbox.sh("backupfs export old -o - --store $S | jq -c '.t | length'") == "2")
        #expect(
            try sandbox.sh("backupfs diff old live --json --store $S | jq -c '.records | map_values([.added, .removed])'")
                .contains(#""t":[0,2]"#))
        let before = try sandbox.sh(dump)
        try sandbox.sh("backupfs restore old --yes --store $S")
        #expect(try sandbox.sh(dump) == old)
        try sandbox.sh("backupfs undo --yes --store $S")
        #expect(try sandbox.sh(dump) == before)
        let verified = try sandbox.run("backupfs verify old --store $S")
        #expect(verified.exitCode == 0, "\(verified)")
    }

    /// Infinity is in the database alone.
    @Test func `values that no export can hold come back by name`() throws {
        let sandbox = try Self.sandbox()
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'update expenses set energy_charged = 9e999 where id = 1'")
        let old = try sandbox.sh(Self.dump)
        try sandbox.sh(
            "backupfs backup --label one --store $S; \(Self.change(5)); backupfs restore one --strategy replace --yes --store $S")
        #expect(try sandbox.sh(Self.dump) == old)
    }

    @Test func `where no export can be made, the error says why, and the files can be written`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs config set export off --store $S; backupfs backup --label one --store $S")
        // The definition gets a field that the backup's database does not have.
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite 'alter table photos add column stars integer'
            sed -i 's/^\\( *\\)- {name: caption, column: caption, type: text, nullable: true}/&\\n\\1- {name: stars, column: stars, type: integer, nullable: true}/' $S/app.yaml
            grep -q stars $S/app.yaml
            """)
        try sandbox.fails(
            "backupfs export one -o $R/x.json --store $S",
            saying:
                "none can be made of its database: the database is not one of Photo Diary: the table photos has no column stars",
            exitCode: 1)
        try sandbox.fails("backupfs restore one --yes --store $S", saying: "backupfs restore NAME --target FOLDER", exitCode: 1)
        #expect(try sandbox.run("backupfs verify one --store $S").exitCode == 1)
        try sandbox.sh(
            "backupfs restore one --target $R/out --store $S; sqlite3 -readonly $R/out/database.sqlite 'select * from photos'")
        // It is no obstacle for the next backup.
        try sandbox.sh("backupfs config set export always --store $S; backupfs backup --label two --store $S")
    }
}

import TestSupport
import Testing

/// The database of an app with a definition is lost: a restore brings back everything in the backup's `database.sqlite`, not only
/// what the definition names.
struct LostDatabaseTests {
    /// A database of an app that knows more than the definition: an extra table, column, index, view, trigger and version
    /// numbers.
    private static let more = """
        create table trips (id integer primary key, km); insert into trips values (1, 100);
        alter table cars add column vin; update cars set vin = 'V' || id; create index by_car on expenses(car_id);
        create unique index car_names on cars(name); create view v as select 1;
        create trigger tr after insert on expenses begin select 1; end; insert into grdb_migrations values ('2-app');
        pragma user_version = 12; pragma application_id = 777;
        """
    /// Everything, including versions.
    private static let dump =
        "sqlite3 $R/data/ev.db '.dump --preserve-rowids' 'pragma user_version' 'pragma application_id' 'pragma integrity_check'"

    private static func prepare() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/data; backupfs init --store $R/tmp --sample >/dev/null; cp $R/tmp/app/database.sqlite $R/data/ev.db; rm -r $R/tmp
            sqlite3 $R/data/ev.db "\(more)"
            backupfs init --store $S --database $R/data/ev.db --repository $R/repo >/dev/null; backupfs backup --label one --store $S >/dev/null 2>&1
            backupfs export one --zip --output $R/one.zip --store $S; backupfs export one --output $R/one.json --store $S
            backupfs restore one --target $R/files --store $S >/dev/null
            """)
        return sandbox
    }

    @Test(
        arguments: ["one", "$R/one.zip", "$R/one.json", "$R/files/database.sqlite"],
        ["rm $R/data/ev.db", "rm $R/data/*; : > $R/data/ev.db"])
    func `a lost or empty database comes back with all that only the app knows`(source: String, loss: String) throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        #expect(before.contains("trips") && before.contains("\n12\n777\nok"))
        try sandbox.sh(loss)
        let result = try sandbox.run("backupfs restore \(source) --yes --store $S")
        #expect(result.exitCode == 0, "\(result)")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh("ls -A $R/data | grep -v -x -e ev.db -e ev.db-wal -e ev.db-shm || true") == "")
    }

    /// The app's folder may contain files with any name.
    @Test func `no other file is touched where the database is made`() throws {
        let sandbox = try Self.prepare()
        try sandbox.sh(
            """
            rm $R/data/ev.db*; for name in ev.restored.db ev.db.new ev.db-old .ev.db; do echo "mine $name" > $R/data/$name; done
            backupfs restore one --yes --store $S >/dev/null
            """)
        #expect(
            try sandbox.sh("cd $R/data; ls -A | grep -v '^ev.db\\(-wal\\|-shm\\)\\?$' | xargs cat")
                == "mine .ev.db\nmine ev.db-old\nmine ev.db.new\nmine ev.restored.db")
    }

    @Test func `on a new machine the command that init names brings all of it back`() throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh(
            """
            rm -r $S $R/data; mkdir $R/data; backupfs init --store $S --repository $R/repo --database $R/data/ev.db >/dev/null
            backupfs restore latest --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test(arguments: [
        "lost.database-copied", "lost.logs-aside", "restore.safety-made", "restore.before-commit", "restore.committed",
    ])
    func `a restore that is killed can be made again`(point: String) throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("rm $R/data/ev.db*; : > $R/data/ev.db-wal")
        #expect(try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": point]).exitCode != 0)
        try sandbox.sh("backupfs restore one --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    /// A definition for an app's own database names no migrations.
    @Test(arguments: ["A", "$R/a.zip", "$R/a.json", "$R/files/database.sqlite"])
    func `an app whose definition does not make tables gets its database back`(source: String) throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        let before = try sandbox.sh(BackupRowsTests.dump)
        try sandbox.sh(
            """
            backupfs backup --label A --store $S >/dev/null 2>&1; backupfs export A --zip --output $R/a.zip --store $S
            backupfs export A --output $R/a.json --store $S; backupfs restore A --target $R/files --store $S >/dev/null; rm $R/a.db*
            """)
        let result = try sandbox.run("backupfs restore \(source) --yes --store $S")
        #expect(result.exitCode == 0, "\(result)")
        #expect(try sandbox.sh(BackupRowsTests.dump) == before)
    }

    @Test func `a file that is of no backup says what is missing`() throws {
        let sandbox = try BackupRowsTests.makeSandbox()
        try sandbox.sh(
            "backupfs export --output $R/a.json --store $S 2>/dev/null; sed -i 's/\"one\"/\"two\"/' $R/a.json; rm $R/a.db*")
        let result = try sandbox.run("backupfs restore $R/a.json --yes --store $S")
        #expect(
            result.exitCode == 1 && result.errors.contains("put FOLDER/database.sqlite in the database's place"), "\(result)")
        #expect(try sandbox.sh("ls $R/a.db* 2>/dev/null || true") == "")
    }

    @Test func `an app that merges by default gets its settings back, too`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --app keeptrack --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "insert into entries values('6F9619FF-8B86-D011-B42D-00CF4FC964FF','2026-01-01T10:00:00Z','Water',1.5,'l',0);
              insert into app_settings values ('theme', 'dark'), ('own_key', 'x')"
            backupfs backup --label one --store $S >/dev/null 2>&1
            """)
        let dump = "sqlite3 $S/app/database.sqlite 'select * from entries; select * from app_settings order by 1'"
        let before = try sandbox.sh(dump)
        try sandbox.sh("rm $S/app/database.sqlite*; backupfs restore one --yes --store $S >/dev/null")
        #expect(try sandbox.sh(dump) == before)
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: files of other users need root"))
    func `what root makes again belongs to the owner of the folder`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            mkdir $R/data; mv $S/app/* $R/data/; rm -r $S; chown -R 65534:65533 $R/data
            backupfs init --store $S --app $R/diary.yaml --database $R/data/database.sqlite --media $R/data/photos >/dev/null
            backupfs backup --label one --store $S >/dev/null; rm -r $R/data/*; backupfs restore one --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh("stat -c '%u %g' $R/data/database.sqlite $R/data/photos") == "65534 65533\n65534 65533")
    }
}

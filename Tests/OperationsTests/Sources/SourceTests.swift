import TestSupport
import Testing

/// Ownership of backups: stores that share a repository, and a store that continues the backups of a lost machine.
struct SourceTests {
    /// Four backups from January in a separate repository; the store that made them is gone.
    private func makeLostMachine() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --repository $R/disk --sample
            for day in 01 02 03 04; do BACKUPFS_NOW=2026-01-${day}T10:00:00Z backupfs backup --store $S; done
            rm -r $S
            """, ["BACKUPFS_NOW": "2026-01-01T09:00:00Z"])
        return sandbox
    }

    private func names(_ sandbox: Sandbox, _ store: String = "$S") throws -> String {
        try sandbox.sh("backupfs snapshots --json --store \(store) | jq -r '[.[].name] | join(\" \")'")
    }

    private static let january = "2026-01-01_10-00-00 2026-01-02_10-00-00 2026-01-03_10-00-00 2026-01-04_10-00-00"

    @Test func `a new machine gets the data back, and loses no backup by being set up`() throws {
        let sandbox = try makeLostMachine()
        let march = ["BACKUPFS_NOW": "2026-03-01T10:00:00Z"]
        let text = try sandbox.sh("backupfs init --store $S --repository $R/disk", march)
        #expect(
            text.contains("EV Charging Tracker on ") && text.contains("4 backups, the newest made 2026-01-04 10:00:00"), "\(text)"
        )
        #expect(text.contains("Get the data back with: backupfs restore latest --store \(sandbox.storePath)"))
        // Nothing happens automatically before the user has requested something.
        #expect(try sandbox.sh("backupfs backup --if-due --store $S", march).hasPrefix("The store has adopted a source"))
        #expect(try sandbox.sh("backupfs status --json --store $S | jq -c '[.adopted, .nextBackup]'", march) == "[true,null]")
        #expect(try names(sandbox) == Self.january)
        try sandbox.sh("backupfs restore latest --yes --store $S", march)
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from expenses'") == "1200")
        // From here on it backs up automatically; the old backups are older than a month, but none is removed.
        #expect(try sandbox.sh("backupfs status --json --store $S | jq .adopted", march) == "false")
        #expect(
            try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-03-02T10:00:00Z"])
                == "2026-03-02_10-00-00")
        #expect(try names(sandbox) == "\(Self.january) 2026-03-02_10-00-00")
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
    }

    @Test func `a backup of an empty database removes nothing`() throws {
        let sandbox = try makeLostMachine()
        try sandbox.sh("backupfs init --store $S --repository $R/disk")
        for day in 1...5 {
            let result = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(4 + day)T11:00:00Z"])
            #expect(result.exitCode == 0, "\(result.errors)")
            if day == 2 { #expect(result.errors == "", "\(result.errors)") }
        }
        // Five empty ones were added: of the full ones, the newest is kept.
        let kept = try names(sandbox)
        #expect(kept.hasPrefix("2026-01-04_10-00-00 "), "\(kept)")
    }

    @Test(arguments: ["2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"])
    func `a clock that is wrong removes nothing`(now: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample
            for day in 01 02 03 04 05; do BACKUPFS_NOW=2026-01-${day}T10:00:00Z backupfs backup --store $S; done
            """)
        let wrong = try sandbox.run("backupfs backup --json --store $S", ["BACKUPFS_NOW": now])
        #expect(wrong.exitCode == 0 && wrong.output.contains("\"removed\":[]"), "\(wrong.output)")
        #expect(wrong.output.contains("Is the clock right?"), "\(wrong.output)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq length") == "6")
        let name = String(now.prefix(10)) + "_00-00-00"
        #expect(
            try sandbox.sh(
                "backupfs ls latest --json --store $S | jq -r '.[0].snapshot // empty'; backupfs snapshots --json --store $S | jq -r '.[].name'"
            ).contains(name))
        // With the clock right again, the newest is the one made last; the one with the wrong time does not count as newer.
        try sandbox.sh("backupfs backup --label right --store $S", ["BACKUPFS_NOW": "2026-01-06T10:00:00Z"])
        try sandbox.sh("backupfs restore latest --target $R/latest --store $S")
        #expect(try sandbox.sh("jq -r .name $R/latest/manifest.json") == "right")
        #expect(try sandbox.sh("backupfs forget --keep-last 1 --dry-run --json --store $S | jq -r '.keep[].name'") == "right")
    }

    @Test func `stores that share a repository leave each other alone`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            for name in notes todo; do
              sqlite3 $R/$name.sqlite "create table $name(id integer primary key, text); insert into $name values(1,'first')"
              backupfs init --store $R/$name --database $R/$name.sqlite --repository $R/nas
            done
            backupfs backup --label todo-only --store $R/todo
            backupfs config set keep-last 2 --store $R/notes; backupfs config set retention-counts all --store $R/notes
            """)
        #expect(
            try sandbox.sh("backupfs status --json --store $R/notes | jq -c '[.snapshotCount, .otherSnapshotCount, .lastBackup]'")
                == "[0,1,null]")
        for number in 2...5 {
            try sandbox.sh(
                "sqlite3 $R/notes.sqlite \"insert into notes values(\(number),'more')\"; backupfs backup --label n\(number) --store $R/notes"
            )
        }
        #expect(try names(sandbox, "$R/notes") == "todo-only n4 n5")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/todo | jq -r '.[] | select(.own) | .name'") == "todo-only")
        // One store's newest is not the other's newest.
        try sandbox.sh("backupfs restore latest --target $R/out --store $R/todo")
        #expect(try sandbox.sh("sqlite3 $R/out/database.sqlite .tables") == "todo")
        // A backup of another app is not restored by mistake, neither by name nor as an archive.
        let refused = try sandbox.run("backupfs restore n5 --yes --store $R/todo")
        #expect(
            refused.exitCode == 1 && refused.errors.contains("another store made this backup, of the app notes"),
            "\(refused.errors)")
        try sandbox.sh("backupfs export --zip n5 -o $R/n5.zip --store $R/notes")
        #expect(try sandbox.run("backupfs restore $R/n5.zip --yes --store $R/todo").exitCode == 1)
        #expect(try sandbox.sh("sqlite3 $R/todo.sqlite .tables") == "todo")
        #expect(try sandbox.run("backupfs restore n5 --other-source --dry-run --store $R/todo").exitCode == 0)
    }

    @Test func `a store whose source another one has taken over begins its own`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $R/old --repository $R/nas --sample; backupfs backup --label before --store $R/old")
        let source = try sandbox.sh("backupfs status --json --store $R/old | jq -r .source")
        // The old store is on this machine: it is not taken over automatically.
        try sandbox.sh("backupfs init --store $R/beside --repository $R/nas; backupfs backup --label own --store $R/beside")
        #expect(try sandbox.sh("backupfs status --json --store $R/beside | jq -r .source") != source)
        try sandbox.sh("backupfs init --store $R/new --repository $R/nas --adopt \(source.prefix(8))")
        #expect(try sandbox.sh("backupfs status --json --store $R/new | jq -r .source") == source)
        try sandbox.sh("backupfs backup --label new --store $R/new")
        let forked = try sandbox.run("backupfs backup --label after --store $R/old")
        #expect(forked.exitCode == 0 && forked.errors.contains("this backup begins a line of its own"), "\(forked.errors)")
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $R/old | jq -r '[.[] | select(.own) | .name] | join(\" \")'")
                == "after")
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $R/new | jq -r '[.[] | select(.own) | .name] | join(\" \")'")
                == "before new")
        #expect(try sandbox.run("backupfs backup --label again --store $R/old").errors == "")
    }

    @Test(arguments: ["--sample", "--database $R/other.sqlite"])
    func `a store with data of its own does not continue another one's backups unasked`(data: String) throws {
        // The store that made them may be on another machine: it is gone here.
        let sandbox = try makeLostMachine()
        try sandbox.sh("backupfs init --store $R/other --sample; mv $R/other/app/database.sqlite $R/other.sqlite; rm -r $R/other")
        let refused = try sandbox.run("backupfs init --store $S --repository $R/disk \(data)")
        #expect(
            refused.exitCode == 2 && refused.errors.contains("4 backups, the newest made 2026-01-04"), "\(refused.errors)")
        #expect(refused.errors.contains("--adopt ") && refused.errors.contains("--new-source"), "\(refused.errors)")
        #expect(try sandbox.sh("ls -d $S* 2>/dev/null || echo none") == "none")
        let source = try sandbox.sh(
            "backupfs init --store $S --repository $R/disk \(data) --new-source --json | jq -r '.other_sources[0]'; rm -r $S")
        try sandbox.sh("backupfs init --store $S --repository $R/disk \(data) --adopt \(source.prefix(8))")
        #expect(try sandbox.sh("backupfs status --json --store $S | jq -r .source") == source)
    }

    @Test func `the database that the lost store had on this machine is the source's`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/notes.sqlite "create table n(id integer primary key, t text); insert into n values(1,'x')"
            backupfs init --store $S --database $R/notes.sqlite --repository $R/disk
            backupfs backup --label first --store $S; rm -r $S
            """)
        #expect(try sandbox.sh("backupfs init --store $S --repository $R/disk --json | jq .adopted") == "true")
        #expect(
            try sandbox.sh(
                "rm -r $S; backupfs init --store $S --database $R/notes.sqlite --repository $R/disk --json | jq .adopted")
                == "true")
        #expect(try sandbox.sh("sqlite3 $R/notes.sqlite 'select t from n'") == "x")
    }

    @Test func `a store notices that another one continues its backups`() throws {
        let sandbox = try Sandbox()
        let records = "sqlite3 $R/old/app/database.sqlite 'select count(*) from expenses'"
        try sandbox.sh(
            """
            backupfs init --store $R/old --repository $R/nas --sample; backupfs config set keep-last 1 --store $R/old
            backupfs config set retention-counts all --store $R/old
            for n in a b; do backupfs backup --label $n --store $R/old; backupfs pin $n --store $R/old; done
            backupfs unpin a --store $R/old; backupfs unpin b --store $R/old
            source=$(backupfs status --json --store $R/old | jq -r .source)
            backupfs init --store $R/new --repository $R/nas --adopt $source; backupfs config set retention off --store $R/new
            backupfs backup --label other --store $R/new
            """)
        for command in [
            "restore latest --yes", "restore latest --dry-run", "forget --yes", "forget --keep-last 1 --yes",
            "forget latest --yes",
            "delete latest --yes", "delete --all --yes", "prune --now",
        ] {
            let refused = try sandbox.run("backupfs \(command) --store $R/old")
            #expect(refused.exitCode == 1 && refused.errors.contains("another store, \(sandbox.path)/new on "), "\(command)")
            #expect(refused.errors.contains("init --adopt "), "\(command): \(refused.errors)")
            #expect(refused.errors.components(separatedBy: "another store, ").count == 2, "\(command): \(refused.errors)")
        }
        #expect(try names(sandbox, "$R/old") == "a b other")
        #expect(try sandbox.sh(records) == "1200")
        #expect(try sandbox.run("backupfs prune --store $R/old").errors.contains("warning: another store, "))
        // The newest may be the other store's, so it is unknown whether this one is backed up.
        let check = try sandbox.run("backupfs status --check 1d --store $R/old")
        #expect(
            check.exitCode == 1
                && check.output.hasPrefix("The newest backup may be another store's: another store, \(sandbox.path)/new on "),
            "\(check)")
        #expect(
            try sandbox.run("backupfs status --check 1d --json --store $R/old | jq -r .finding").output == "taken_over\n")
        #expect(try sandbox.sh("backupfs status --store $R/old").contains("\nWarning: another store, \(sandbox.path)/new on "))
        #expect(
            try sandbox.sh("backupfs status --json --store $R/old | jq -r .successor").hasPrefix(
                "another store, \(sandbox.path)/new on "))
        #expect(try sandbox.sh("backupfs status --json --store $R/new | jq -r .successor") == "null")
        #expect(
            try sandbox.sh("backupfs status --prometheus --store $R/old | grep '^backupfs_taken_over{' | sed 's/.* //'") == "1")
        // A named backup is intended, and the store that continues them is unaffected.
        let named = try sandbox.run("backupfs restore a --yes --store $R/old")
        #expect(named.exitCode == 0 && named.errors.contains("warning: another store, "), "\(named.errors)")
        #expect(try sandbox.run("backupfs restore latest --yes --store $R/new").errors == "")
        // With its safety backup the old store has begun its own line.
        #expect(
            try sandbox.run("backupfs backup --label mine --store $R/old").errors.contains(
                "the earlier backups of this store are in another line"))
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $R/old | jq -r '[.[] | select(.own) | .name] | join(\" \")'")
                == "mine"
        )
        try sandbox.sh("backupfs restore latest --yes --store $R/old")
        #expect(try sandbox.run("backupfs status --check 1d --store $R/old").exitCode == 0)
    }

    @Test func `several sources have to be chosen from`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            for name in a b; do
              backupfs init --store $R/$name --repository $R/nas --new-source
              backupfs backup --label $name --store $R/$name; rm -r $R/$name
            done
            """)
        let refused = try sandbox.run("backupfs init --store $S --repository $R/nas")
        #expect(refused.exitCode == 2 && refused.errors.contains("the backups of 2 stores"), "\(refused.errors)")
        #expect(refused.errors.components(separatedBy: "EV Charging Tracker on ").count == 3, "\(refused.errors)")
        #expect(try sandbox.run("backupfs init --store $S --repository $R/nas --adopt none").exitCode != 0)
        #expect(try sandbox.run("backupfs init --store $S --adopt none").exitCode == 2)
        #expect(try sandbox.sh("ls -d $S* 2>/dev/null || echo none") == "none")
        try sandbox.sh("backupfs init --store $S --repository $R/nas --new-source; backupfs backup --label c --store $S")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[] | select(.own) | .name'") == "c")
    }

    @Test func `definition, settings and database come back from the repository alone`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/notes.sqlite "create table n(id integer primary key, t text); insert into n values(1,'x'),(2,'ÿ')"
            backupfs init --store $S --database $R/notes.sqlite --repository $R/disk
            backupfs config set keep-last 9 --store $S; backupfs config set schedule weekly --store $S
            backupfs config set before-restore "touch $R/run" --store $S
            backupfs backup --store $S; rm -r $S $R/notes.sqlite
            """)
        let text = try sandbox.sh("backupfs init --store $S --repository $R/disk")
        #expect(
            text.contains("These settings were not taken over. Set them again if you trust the repository: before-restore"),
            "\(text)")
        #expect(
            try sandbox.sh("backupfs config get keep-last --store $S; backupfs config get schedule --store $S") == "9\nweekly")
        try sandbox.sh("backupfs restore latest --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/notes.sqlite 'select * from n'") == "1|x\n2|ÿ")
        #expect(try sandbox.sh("ls $R/run 2>/dev/null || echo none") == "none")
    }

    @Test func `another repository in the place of the store's is refused`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --repository $R/disk --sample; backupfs backup --store $S
            backupfs init --store $R/other --repository $R/else; mv $R/disk $R/away; mv $R/else $R/disk
            """)
        for command in ["backup", "snapshots", "prune"] {
            let refused = try sandbox.run("backupfs \(command) --store $S")
            #expect(
                refused.exitCode == 1 && refused.errors.contains("not the repository that the store was made with"),
                "\(refused.errors)")
        }
        // A user who moves the repository changes the settings.
        try sandbox.sh("backupfs config set repository $R/away --store $S; backupfs backup --store $S")
    }

    /// An attack by a party with write access to the repository: an unencrypted config, so that the next backup is written in
    /// plain text.
    @Test func `encryption cannot be switched off from the repository's side`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            printf 'secret\\n' > $R/password; chmod 600 $R/password
            backupfs init --encrypt --password-file $R/password --store $S --repository $R/disk --sample
            backupfs backup --store $S --password-file $R/password
            sed -i 's/^encryption: .*/gear-seed: 6261636b75706673/' $R/disk/config
            cp -a $R/disk/config.copy $R/kept
            find $R/disk -type f ! -name config.copy | sort > $R/before; rm $R/disk/config.copy
            """)
        let refused = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_PASSWORD_FILE": sandbox("password")])
        #expect(refused.exitCode == 1 && refused.errors.contains("its config now says that it is not"), "\(refused.errors)")
        #expect(try sandbox.sh("find $R/disk -type f | sort | diff $R/before - && echo same") == "same")
        // With the copy of the config, which authenticates itself, the repository stays encrypted.
        try sandbox.sh("mv $R/kept $R/disk/config.copy")
        let withoutPassword = try sandbox.run("backupfs backup --store $S </dev/null")
        #expect(withoutPassword.exitCode == 12, "\(withoutPassword.errors)")
        try sandbox.sh(
            "backupfs backup --store $S",
            ["BACKUPFS_PASSWORD_FILE": sandbox("password")])
        let checked = try sandbox.run("backupfs check --store $S", ["BACKUPFS_PASSWORD_FILE": sandbox("password")])
        #expect(checked.exitCode == 1 && checked.output.contains("config: "), "\(checked.output)\(checked.errors)")
        try sandbox.sh("backupfs check --repair --yes --store $S", ["BACKUPFS_PASSWORD_FILE": sandbox("password")])
        #expect(try sandbox.sh("grep -c '^encryption: aes-256-gcm' $R/disk/config") == "1")
    }

    @Test func `a store that has lost its identity goes on with its source`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample; backupfs backup --label one --store $S; rm $S/identity")
        // The repository knows the source of this place.
        try sandbox.sh("backupfs backup --label two --store $S")
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $S | jq -r '[.[] | select(.own) | .name] | join(\" \")'")
                == "one two")
        #expect(try sandbox.sh("stat -c %a $S/identity; head -1 $S/identity") == "600\nbackupfs-store-identity")
        try sandbox.write("nonsense", to: "store/identity")
        let refused = try sandbox.run("backupfs snapshots --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("the store's identity is damaged"), "\(refused.errors)")
    }
}

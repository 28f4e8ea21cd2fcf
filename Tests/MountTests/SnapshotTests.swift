import TestSupport
import Testing

/// Making, renaming and deleting backups through the tree, and that nothing else can change them.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct SnapshotTests {
    @Test func `mkdir backs up, mv relabels, rmdir deletes, latest follows`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one && sleep 0.01 && mkdir $M/snapshots/two")
            #expect(try sandbox.sh("readlink $M/snapshots/latest") == "two")
            try sandbox.sh("mv $M/snapshots/two $M/snapshots/version-2")
            #expect(try sandbox.sh("readlink $M/snapshots/latest") == "version-2")
            #expect(try sandbox.names("snapshots") == ["latest", "one", "version-2"])
            try sandbox.sh("cd $M/snapshots/latest/ && sha256sum --quiet -c SHA256SUMS")
            try sandbox.sh("rmdir $M/snapshots/version-2")
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
            #expect(try sandbox.sh("readlink $M/snapshots/latest") == "one")
            try sandbox.sh("rmdir $M/snapshots/one")
            #expect(try sandbox.names("snapshots") == [])
            #expect(try sandbox.names("exports") == [])
            try sandbox.fails("readlink -e $M/snapshots/latest", saying: "")
        }
    }

    @Test(arguments: [
        "Über Ø ünïcode", "🚗 before the trip", "with 'quotes' and \"doubles\"", "trailing space ", "-n", "a\\b",
        "50%", "$HOME",
        "~tilde",
        String(repeating: "x", count: 255),
    ])
    func `a backup may have any ordinary name`(name: String) throws {
        try Sandbox.withMount { sandbox in
            let extra = ["NAME": name]
            try sandbox.sh(
                "mkdir -- \"$M/snapshots/$NAME\" && cd -- \"$M/snapshots/$NAME\" && sha256sum --quiet -c SHA256SUMS", extra)
            #expect(try sandbox.sh("readlink $M/snapshots/latest | head -c -1; echo .") == name + ".")
            try sandbox.remount()
            #expect(try sandbox.sh("ls $M/snapshots | grep -cFx -- \"$NAME\"", extra) == "1")
            try sandbox.sh(
                "mv -T -- \"$M/snapshots/$NAME\" $M/snapshots/plain; mv -T -- $M/snapshots/plain \"$M/snapshots/$NAME\"", extra)
            try sandbox.sh("rmdir -- \"$M/snapshots/$NAME\"", extra)
            #expect(try sandbox.names("snapshots") == [])
        }
    }

    @Test func `what cannot be a backup is refused with the right words`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one $M/snapshots/two")
            let cases = [
                ("mkdir $M/snapshots/one", "File exists"),
                ("mkdir $M/snapshots/latest", "File exists"),
                ("mkdir $M/snapshots/.hidden", "Operation not permitted"),
                ("mkdir \"$M/snapshots/$(printf 'a\\nb')\"", "Operation not permitted"),
                ("mkdir \"$M/snapshots/$(printf 'a\\xff')\"", "Operation not permitted"),
                ("mkdir $M/snapshots/$(head -c 256 /dev/zero | tr '\\0' x)", "File name too long"),
                ("mkdir $M/elsewhere", "Read-only file system"),
                ("mkdir $M/exports/x", "Read-only file system"),
                ("mkdir $M/live/x", "Read-only file system"),
                ("mkdir $M/safety/x", "Read-only file system"),
                ("mkdir $M/restore/x", "Operation not permitted"),
                ("rmdir $M/snapshots/none", "No such file or directory"),
                ("rmdir $M/snapshots/latest", "Not a directory"),
                ("rmdir $M/snapshots", ""),
                ("rmdir $M/live", ""),
                ("touch $M/snapshots/file", "Operation not permitted"),
                ("echo x > $M/snapshots/file", "Operation not permitted"),
                ("ln -s one $M/snapshots/link", ""),
                ("mv -T $M/snapshots/one $M/snapshots/two", "File exists"),
                ("mv -T $M/snapshots/one $M/snapshots/.hidden", "Operation not permitted"),
                ("mv -T $M/snapshots/one $M/snapshots/latest", ""),
                ("mv -T $M/snapshots/none $M/snapshots/three", "No such file or directory"),
                ("rm $M/snapshots/latest", "Read-only file system"),
                ("rm $M/README.txt", "Read-only file system"),
                ("echo x >> $M/README.txt", "Read-only file system"),
                ("mv $M/README.txt $M/R.txt", "Read-only file system"),
            ]
            for (command, words) in cases { try sandbox.fails(command, saying: words) }
            #expect(try sandbox.names("snapshots") == ["latest", "one", "two"])
            #expect(try sandbox.names("") == LifecycleTests.rootNames)
        }
    }

    @Test func `DEL-04: everything inside a backup is read-only, and rm -r loses nothing`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let before = try sandbox.sh("cd $M/snapshots/one; find . -type f -print0 | sort -z | xargs -0 sha256sum")
            let commands = [
                "touch $M/snapshots/one/new", "touch $M/snapshots/one/export.json", "echo x >> $M/snapshots/one/export.json",
                "echo x > $M/snapshots/one/archive.zip", "truncate -s 0 $M/snapshots/one/SHA256SUMS",
                "rm -f $M/snapshots/one/export.json",
                "rm -f $M/snapshots/one/archive.zip", "mkdir $M/snapshots/one/new", "rmdir $M/snapshots/one/data",
                "mv $M/snapshots/one/export.json $M/snapshots/one/other.json", "mv $M/snapshots/one/data $M/snapshots/one/other",
                "chmod 644 $M/snapshots/one/export.json", "touch -d 2001-01-01 $M/snapshots/one/data/cars.json",
                "ln $M/snapshots/one/export.json $M/snapshots/one/hard", "ln -s x $M/snapshots/one/soft",
                "rm -rf $M/snapshots/one",
                "mkfifo $M/snapshots/one/pipe", "setfattr -n user.mine -v 1 $M/snapshots/one/export.json",
                "dd if=/dev/zero of=$M/snapshots/one/database.sqlite bs=1 count=1 conv=notrunc",
                "cp /etc/passwd $M/snapshots/one/",
                "sqlite3 $M/snapshots/one/database.sqlite 'delete from cars'",
            ]
            for command in commands {
                let result = try sandbox.run(command)
                #expect(result.exitCode != 0, "\(command) succeeded")
                let isSaid = ["Read-only file system", "readonly database", "Operation not permitted"].contains {
                    result.text.contains($0)
                }
                #expect(isSaid, "\(command): \(result.text)")
            }
            #expect(try sandbox.sh("cd $M/snapshots/one; find . -type f -print0 | sort -z | xargs -0 sha256sum") == before)
        }
    }

    @Test func `a backup moved to another disk is copied and not lost`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            try sandbox.fails("mv $M/snapshots/one $R/moved", saying: "Read-only file system")
            try sandbox.sh("diff -r $M/snapshots/one $R/moved")
            try sandbox.fails("mkdir $M/snapshots/two; mv $M/snapshots/one $M/snapshots/two", saying: "")
            #expect(try sandbox.names("snapshots") == ["latest", "one", "two"])
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test func `FSP-11: a backup's bytes, times and numbers stay for ever`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("mkdir $M/snapshots/one")
            let script = """
                cd $M/snapshots/$NAME; find . -type f ! -name index.html -print0 | sort -z | xargs -0 sha256sum
                find . ! -name index.html -printf '%P %i %s %T@ %m %n\\n' | sort
                """
            let before = try sandbox.sh(script, ["NAME": "one"])
            try sandbox.sh("mkdir $M/snapshots/two; cp $R/old.json $M/restore/; mkdir $M/snapshots/three; rmdir $M/snapshots/two")
            #expect(try sandbox.sh(script, ["NAME": "one"]) == before)
            try sandbox.sh("mv $M/snapshots/one $M/snapshots/renamed; setfattr -n user.backupfs.pinned -v 1 $M/snapshots/renamed")
            try sandbox.remount()
            #expect(try sandbox.sh(script, ["NAME": "renamed"]) == before)
            try sandbox.unmount()
            // The catalog is rebuilt from the packs.
            try sandbox.sh("rm -f $S/repository/catalog*")
            try sandbox.mount()
            #expect(try sandbox.sh(script, ["NAME": "renamed"]) == before)
        }
    }

    @Test func `manifest and changes tell what the backup is`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            #expect(
                try sandbox.sh(
                    """
                    cd $M/snapshots/one
                    jq -c '[.name,.createdAt,.app,.schemaVersion,.records.cars,.records.expenses,.parent]' manifest.json
                    """
                )
                    == #"["one","2026-01-11T14:30:00Z","ev-charging-tracker",1,3,1200,null]"#)
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite "update expenses set notes='changed' where id in (5, 6);
                delete from expenses where id=7;
                insert into cars (id, name, selected_for_tracking, battery_capacity, expense_currency, current_mileage, initial_mileage,
                milleage_synced_at, created_at) select 99, name, 0, battery_capacity, expense_currency, 5, 0, milleage_synced_at, created_at
                from cars where id=1"
                mkdir $M/snapshots/two
                """)
            #expect(try sandbox.sh("jq -r .parent.name $M/snapshots/two/manifest.json") == "one")
            let changes = try sandbox.sh("jq -c . $M/snapshots/two/changes.json")
            #expect(
                try sandbox.sh(
                    "cd $M/snapshots/two; jq -c '.records | [.expenses.added, .expenses.changed, .expenses.removed, .cars.added]' changes.json"
                )
                    == "[0,2,1,1]", "\(changes)")
        }
    }

    @Test func `a file that is open when its backup is deleted can be read to its end`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; sha256sum < $M/snapshots/one/archive.zip > $R/before")
            let after = try sandbox.sh(
                """
                exec 3< $M/snapshots/one/archive.zip 4< $M/snapshots/one/export.json; head -c 10 <&3 > $R/start
                rmdir $M/snapshots/one; cat <&4 | jq '.expenses|length'
                { cat $R/start; cat <&3; } | sha256sum
                """)
            #expect(try after == "1200\n" + sandbox.sh("cat $R/before"))
            // Another backup has the old name now, and nothing of the old one is shown.
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses'; mkdir $M/snapshots/one")
            #expect(
                try sandbox.sh("cd $M/snapshots/one; jq '.expenses|length' export.json; unzip -p archive.zip data/expenses.json")
                    == "0\n[]")
        }
    }

    @Test func `many at once are made one after the other`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let results = try sandbox.sh(
                "for i in 1 2 3 4 5 6; do { mkdir $M/snapshots/s$i 2>&1 && echo made || true; } & done; wait")
            let made = results.split(separator: "\n").count { $0 == "made" }
            let busy = results.split(separator: "\n").count { $0.contains("Device or resource busy") }
            #expect(made >= 1 && made + busy == 6, "\(results)")
            #expect(try sandbox.names("snapshots").count == made + 1)
            try sandbox.sh("for s in $M/snapshots/*/; do cd $s; sha256sum --quiet --strict -c SHA256SUMS; done")
        }
    }
}

import TestSupport
import Testing

/// `live/`: the app's current data, one consistent state for each open.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LiveTests {
    @Test func `a change of the app shows at once, in every form`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            #expect(try sandbox.sh("jq '.cars|length' $M/live/export.json") == "3")
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 1000'")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "1000")
            #expect(try sandbox.sh("jq length $M/live/data/expenses.json") == "1000")
            #expect(try sandbox.sh("sqlite3 $M/live/database.sqlite 'select count(*) from expenses'") == "1000")
            #expect(try sandbox.sh("unzip -p $M/live/archive.zip export.json | jq '.expenses|length'") == "1000")
            #expect(try sandbox.sh("jq .records.expenses $M/status.json") == "1000")
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite "update cars set name='Zoë 🚗' where id=1"; cd $M/live
                sha256sum --quiet -c SHA256SUMS
                """
            )
            #expect(try sandbox.sh("jq -r '.cars[0].name' $M/live/export.json") == "Zoë 🚗")
            // Only the app can change it.
            try sandbox.fails("echo x > $M/live/export.json", saying: "Read-only file system")
            try sandbox.fails("rm -f $M/live/database.sqlite", saying: "Read-only file system")
        }
    }

    @Test func `an open file keeps the state it was opened with`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.sh(
                """
                exec 3<$M/live/export.json
                sqlite3 $S/app/database.sqlite 'delete from expenses'
                exec 4<$M/live/export.json
                jq '.expenses|length' <&3; jq '.expenses|length' <&4
                """)
            #expect(result == "1200\n0")
        }
    }

    @Test func `EXP-03: every read is consistent while the app writes without a pause`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            // Each transaction replaces a car and its two expenses, so every state has twice as many expenses as cars.
            let writer = try sandbox.start(
                #"""
                python3 - <<'END'
                import os, sqlite3
                database = sqlite3.connect(os.environ["S"] + "/app/database.sqlite", timeout=20, isolation_level=None)
                number = 0
                while not os.path.exists(os.environ["R"] + "/stop"):
                    number += 1
                    car = 5000 + number % 40
                    database.execute("begin immediate")
                    database.execute("delete from expenses where car_id = ?", (car,))
                    database.execute("delete from cars where id = ?", (car,))
                    if number % 3 > 0:
                        database.execute("""insert into cars (id, name, selected_for_tracking, battery_capacity,
                            expense_currency, current_mileage, initial_mileage, milleage_synced_at, created_at)
                            select ?, 'Hammer', 0, null, expense_currency, 5, 0,
                            milleage_synced_at, created_at from cars where id = 1""", (car,))
                        for half in (0, 1):
                            database.execute("""insert into expenses (id, date, energy_charged, charger_type, odometer, cost, notes,
                                is_initial_record, expense_type, currency, car_id)
                                select ?, date, energy_charged, charger_type, odometer, cost,
                                'Hammer', 0, expense_type, currency, ? from expenses where id = 1""", (2 * car + half, car))
                    database.execute("commit")
                print(number)
                END
                """#)
            let result = try sandbox.sh(
                """
                cars='([.cars[] | select(.name == "Hammer")] | length)'
                expenses='([.expenses[] | select(.notes == "Hammer")] | length)'
                for i in $(seq 1 8); do
                    cat $M/live/export.json | jq -c "[$cars * 2 - $expenses, (.expenses | length) >= 1200]"
                    cp $M/live/export.json $R/copy.json; jq -c "$cars * 2 - $expenses" $R/copy.json
                    sqlite3 "file:$M/live/database.sqlite?mode=ro" "pragma quick_check; select 2 * (select count(*) from cars
                        where name = 'Hammer') - (select count(*) from expenses where notes = 'Hammer')"
                done | sort | uniq -c | awk '{ print $2, $1 }'; touch $R/stop
                """)
            #expect(try Int(writer.wait().trimmed) ?? 0 > 10)
            #expect(result == "0 16\n[0,true] 8\nok 8")
        }
    }

    @Test func `commands beside the mount do not disturb its readers`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let commands = try sandbox.start(
                "while [ ! -e $R/stop ]; do backupfs status --store $S; backupfs snapshots --store $S; done")
            try sandbox.sh(
                """
                for i in $(seq 1 40); do
                    sqlite3 -cmd '.timeout 5000' $S/app/database.sqlite "update cars set name='Car $i' where id=1"
                    [ "$(cat $M/live/export.json | jq -r '.cars[0].name')" = "Car $i" ]
                done
                """)
            try sandbox.sh("touch $R/stop")
            let result = try commands.wait()
            #expect(result.exitCode == 0 && result.errors.isEmpty, "\(result.errors)")
        }
    }

    @Test func `text and numbers come out exactly as the app keeps them`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("cp $R/old.json $M/restore/")
            let notes = "Ночь \u{1F50B}\u{200D} \"quoted\" \\ back/slash\ttab e\u{301} \u{0}null"
            try sandbox.sh(
                """
                python3 - <<'END'
                import os, sqlite3
                database = sqlite3.connect(os.environ["S"] + "/app/database.sqlite")
                database.execute("update expenses set notes = ?, cost = ?, energy_charged = ?, odometer = ? where id = 1",
                    (\(Self.pythonLiteral(notes)), "12345678901234.56", 0.1 + 0.2, 9007199254740993))
                database.commit()
                END
                """)
            let result = try sandbox.sh(
                """
                python3 - <<'END'
                import json, os
                expense = json.load(open(os.environ["M"] + "/live/export.json", encoding="utf-8"))["expenses"][0]
                same = expense["notes"] == \(Self.pythonLiteral(notes))
                print(same, expense["cost"], repr(expense["energyCharged"]), expense["odometer"])
                END
                """)
            #expect(result == "True 12345678901234.56 0.30000000000000004 9007199254740993")
            // And back: an export is restored unchanged.
            try sandbox.sh("cp $M/live/export.json $R/again.json; cp $R/again.json $M/restore/")
            #expect(try sandbox.sh("diff <(grep -v createdAt $R/again.json) <(grep -v createdAt $M/live/export.json)") == "")
        }
    }

    /// The text in ASCII, as Python writes it.
    private static func pythonLiteral(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
        }
        return "\"\(escaped.joined())\""
    }

    /// Pages of a live file may be cached, but never beyond its change, even when size and time stay the same.
    @Test func `a photo that is written over shows its new bytes at once, under the same number`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.sh(
                """
                F=$P/photo.jpg; L=$M/live/media/photo.jpg; head -c 300000 /dev/urandom > $F; touch -d 2024-05-05 $F
                wait_settled $F; cmp $F $L; number=$(stat -c %i $L)
                for i in $(seq 12); do
                    head -c 300000 /dev/urandom > $R/tmp/new
                    case $((i % 3)) in
                        0) cat $R/tmp/new > $F;;
                        1) dd if=$R/tmp/new of=$F conv=notrunc status=none; touch -d 2024-05-05 $F;;
                        2) cp $R/tmp/new $F.new; touch -d 2024-05-05 $F.new; mv $F.new $F;;
                    esac
                    cmp $F $L; cmp $F $L; [ $(stat -c %i $L) = $number ] || echo "another number"
                    [ $i != 6 ] || { wait_settled $F; cmp $F $L; cmp $F $L; }
                done; echo done
                """)
            #expect(result == "done")
        }
    }

    @Test func `live files can be mapped, by several at a time`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.sh(
                #"""
                python3 - <<'END'
                import hashlib, mmap, os
                base = os.environ["M"] + "/live/"
                for name in ("export.json", "database.sqlite"):
                    with open(base + name, "rb") as file:
                        for access in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
                            with mmap.mmap(file.fileno(), 0, flags=access, prot=mmap.PROT_READ) as view:
                                print(name, hashlib.sha256(view).hexdigest() == os.getxattr(base + name, "user.checksum.sha256").decode())
                END
                """#)
            #expect(result == "export.json True\nexport.json True\ndatabase.sqlite True\ndatabase.sqlite True")
        }
    }

    @Test func `photos can be looked at while the database is broken`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("printf picture > $P/new.jpg; printf 'not a database at all' > $S/app/database.sqlite")
            #expect(try sandbox.sh("cat $M/live/media/new.jpg; ls $M/live/media | grep -c new.jpg") == "picture1")
            #expect(try sandbox.run("cat $M/live/export.json").exitCode == 1)
        }
    }

    /// SQLite deletes the log beside an empty database when it opens it.
    @Test func `the log beside an empty database stays, and all else can be looked at`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                backupfs backup --label one --store $S >/dev/null; printf picture > $P/new.jpg; rm $S/app/database.sqlite*
                : > $S/app/database.sqlite; head -c 5000 /dev/urandom > $S/app/database.sqlite-wal
                sha256sum $S/app/database.sqlite* > $R/sums
                ls -lR $M/live >/dev/null 2>&1 || true
                """)
            #expect(try sandbox.run("cat $M/live/export.json $M/live/database.sqlite").exitCode == 1)
            #expect(try sandbox.sh("sha256sum --quiet -c $R/sums; wc -l < $R/sums") == "2")
            #expect(try sandbox.sh("jq -r .databaseError $M/status.json").contains("a log with data is beside it"))
            #expect(try sandbox.sh("cat $M/live/media/new.jpg") == "picture")
            #expect(try sandbox.sh("sqlite3 -readonly $M/snapshots/one/database.sqlite 'pragma integrity_check'") == "ok")
        }
    }
}

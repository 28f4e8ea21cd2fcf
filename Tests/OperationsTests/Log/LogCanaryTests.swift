import TestSupport
import Testing

/// Nothing from the data gets into a log.
struct LogCanaryTests {
    /// Every possible operation, successful and failing, with unique words and numbers in every field.
    @Test func `LOG-02: no value, no note, no cost and no name of a photo is in any log, at whatever level`() throws {
        let sandbox = try Sandbox()
        try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
        try sandbox.sh(
            """
            export BACKUPFS_LOG_LEVEL=trace BACKUPFS_SCHEDULE=daily; cd $R
            backupfs init --store $S --app diary.yaml
            mkdir $S/app/photos/canary-folder; printf canary-content > $S/app/photos/canary-folder/canary-photo.jpg
            mkfifo $S/app/photos/canary-pipe
            sqlite3 $S/app/database.sqlite "insert into photos values (987654321,'canary-folder/canary-photo.jpg','canary-caption'),(2,'canary-missing.jpg','canary')"
            export BACKUPFS_STORE=$S
            backupfs backup --label one || true; backupfs backup --if-due || true; rm $S/app/photos/canary-pipe
            backupfs export one --zip -o canary.zip; backupfs export --json -o canary.json; backupfs export --csv canary-csv
            backupfs restore canary.zip --yes || [ $? = 3 ]; backupfs restore canary.json --yes; backupfs restore one --strategy merge --yes || true
            sed 's/"canary-caption"/["canary-broken"]/' canary.json > canary-broken.json; ! backupfs restore canary-broken.json --yes
            sed 's/"id"/"canary-field"/' canary.json > canary-field.json; ! backupfs restore canary-field.json --yes
            head -c 300 canary.zip > canary-half.zip; ! backupfs restore canary-half.zip --yes; ! backupfs restore canary-none.json --yes
            printf canary-text > canary.txt; ! backupfs restore canary.txt --yes; ! backupfs export canary-none --json -o x
            backupfs restore one --target canary-target; ! backupfs restore one --target canary-csv
            ! BACKUPFS_FAULT=restore.committed backupfs restore canary.zip --yes
            backupfs verify --all; backupfs check --read-data; backupfs delete canary-none || true
            for pack in $(find $S/repository/packs -type f); do printf XXXX | dd of=$pack bs=1 seek=40 conv=notrunc status=none; done
            ! backupfs check --read-data; backupfs verify --all || true; backupfs restore one --target canary-second || true
            echo canary-garbage > $S/app/database.sqlite; ! backupfs backup; ! backupfs export --json -o canary-last.json
            """, ["LC_ALL": "C"])
        #expect(try sandbox.sh("cat $S/backupfs.log | wc -l | sed 's/^[4-9][0-9]$/many/'") == "many", "there is much to look at")
        #expect(
            try sandbox.sh("jq -r .op $S/backupfs.log | sort -u | paste -sd' '")
                == "backup check export extract recovery restore schedule verify")
        #expect(try sandbox.sh("cat $S/backupfs.log $S/history.jsonl | grep -ciE 'canary|987654321' || true") == "0")
        #expect(try sandbox.sh("backupfs history --json --last 1000 --store $S | grep -ciE 'canary|987654321' || true") == "0")
    }

    /// The EV charging tracker: costs, odometer readings, notes (the rule is its own).
    @Test func `LOG-02: no cost, odometer reading or note of the EV charging tracker is in the log`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            export BACKUPFS_LOG_LEVEL=trace BACKUPFS_STORE=$S; cd $R
            backupfs init --sample; backupfs export --json -o x.json
            jq '(.cars[].name, .expenses[].notes | select(. != null)) = "canary" | (.expenses[] | .cost) = "98765.43" | (.expenses[] | .odometer) = 9876543' x.json > y.json
            backupfs restore y.json --yes; backupfs backup --label one; backupfs verify one
            jq '.expenses[3].cost = "98765.43 canary"' y.json > z.json; ! backupfs restore z.json --yes
            jq '.expenses[3].odometer = -9876543' y.json > z.json; backupfs restore z.json --yes || true
            jq '.expenses[3].carId = 9876543' y.json > z.json; ! backupfs restore z.json --yes
            """)
        #expect(
            try sandbox.sh("sqlite3 $S/app/database.sqlite .dump | grep -c 'canary' | sed 's/[0-9]*/some/'") == "some",
            "it is in the data")
        #expect(try sandbox.sh("cat $S/backupfs.log $S/history.jsonl | grep -cE 'canary|98765' || true") == "0")
        #expect(try sandbox.sh("jq -r 'select(.result==\"refused\") | .error' $S/backupfs.log | sort -u") == "invalidContent")
    }
}

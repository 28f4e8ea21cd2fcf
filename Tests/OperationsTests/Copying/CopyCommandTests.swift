import Glibc
import TestSupport
import Testing

/// `backupfs copy-snapshots`, as users and scripts run it.
struct CopyCommandTests {
    private let sandbox: Sandbox

    /// A store of the photo diary with three backups: of the second, name, pin and tags were changed.
    init() throws {
        sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            ln $S/app/photos/one.jpg $S/app/photos/linked.jpg; truncate -s 3M $S/app/photos/sparse.bin
            head -c 4000000 /dev/urandom > $S/app/photos/large.jpg
            sqlite3 $S/app/photos/notes.db 'create table a(b); insert into a values (1)'
            backupfs backup --label one --store $S >/dev/null
            printf more >> $S/app/photos/large.jpg; sqlite3 $S/app/database.sqlite "insert into photos values (4,'large.jpg','large')"
            backupfs backup --label two --tag summer --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "update photos set caption = 'changed' where id = 1"
            backupfs backup --label three --store $S >/dev/null
            backupfs tag two --add kept --store $S >/dev/null; backupfs pin two --store $S >/dev/null
            echo horse > $R/horse; echo staple > $R/staple; echo wrong > $R/wrong
            """)
    }

    /// Expects that a backup is the same in two stores: all files, what is kept of them, and the bytes of its archives.
    private func expectSame(_ name: String, _ left: String, _ right: String) throws {
        let compared = try sandbox.run(
            """
            set -euo pipefail; rm -rf $R/left $R/right; backupfs restore \(name) --target $R/left --store \(left) >/dev/null
            backupfs restore \(name) --target $R/right --store \(right) >/dev/null
            diff -r --no-dereference $R/left $R/right
            for side in left right; do
                (cd $R/$side; find . -type f -print0 | sort -z | xargs -0 sha256sum) > $R/$side.txt
                (cd $R/$side; find . -type f -printf '%P %m %T@ %n %b\\n' | sort; find . -mindepth 1 -type d -printf '%P %m %T@\\n' | sort) >> $R/$side.txt
            done
            cmp $R/left.txt $R/right.txt; test -s $R/left.txt
            for kind in tar zip; do
                backupfs export \(name) --$kind -o $R/left.$kind --store \(left) >/dev/null
                backupfs export \(name) --$kind -o $R/right.$kind --store \(right) >/dev/null
                cmp $R/left.$kind $R/right.$kind
            done
            unzip -tq $R/right.zip
            rm $R/left.* $R/right.*
            """)
        #expect(compared.exitCode == 0, "\(name): \(compared.text)")
    }

    /// A store that shows a repository without making backups in it.
    private func look(at repository: String, _ store: String, _ options: String = "") throws {
        let app = "--app $R/diary.yaml --new-source"
        try sandbox.sh("backupfs init \(app) --repository \(repository) --store \(store) \(options) >/dev/null")
    }

    private static let describe = """
        jq -c '.[] | [.name, .created_at, .pinned, .tags, .verified_at, .source, .files, .size_bytes, .attributes]'
        """

    @Test func `backups are the same in an encrypted repository, and in one with another password`() throws {
        let encrypt = "--init --encrypt --other-password-file $R/horse"
        try sandbox.sh("backupfs copy-snapshots --to $R/first \(encrypt) --store $S >/dev/null")
        try look(at: "$R/first", "$R/a", "--password-file $R/horse")
        // From one password to another one.
        try sandbox.sh(
            """
            export BACKUPFS_OTHER_PASSWORD_FILE=$R/staple
            backupfs copy-snapshots --to $R/second --init --encrypt --password-file $R/horse --store $R/a >/dev/null
            """)
        try look(at: "$R/second", "$R/b", "--password-file $R/staple")
        let original = try sandbox.sh("backupfs snapshots --json --store $S | \(Self.describe)")
        #expect(original.split(separator: "\n").count == 3 && original.contains(#"true,["kept","summer"],null"#), "\(original)")
        for (store, password) in [("$R/a", "horse"), ("$R/b", "staple")] {
            sandbox.variables["BACKUPFS_PASSWORD_FILE"] = sandbox(password)
            #expect(try sandbox.sh("backupfs snapshots --json --store \(store) | \(Self.describe)") == original)
            #expect(try sandbox.run("backupfs check --read-data --store \(store)").output.contains("No damage was found."))
            sandbox.variables["BACKUPFS_PASSWORD_FILE"] = nil
        }
        // The store without a password ignores the variable.
        sandbox.variables["BACKUPFS_PASSWORD_FILE"] = sandbox("staple")
        for name in ["one", "two", "three"] { try expectSame(name, "$S", "$R/b") }
        try sandbox.sh("backupfs verify --all --store $R/b >/dev/null")
        // Back into the first store: it has them all, however often they were copied.
        let back = try sandbox.sh("backupfs copy-snapshots --from $R/second --other-password-file $R/staple --store $S")
        #expect(back == "Backups copied: 0 (0 B), there already: 3")
        sandbox.variables["BACKUPFS_PASSWORD_FILE"] = nil
        for (options, code) in [("--other-password-file $R/wrong", 12), ("", 12)] {
            let refused = try sandbox.run("backupfs copy-snapshots --to $R/second \(options) --store $S </dev/null")
            #expect(refused.exitCode == code, "\(refused.text)")
        }
    }

    @Test func `a plain copy takes what is new, and says what it did in JSON`() throws {
        let planned = try sandbox.sh("backupfs copy-snapshots one two --to $R/copy --init --dry-run --json --store $S")
        #expect(
            try sandbox.sh("jq -c '[.message_type, .action, .snapshot, .copy, .copied, .dry_run, .version]' <<'E'\n\(planned)\nE")
                == """
                ["copy","would_copy","one",null,null,null,1]
                ["copy","would_copy","two",null,null,null,1]
                ["copy_summary",null,null,null,2,true,1]
                """)
        #expect(try sandbox.run("test -e $R/copy").exitCode == 1)
        let members = """
            jq -c 'select(.message_type != "status") |
                [.message_type, .action, .snapshot, (.snapshot_id | length)?, .copy, .bytes_stored > 0, .error, .copied, .present, .failed]'
            """
        #expect(
            try sandbox.sh("backupfs copy-snapshots two --to $R/copy --init --json --store $S | \(members)") == """
                ["copy","copied","two",64,"two",true,null,null,null,null]
                ["copy_summary",null,null,0,null,true,null,1,0,0]
                """)
        #expect(
            try sandbox.sh("backupfs copy-snapshots --to $R/copy --json --store $S | \(members)") == """
                ["copy","copied","one",64,"one",true,null,null,null,null]
                ["copy","present","two",64,"two",false,null,null,null,null]
                ["copy","copied","three",64,"three",true,null,null,null,null]
                ["copy_summary",null,null,0,null,true,null,2,1,0]
                """)
        try look(at: "$R/copy", "$R/b")
        for name in ["one", "two", "three"] { try expectSame(name, "$S", "$R/b") }
        #expect(
            try sandbox.sh(
                """
                backupfs history --json --store $S > $R/history
                jq -c '.[] | select(.operation == "copy-snapshots") | [.result, .snapshot]' $R/history | sort
                """) == #"["ok","two"]"# + "\n" + #"["ok",null]"#)
        #expect(try sandbox.sh("grep -c '\"op\":\"copy-snapshots\"' $S/backupfs.log") == "2")
        // Another backup has the name, and what was removed there comes back by its name only.
        try sandbox.sh(
            """
            backupfs delete one --yes --store $R/b >/dev/null; backupfs delete two --yes --store $R/b >/dev/null || true
            backupfs copy-snapshots --to $R/copy --store $S > $R/out; grep -qx 'one was removed there; name it to copy it again' $R/out
            sqlite3 $R/b/app/database.sqlite "insert into photos values (9,'nine.jpg','nine')"
            backupfs backup --label one --store $R/b >/dev/null
            """)
        let named = try sandbox.sh("backupfs copy-snapshots one --to $R/copy --store $S | sed 's/ (.*)//'")
        #expect(
            named == """
                Copied one as one_2, since another backup there has its name
                Backups copied: 1, there already: 0
                """)
        try sandbox.sh("backupfs restore one_2 --target $R/x --store $R/b >/dev/null")
        try sandbox.sh("backupfs restore one --target $R/y --store $S >/dev/null")
        #expect(try sandbox.run("diff -r $R/x $R/y").exitCode == 0)
    }

    @Test func `backups come from another repository, also safety backups that are named`() throws {
        try sandbox.sh(
            """
            backupfs restore one --yes --store $S >/dev/null
            backupfs init --app $R/diary.yaml --store $R/new >/dev/null
            backupfs copy-snapshots --from $S/repository --store $R/new >/dev/null
            """)
        let names = "backupfs snapshots --json --store $R/new | jq -r '.[].name' | tr '\\n' ' '"
        #expect(try sandbox.sh(names) == "one two three ")
        for name in ["one", "three"] { try expectSame(name, "$S", "$R/new") }
        // The name in its record.
        let reader = """
            import os
            for name in os.listdir("snapshots"):
                record = open("snapshots/" + name, "rb").read()
                if record[12] == 1: print(record[33:33 + int.from_bytes(record[29:33], "little")].decode())
            """
        let safety = try sandbox.sh("cd $S/repository; python3 - <<'E'\n\(reader)\nE")
        #expect(safety.hasPrefix("~safety-"))
        let named = try sandbox.sh("backupfs copy-snapshots '\(safety)' --from $S/repository --store $R/new | sed 's/ (.*)//'")
        #expect(named == "Copied \(safety)\nBackups copied: 1, there already: 0")
        // They are another store's: its own rule does not remove them.
        try sandbox.sh("backupfs config set keep-last 1 --store $R/new")
        try sandbox.sh("backupfs backup --label own --store $R/new >/dev/null 2>&1")
        #expect(try sandbox.sh(names) == "one two three own ")
        let missing = try sandbox.run("backupfs copy-snapshots nope --from $S/repository --store $R/new")
        #expect(missing.exitCode == 1 && missing.errors.contains("the other repository has no such backup"), "\(missing.text)")
    }

    @Test func `what cannot be copied is refused before anything is written`() throws {
        let cases: [(arguments: String, code: Int32, message: String)] = [
            ("--to $S/repository", 2, "this is the repository that the backups are in, or a copy of it"),
            ("--from $S/repository", 2, "this is the repository that the backups are in, or a copy of it"),
            ("--to $R/none", 10, "Create it with --init"), ("--from $R/none", 10, "there is no repository here"),
            ("", 2, "with --to or with --from"), ("--to $R/a --from $R/b", 2, "but not with both"),
            ("--from $R/none --init", 2, "--init creates the repository of --to"),
            ("--to $R/none --encrypt", 2, "--encrypt needs --init"),
            ("--to $R/none --init --region here", 2, "--region is for servers"),
            ("nope --to $R/none --init", 1, "no such backup"),
            ("--to $S/app/photos/none --init", 1, "the repository is inside the media folder"),
        ]
        for (arguments, code, message) in cases {
            let refused = try sandbox.run("backupfs copy-snapshots \(arguments) --store $S")
            #expect(refused.exitCode == code && refused.errors.contains(message), "\(arguments): \(refused.text)")
        }
        #expect(try sandbox.run("test -e $R/none -o -e $S/app/photos/none").exitCode == 1)
        try sandbox.sh("backupfs copy-snapshots one --to $R/plain --init --store $S >/dev/null")
        let plain = try sandbox.run(
            "backupfs copy-snapshots --to $R/plain --init --encrypt --other-password-file $R/horse --store $S")
        #expect(plain.exitCode == 2 && plain.errors.contains("which is not encrypted"), "\(plain.text)")
    }

    @Test func `a damaged backup is named, and the others are copied`() throws {
        // The chunk that only the second backup has.
        try sandbox.sh(
            """
            find $S/repository/packs -type f | sort > $R/before
            head -c 700000 /dev/urandom > $S/app/photos/only.jpg; backupfs backup --label four --store $S >/dev/null
            find $S/repository/packs -type f | sort > $R/after
            rm $S/app/photos/only.jpg; backupfs backup --label five --store $S >/dev/null
            pack=$(comm -13 $R/before $R/after | xargs ls -S | sed -n 1p); test $(stat -c %s $pack) -gt 700000
            printf changed | dd of=$pack bs=1 seek=300000 conv=notrunc status=none
            """)
        let copied = try sandbox.run("backupfs copy-snapshots --to $R/copy --init --store $S")
        #expect(copied.exitCode == 1, "\(copied.text)")
        #expect(copied.errors.contains("four was not copied: "), "\(copied.text)")
        #expect(copied.errors.contains("1 backup is damaged and was not copied"), "\(copied.text)")
        #expect(copied.errors.contains("backupfs check --read-data"), "\(copied.text)")
        try look(at: "$R/copy", "$R/b")
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $R/b | jq -r '.[].name' | tr '\\n' ' '") == "one two three five ")
        try expectSame("five", "$S", "$R/b")
    }
}

/// The same with a repository that a real server keeps.
struct CopyToServerTests {
    @Test func `backups go to a server, and come from it`() throws {
        let server = try ObjectServer.shared()
        let sandbox = try Sandbox()
        sandbox.variables.merge(server.administrator.variables) { $1 }
        sandbox.variables["AWS_REGION"] = server.region
        sandbox.variables["BACKUPFS_OTHER_PASSWORD_FILE"] = try sandbox.write("horse\n", to: "horse")
        let url = "s3:\(server.endpoint)/\(try server.makeBucket())/cars"
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null
            backupfs copy-snapshots --to \(url) --init --encrypt --dry-run --store $S >/dev/null
            backupfs copy-snapshots --to \(url) --init --encrypt --store $S >/dev/null
            sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = 'two' WHERE key = 'device_name'"
            backupfs backup --label two --store $S >/dev/null
            """)
        // A death in the middle leaves nothing that the next copy does not complete.
        let killed = try sandbox.run(
            "backupfs copy-snapshots --to \(url) --store $S", ["BACKUPFS_FAULT": "backup.record-written"])
        #expect(killed.exitCode == 128 + SIGKILL, "\(killed.text)")
        #expect(
            try sandbox.sh("backupfs copy-snapshots --to \(url) --store $S | sed 's/ (.*)//'") == """
                Copied two
                Backups copied: 1, there already: 1
                """)
        #expect(try sandbox.sh("backupfs copy-snapshots --to \(url) --store $S") == "Backups copied: 0 (0 B), there already: 2")
        // A third store gets them from there, and shows the same files.
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --sample --store $R/b >/dev/null
            backupfs copy-snapshots --from \(url) --store $R/b >/dev/null
            for name in one two; do
                backupfs restore $name --target $R/left-$name --store $S >/dev/null
                backupfs restore $name --target $R/right-$name --store $R/b >/dev/null
                diff -r $R/left-$name $R/right-$name
                backupfs export $name --zip -o $R/left.zip --store $S >/dev/null
                backupfs export $name --zip -o $R/right.zip --store $R/b >/dev/null
                cmp $R/left.zip $R/right.zip; rm $R/left.zip $R/right.zip
            done
            backupfs copy-snapshots --from \(url) --store $S | grep -qx 'Backups copied: 0 (0 B), there already: 2'
            """)
        let other = try sandbox.run("backupfs copy-snapshots --to \(url)-none --store $S")
        #expect(other.exitCode == 10 && other.errors.contains("there is no repository here"), "\(other.text)")
    }
}

import TestSupport
import Testing

/// Where `copy-snapshots` gets the password of the other repository from, and when; and what it says when the other repository is
/// full or has lost data.
@Suite(.rotating(oneIn: 3)) struct CopyPasswordTests {
    private let sandbox: Sandbox

    /// A store with one backup, and an encrypted repository with it.
    init() throws {
        sandbox = try Sandbox()
        try sandbox.sh(
            """
            echo horse > $R/horse; echo wrong > $R/wrong
            backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null
            backupfs copy-snapshots --to $R/copy --init --encrypt --other-password-file $R/horse --store $S >/dev/null
            """)
    }

    @Test func `a command prints the password`() throws {
        let present = "Backups copied: 0 (0 B), there already: 1"
        let copy = "backupfs copy-snapshots --to $R/copy --store $S"
        // More lines, and more than a pipe holds.
        for command in ["cat $R/horse", "cat $R/horse; head -c 200000 /dev/zero", "printf horse", "cat $R/horse >&1"] {
            #expect(try sandbox.sh("\(copy) --other-password-command \"\(command)\"") == present, "\(command)")
        }
        // It precedes the variable.
        let file = ["BACKUPFS_OTHER_PASSWORD_FILE": sandbox("wrong")]
        #expect(try sandbox.sh("\(copy) --other-password-command 'echo horse'", file) == present)
        // A new repository, too.
        #expect(
            try sandbox.sh(
                """
                backupfs copy-snapshots --to $R/new --init --encrypt --other-password-command 'echo staple' --store $S >/dev/null
                backupfs copy-snapshots --to $R/new --other-password-command 'echo staple' --store $S
                """) == present)
        let failures: [(command: String, code: Int32, message: String)] = [
            ("echo wrong", 12, "password"), ("echo horse; exit 3", 12, "has failed with exit code 3"),
            ("true", 2, "the command for the password has printed none"), ("no-such-program-here", 12, "exit code 127"),
            ("head -c 5000 /dev/zero", 2, "longer than 4096 bytes"),
        ]
        for (command, code, message) in failures {
            let refused = try sandbox.run("\(copy) --other-password-command '\(command)'")
            #expect(refused.exitCode == code && refused.errors.contains(message), "\(command): \(refused.text)")
        }
        // Its errors are shown, and it sees nothing of this program's own variables, nor the secrets of remotes.
        let shown = try sandbox.run(
            "\(copy) --other-password-command 'env | grep -E \"^BACKUPFS_|xyzzy\" >&2; echo unlock it >&2; echo horse'",
            ["AWS_SECRET_ACCESS_KEY": "xyzzy1", "AWS_SESSION_TOKEN": "xyzzy2"])
        #expect(shown.exitCode == 0 && shown.errors == "unlock it\n", "\(shown.text)")
        let both = try sandbox.run("\(copy) --other-password-command 'echo horse' --other-password-file $R/horse")
        #expect(both.exitCode == 2 && both.errors.contains("but not both"), "\(both.text)")
    }

    /// A person may take long to type it.
    @Test func `the store is free while the password is asked for`() throws {
        try sandbox.sh(
            """
            backupfs init --sample --store $R/new >/dev/null
            printf '#!/bin/sh\\n%s backup --label meanwhile --store %s >/dev/null && echo horse\\n' $(type -P backupfs) $R/new > $R/ask
            chmod +x $R/ask
            backupfs copy-snapshots --from $R/copy --other-password-command $R/ask --store $R/new >/dev/null
            """)
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $R/new | jq -r '.[].name' | sort | tr '\\n' ' '")
                == "meanwhile one ")
    }

    @Test func `Ctrl-C ends the command`() throws {
        let script = """
            copy() { exec backupfs copy-snapshots --to $R/copy --store $S --other-password-command "echo \\$\\$ > $R/id; mkfifo $R/p; exec cat $R/p"; }
            (copy) & copy=$!; wait_until test -p $R/p; kill -TERM $copy; wait $copy; echo "exit $?"
            kill -0 $(cat $R/id) 2>/dev/null && echo "still there"; true
            """
        let ended = try sandbox.run(script)
        #expect(ended.output == "exit 130\n", "\(ended.text)")
    }

    @Test func `a disk that is too small stays as it is`() throws {
        try sandbox.sh(
            """
            mkdir $R/disk
            sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = hex(randomblob(1500000)) WHERE key = 'device_name'"
            backupfs backup --label large --store $S >/dev/null
            """)
        let refused = try sandbox.runInNamespace(
            """
            set -e; mount -t tmpfs -o size=1m none $R/disk
            backupfs copy-snapshots --to $R/disk/copy --init --store $S || echo "exit $?"
            find $R/disk/copy/packs -type f
            backupfs copy-snapshots one --to $R/disk/copy --store $S | sed 's/ (.*)//'
            backupfs copy-snapshots --to $R/disk/copy --store $S 2> $R/second || echo "exit $?"
            """)
        #expect(refused.output == "exit 1\nCopied one\nBackups copied: 1, there already: 0\nexit 1\n", "\(refused.text)")
        let second = try sandbox.sh("cat $R/second")
        for text in [refused.errors, second] {
            #expect(text.contains("the copy of these backups needs ") && text.contains(" are free"), "\(text)")
            #expect(text.contains("\(sandbox("disk"))/copy"), "\(text)")
        }
    }

    @Test func `lost data is copied again, and said`() throws {
        try sandbox.sh("backupfs copy-snapshots --to $R/plain --init --store $S >/dev/null; rm $R/plain/packs/*/*")
        let copy = "backupfs copy-snapshots --to $R/plain --store $S"
        #expect(
            try sandbox.sh("\(copy) --dry-run") == """
                Would complete one: data of its copy is missing there
                Backups to copy: 0, there already: 0
                """)
        #expect(
            try sandbox.sh("\(copy) --dry-run --json | jq -c '[.action, .copy, .completed]'") == """
                ["would_complete","one",null]
                [null,null,1]
                """)
        #expect(
            try sandbox.sh("\(copy) | sed 's/ ([^)]*)//'") == """
                Completed one: data of its copy was missing there
                Backups copied: 0, there already: 0
                """)
        #expect(try sandbox.sh(copy) == "Backups copied: 0 (0 B), there already: 1")
        try sandbox.sh(
            """
            backupfs init --app ev-charging-tracker --new-source --repository $R/plain --store $R/look >/dev/null
            backupfs check --read-data --store $R/look | grep -q 'No damage was found.'
            """)
    }
}

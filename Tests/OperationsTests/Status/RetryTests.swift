import Foundation
import TestSupport
import Testing

@testable import Operations

/// `backupfs retry`: repeats the last failed operation with the command in the status.
struct RetryTests {
    private static let fault = ["BACKUPFS_FAULT": "backup.begun=fail"]

    @Test func `ERR-08, ERR-09: a backup that failed is made, under the name it was to have`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        #expect(try sandbox.run("backupfs backup --label \"it's *new*\" --tag big --store $S", Self.fault).exitCode == 1)
        #expect(
            try sandbox.sh("backupfs status --json --store $S | jq -r .lastError.retry")
                == #"backupfs backup '--label=it'\''s *new*' --tag=big --store="# + sandbox.storePath)
        let before = try sandbox.sh("backupfs status --store $S")
        #expect(before.contains("backup: an injected fault at backup.begun\nTry it again with: backupfs retry\n"))
        let again = try sandbox.run("backupfs retry --store $S", Self.fault)
        #expect(again.exitCode == 1 && again.errors.contains("Trying again: backupfs backup '--label=it'"))
        let done = try sandbox.run("backupfs retry --store $S")
        #expect(done.exitCode == 0 && done.output == "it's *new*\n")
        #expect(try sandbox.sh("backupfs snapshots --tag big --json --store $S | jq -r '.[].name'") == "it's *new*")
        // Now there is nothing to retry, and nothing to report; the old failure can still be looked up.
        let nothing = try sandbox.run("backupfs retry --store $S")
        #expect(nothing.exitCode == 1 && nothing.errors.contains("there is nothing to retry: what failed has succeeded since"))
        #expect(try !sandbox.sh("backupfs status --store $S").contains("Last error"))
        #expect(try sandbox.sh("backupfs status --prometheus --store $S | grep '^backupfs_last_error{' | grep -o '[01]$'") == "0")
        #expect(try sandbox.sh("backupfs status --json --store $S | jq -r .lastError.operation") == "backup")
    }

    @Test func `a backup of the schedule is made now`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        // Due: a day after the store was created.
        try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-11T12:00:00Z"])
        let due = ["BACKUPFS_NOW": "2026-01-13T12:00:00Z"].merging(Self.fault) { $1 }
        #expect(try sandbox.run("backupfs backup --if-due --store $S", due).exitCode == 1)
        #expect(
            try sandbox.sh("jq -r '.operation, .retry' $S/last-error.json")
                == "automatic backup\nbackupfs backup --store=\(sandbox.storePath)")
        let later = ["BACKUPFS_NOW": "2026-01-14T12:00:00Z"]
        #expect(try sandbox.sh("backupfs retry --json --store $S | jq -rs '.[-1].message_type'", later) == "summary")
        #expect(try sandbox.run("backupfs retry --store $S").exitCode == 1)
    }

    /// The disk may be in order by then. A backup made meanwhile does not count as the restore.
    @Test func `a restore that failed is done, wherever one stands`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --sample --store $S >/dev/null; backupfs export --json -o $R/good.json --store $S >/dev/null")
        try sandbox.sh(
            "cd $R; cp good.json ./-old.json; ! backupfs restore --yes --store $S --no-settings -- -old.json 2>/dev/null",
            ["BACKUPFS_FAULT": "restore.before-commit=fail"])
        #expect(
            try sandbox.sh("jq -r .retry $S/last-error.json")
                == "backupfs restore --no-settings --store=\(sandbox.storePath) -- \(sandbox.path)/-old.json")
        try sandbox.sh("wait_second; backupfs backup --store $S >/dev/null")
        let unasked = try sandbox.run("cd /; backupfs retry --store $S </dev/null")
        #expect(unasked.exitCode == 2 && unasked.errors.contains("Add --yes"))
        #expect(try sandbox.sh("cd /; backupfs retry --yes --json --store $S | jq -rs '.[-1].result'") == "success")
        #expect(try sandbox.run("cd /; backupfs retry --yes --store $S").exitCode == 1)
    }

    @Test func `what came by standard input cannot be had again`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --sample --store $S >/dev/null; backupfs export -o $R/x.json --store $S >/dev/null
            ! BACKUPFS_FAULT=restore.before-commit=fail backupfs restore - --yes --store $S < $R/x.json 2>/dev/null
            """)
        let result = try sandbox.run("backupfs retry --store $S")
        #expect(result.exitCode == 1)
        #expect(result.errors.contains("the last failed operation cannot be retried: restore"))
        #expect(try !sandbox.sh("backupfs status --store $S").contains("backupfs retry"))
    }

    @Test func `the password comes from where it came from`() throws {
        let sandbox = try Sandbox()
        try sandbox.write("secret\n", to: "password")
        try sandbox.sh(
            "chmod 600 $R/password; backupfs init --sample --encrypt --password-file $R/password --store $S >/dev/null")
        #expect(try sandbox.run("backupfs backup --password-file $R/password --store $S", Self.fault).exitCode == 1)
        #expect(try sandbox.run("backupfs retry --store $S </dev/null").exitCode == 12)
        try sandbox.sh("backupfs retry --password-file $R/password --store $S >/dev/null")
        #expect(try sandbox.sh("backupfs snapshots --password-file $R/password --json --store $S | jq length") == "1")
    }

    /// A command in the store is run, so the store must be the user's own.
    @Test func `nothing but a backup or a restore is tried again, and nothing in a store that others may write to`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --store $S >/dev/null")
        #expect(try sandbox.run("backupfs backup --store $S", Self.fault).exitCode == 1)
        try sandbox.sh(
            "sed -i 's/backupfs backup /backupfs delete --all --yes /' $S/last-error.json; grep -q 'delete --all' $S/last-error.json"
        )
        let doctored = try sandbox.run("backupfs retry --store $S")
        #expect(doctored.exitCode == 1 && doctored.errors.contains("the last failed operation cannot be retried"))
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq length") == "1")
        try sandbox.sh("sed -i 's/backupfs delete --all --yes /backupfs backup /' $S/last-error.json; chmod o+w $S")
        let open = try sandbox.run("backupfs retry --store $S")
        #expect(open.exitCode == 1 && open.errors.contains("everybody may write to it"))
        try sandbox.sh("chmod o-w $S; backupfs retry --store $S")
    }

    /// The command in a store names that store by its path: in a copy it would restore into the original's data.
    @Test func `a store that was copied or moved runs nothing that failed in another one`() throws {
        let sandbox = try Sandbox()
        let later = ["BACKUPFS_NOW": "2026-01-14T13:00:00Z"]
        try sandbox.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --label b1 --store $S >/dev/null")
        let fault = ["BACKUPFS_FAULT": "restore.safety-made=fail", "BACKUPFS_NOW": "2026-01-11T12:00:00Z"]
        #expect(try sandbox.run("backupfs restore b1 --yes --store $S", fault).exitCode == 1)
        try sandbox.sh("cp -a $S $R/copy; sqlite3 $S/app/database.sqlite 'delete from expenses where id > 1'")
        let counts = "for s in $S $R/copy; do sqlite3 $s/app/database.sqlite 'select count(*) from expenses'; done"
        let before = try sandbox.sh(counts)
        let refused = try sandbox.run("backupfs retry --yes --store $R/copy", later)
        #expect(refused.exitCode == 1, "\(refused)")
        #expect(refused.errors.contains("what failed last, failed in another store: \(sandbox.storePath)"), "\(refused)")
        #expect(refused.errors.contains("backupfs restore --store=\(sandbox.path)/copy -- b1"), "\(refused)")
        #expect(try sandbox.sh(counts) == before)
        // Moved, with nothing at the old place; and by another path to the same folder.
        try sandbox.sh("rm -r $R/copy; mv $S $R/copy")
        #expect(try sandbox.run("backupfs retry --yes --store $R/copy", later).exitCode == 1)
        try sandbox.sh("mv $R/copy $S; ln -s $S $R/link")
        let done = try sandbox.run("cd $R; backupfs retry --yes --store link", later)
        #expect(done.exitCode == 0, "\(done)")
        #expect(done.errors.contains("It failed at 2026-01-11 12:00:00, 3 days ago."), "\(done)")
    }

    @Test func `a store in which nothing has failed`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        let result = try sandbox.run("backupfs retry --json --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("\"error\":\"notFound\""))
        #expect(try sandbox.run("backupfs retry --store $R/none").exitCode == 10)
    }
}

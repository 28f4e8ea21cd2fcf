import Foundation
import Testing

@testable import Operations

/// `backupfs retry`: repeats the last failed operation with the command in the status.
struct RetryTests {
    private static let fault = ["BACKUPFS_FAULT": "backup.begun=fail"]

    @Test func `ERR-08, ERR-09: a backup that failed is made, under the name it was to have`() throws {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S >/dev/null")
        #expect(try room.run("backupfs backup --label \"it's *new*\" --tag big --store $S", Self.fault).status == 1)
        #expect(
            try room.sh("backupfs status --json --store $S | jq -r .lastError.retry")
                == #"backupfs backup '--label=it'\''s *new*' --tag=big --store="# + room.storePath)
        let before = try room.sh("backupfs status --store $S")
        #expect(before.contains("backup: an injected fault at backup.begun\nTry it again with: backupfs retry\n"))
        let again = try room.run("backupfs retry --store $S", Self.fault)
        #expect(again.status == 1 && again.complaint.contains("Trying again: backupfs backup '--label=it'"))
        let done = try room.run("backupfs retry --store $S")
        #expect(done.status == 0 && done.output == "it's *new*\n")
        #expect(try room.sh("backupfs snapshots --tag big --json --store $S | jq -r '.[].name'") == "it's *new*")
        // Now there is nothing to retry, and nothing to report; the old failure can still be looked up.
        let nothing = try room.run("backupfs retry --store $S")
        #expect(nothing.status == 1 && nothing.complaint.contains("there is nothing to retry: what failed has succeeded since"))
        #expect(try !room.sh("backupfs status --store $S").contains("Last error"))
        #expect(try room.sh("backupfs status --prometheus --store $S | grep '^backupfs_last_error{' | grep -o '[01]$'") == "0")
        #expect(try room.sh("backupfs status --json --store $S | jq -r .lastError.operation") == "backup")
    }

    @Test func `a backup of the schedule is made now`() throws {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S >/dev/null")
        // Due: a day after the store was created.
        try room.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-11T12:00:00Z"])
        let due = ["BACKUPFS_NOW": "2026-01-13T12:00:00Z"].merging(Self.fault) { $1 }
        #expect(try room.run("backupfs backup --if-due --store $S", due).status == 1)
        #expect(
            try room.sh("jq -r '.operation, .retry' $S/last-error.json")
                == "automatic backup\nbackupfs backup --store=\(room.storePath)")
        let later = ["BACKUPFS_NOW": "2026-01-14T12:00:00Z"]
        #expect(try room.sh("backupfs retry --json --store $S | jq -rs '.[-1].message_type'", later) == "summary")
        #expect(try room.run("backupfs retry --store $S").status == 1)
    }

    /// The disk may be in order by then. A backup made meanwhile does not count as the restore.
    @Test func `a restore that failed is done, wherever one stands`() throws {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S >/dev/null; backupfs export --json -o $R/good.json --store $S >/dev/null")
        try room.sh(
            "cd $R; cp good.json ./-old.json; ! backupfs restore --yes --store $S --no-settings -- -old.json 2>/dev/null",
            ["BACKUPFS_FAULT": "restore.before-commit=fail"])
        #expect(
            try room.sh("jq -r .retry $S/last-error.json")
                == "backupfs restore --no-settings --store=\(room.storePath) -- \(room.path)/-old.json")
        try room.sh("sleep 1; backupfs backup --store $S >/dev/null")
        let unasked = try room.run("cd /; backupfs retry --store $S </dev/null")
        #expect(unasked.status == 2 && unasked.complaint.contains("Add --yes"))
        #expect(try room.sh("cd /; backupfs retry --yes --json --store $S | jq -rs '.[-1].result'") == "success")
        #expect(try room.run("cd /; backupfs retry --yes --store $S").status == 1)
    }

    @Test func `what came by standard input cannot be had again`() throws {
        let room = try Room()
        try room.sh(
            """
            backupfs init --sample --store $S >/dev/null; backupfs export -o $R/x.json --store $S >/dev/null
            ! BACKUPFS_FAULT=restore.before-commit=fail backupfs restore - --yes --store $S < $R/x.json 2>/dev/null
            """)
        let result = try room.run("backupfs retry --store $S")
        #expect(result.status == 1)
        #expect(result.complaint.contains("the last failed operation cannot be retried: restore"))
        #expect(try !room.sh("backupfs status --store $S").contains("backupfs retry"))
    }

    @Test func `the password comes from where it came from`() throws {
        let room = try Room()
        try room.write("secret\n", to: "password")
        try room.sh("chmod 600 $R/password; backupfs init --sample --encrypt --password-file $R/password --store $S >/dev/null")
        #expect(try room.run("backupfs backup --password-file $R/password --store $S", Self.fault).status == 1)
        #expect(try room.run("backupfs retry --store $S </dev/null").status == 12)
        try room.sh("backupfs retry --password-file $R/password --store $S >/dev/null")
        #expect(try room.sh("backupfs snapshots --password-file $R/password --json --store $S | jq length") == "1")
    }

    /// A command in the store is run, so the store must be the user's own.
    @Test func `nothing but a backup or a restore is tried again, and nothing in a store that others may write to`() throws {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --store $S >/dev/null")
        #expect(try room.run("backupfs backup --store $S", Self.fault).status == 1)
        try room.sh(
            "sed -i 's/backupfs backup /backupfs delete --all --yes /' $S/last-error.json; grep -q 'delete --all' $S/last-error.json"
        )
        let doctored = try room.run("backupfs retry --store $S")
        #expect(doctored.status == 1 && doctored.complaint.contains("the last failed operation cannot be retried"))
        #expect(try room.sh("backupfs snapshots --json --store $S | jq length") == "1")
        try room.sh("sed -i 's/backupfs delete --all --yes /backupfs backup /' $S/last-error.json; chmod o+w $S")
        let open = try room.run("backupfs retry --store $S")
        #expect(open.status == 1 && open.complaint.contains("everybody may write to it"))
        try room.sh("chmod o-w $S; backupfs retry --store $S")
    }

    /// The command in a store names that store by its path: in a copy it would restore into the original's data.
    @Test func `a store that was copied or moved runs nothing that failed in another one`() throws {
        let room = try Room()
        let later = ["BACKUPFS_NOW": "2026-01-14T13:00:00Z"]
        try room.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --label b1 --store $S >/dev/null")
        let fault = ["BACKUPFS_FAULT": "restore.safety-made=fail", "BACKUPFS_NOW": "2026-01-11T12:00:00Z"]
        #expect(try room.run("backupfs restore b1 --yes --store $S", fault).status == 1)
        try room.sh("cp -a $S $R/copy; sqlite3 $S/app/database.sqlite 'delete from expenses where id > 1'")
        let counts = "for s in $S $R/copy; do sqlite3 $s/app/database.sqlite 'select count(*) from expenses'; done"
        let before = try room.sh(counts)
        let refused = try room.run("backupfs retry --yes --store $R/copy", later)
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.complaint.contains("what failed last, failed in another store: \(room.storePath)"), "\(refused)")
        #expect(refused.complaint.contains("backupfs restore --store=\(room.path)/copy -- b1"), "\(refused)")
        #expect(try room.sh(counts) == before)
        // Moved, with nothing at the old place; and by another path to the same folder.
        try room.sh("rm -r $R/copy; mv $S $R/copy")
        #expect(try room.run("backupfs retry --yes --store $R/copy", later).status == 1)
        try room.sh("mv $R/copy $S; ln -s $S $R/link")
        let done = try room.run("cd $R; backupfs retry --yes --store link", later)
        #expect(done.status == 0, "\(done)")
        #expect(done.complaint.contains("It failed at 2026-01-11 12:00:00, 3 days ago."), "\(done)")
    }

    @Test func `a store in which nothing has failed`() throws {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S >/dev/null")
        let result = try room.run("backupfs retry --json --store $S")
        #expect(result.status == 1 && result.complaint.contains("\"error\":\"notFound\""))
        #expect(try room.run("backupfs retry --store $R/none").status == 10)
    }
}

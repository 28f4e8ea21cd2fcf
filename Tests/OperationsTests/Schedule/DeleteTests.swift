import Foundation
import TestSupport
import Testing

/// `backupfs delete`, with the questions from the documents.
struct DeleteTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; for n in a b c; do backupfs backup --label $n --store $S; done")
        return sandbox
    }

    private func names(_ sandbox: Sandbox) throws -> String {
        try sandbox.sh("backupfs snapshots --json --store $S | jq -r '[.[].name] | join(\" \")'")
    }

    /// Types an answer at a terminal, and returns its output and the exit code.
    private func type(_ answer: String, _ arguments: String, in sandbox: Sandbox) throws -> String {
        let result = try sandbox.onTerminal(answer + "\\n", "backupfs \(arguments) --store $S")
        return result.output + "exit \(result.exitCode)"
    }

    @Test func `DEL-01: one is deleted when the question is answered by its button`() throws {
        let sandbox = try sandbox()
        let cancelled = try type("Cancel", "delete b", in: sandbox)
        #expect(
            cancelled.contains(
                "Are you sure you want to delete this backup? For 7 days it can be undone with: backupfs undelete. Type \"Delete\""
            ))
        #expect(cancelled.hasSuffix("exit 130") && cancelled.contains("cancelled; nothing was changed"), "\(cancelled)")
        #expect(try names(sandbox) == "a b c")
        let deleted = try type("Delete", "delete b", in: sandbox)
        #expect(deleted.contains("Deleted b") && deleted.hasSuffix("exit 0"), "\(deleted)")
        #expect(try names(sandbox) == "a c")
    }

    @Test func `DEL-03: all are deleted, and safety backups are not`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs restore a --yes --store $S >/dev/null; backupfs pin c --store $S >/dev/null")
        #expect(try type("delete", "delete --all", in: sandbox).hasSuffix("exit 130"))
        let shown = try type("delete all", "delete --all", in: sandbox)
        #expect(
            shown.contains(
                "Are you sure you want to delete all backups? For 7 days it can be undone with: backupfs undelete. Type \"Delete All\""
            ))
        #expect(shown.contains("1 pinned backup was kept.\nexit 0"), "\(shown)")
        #expect(try names(sandbox) == "c")
        try sandbox.sh("backupfs unpin c --store $S >/dev/null")
        #expect(try sandbox.sh("backupfs delete --all --yes --store $S") == "All backups deleted.")
        #expect(try sandbox.sh("backupfs delete --all --yes --store $S") == "No backups found.")
        #expect(try sandbox.sh("backupfs status --json --store $S | jq .safetyBackupCount") == "1")
    }

    @Test func `DEL-01, DEL-02: what cannot be brought back is asked in the documents' words`() throws {
        let sandbox = try sandbox()
        let one = try type("Cancel", "delete b --now", in: sandbox)
        #expect(one.contains("Are you sure you want to delete this backup? This cannot be undone. Type \"Delete\""), "\(one)")
        let all = try type("Cancel", "delete --all --now", in: sandbox)
        #expect(all.contains("Are you sure you want to delete all backups? This cannot be undone. Type \"Delete All\""), "\(all)")
        #expect(try names(sandbox) == "a b c")
    }

    @Test func `DEL-02: nothing is deleted where no user can be asked, nor what is pinned or not there`() throws {
        let sandbox = try sandbox()
        for arguments in ["--all", "a"] {
            let result = try sandbox.run("backupfs delete \(arguments) --store $S")
            #expect(result.exitCode == 2 && result.errors.contains("Add --yes."), "\(result)")
        }
        #expect(try sandbox.run("backupfs delete a nothing --yes --store $S").exitCode == 1)
        try sandbox.sh("backupfs pin c --store $S >/dev/null")
        #expect(try sandbox.run("backupfs delete a c --yes --store $S").errors.contains("the backup is pinned"))
        #expect(try sandbox.run("backupfs delete --yes --store $S").exitCode == 2)
        #expect(try sandbox.run("backupfs delete a --all --yes --store $S").exitCode == 2)
        #expect(try names(sandbox) == "a b c")
        #expect(
            try sandbox.sh("backupfs delete a b --yes --json --store $S | tail -1")
                == #"{"message_type":"deleted","removed":["a","b"],"kept":0,"version":1}"#)
    }
}

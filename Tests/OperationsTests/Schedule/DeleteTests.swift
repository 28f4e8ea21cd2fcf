import Foundation
import TestSupport
import Testing

/// `backupfs delete`, with the questions from the documents.
struct DeleteTests {
    private func room() throws -> Room {
        let room = try Room()
        try room.sh("backupfs init --store $S >/dev/null; for n in a b c; do backupfs backup --label $n --store $S; done")
        return room
    }

    private func names(_ room: Room) throws -> String {
        try room.sh("backupfs snapshots --json --store $S | jq -r '[.[].name] | join(\" \")'")
    }

    /// Types an answer at a terminal, and returns its output and the exit code.
    private func type(_ answer: String, _ arguments: String, in room: Room) throws -> String {
        let result = try room.onTerminal(answer + "\\n", "backupfs \(arguments) --store $S")
        return result.output + "exit \(result.status)"
    }

    @Test func `DEL-01: one is deleted when the question is answered by its button`() throws {
        let room = try room()
        let cancelled = try type("Cancel", "delete b", in: room)
        #expect(
            cancelled.contains(
                "Are you sure you want to delete this backup? For 7 days it can be undone with: backupfs undelete. Type \"Delete\""
            ))
        #expect(cancelled.hasSuffix("exit 130") && cancelled.contains("cancelled; nothing was changed"), "\(cancelled)")
        #expect(try names(room) == "a b c")
        let deleted = try type("Delete", "delete b", in: room)
        #expect(deleted.contains("Deleted b") && deleted.hasSuffix("exit 0"), "\(deleted)")
        #expect(try names(room) == "a c")
    }

    @Test func `DEL-03: all are deleted, and safety backups are not`() throws {
        let room = try room()
        try room.sh("backupfs restore a --yes --store $S >/dev/null; backupfs pin c --store $S >/dev/null")
        #expect(try type("delete", "delete --all", in: room).hasSuffix("exit 130"))
        let shown = try type("delete all", "delete --all", in: room)
        #expect(
            shown.contains(
                "Are you sure you want to delete all backups? For 7 days it can be undone with: backupfs undelete. Type \"Delete All\""
            ))
        #expect(shown.contains("1 pinned backup was kept.\nexit 0"), "\(shown)")
        #expect(try names(room) == "c")
        try room.sh("backupfs unpin c --store $S >/dev/null")
        #expect(try room.sh("backupfs delete --all --yes --store $S") == "All backups deleted.")
        #expect(try room.sh("backupfs delete --all --yes --store $S") == "No backups found.")
        #expect(try room.sh("backupfs status --json --store $S | jq .safetyBackupCount") == "1")
    }

    @Test func `DEL-01, DEL-02: what cannot be brought back is asked in the documents' words`() throws {
        let room = try room()
        let one = try type("Cancel", "delete b --now", in: room)
        #expect(one.contains("Are you sure you want to delete this backup? This cannot be undone. Type \"Delete\""), "\(one)")
        let all = try type("Cancel", "delete --all --now", in: room)
        #expect(all.contains("Are you sure you want to delete all backups? This cannot be undone. Type \"Delete All\""), "\(all)")
        #expect(try names(room) == "a b c")
    }

    @Test func `DEL-02: nothing is deleted where no user can be asked, nor what is pinned or not there`() throws {
        let room = try room()
        for arguments in ["--all", "a"] {
            let result = try room.run("backupfs delete \(arguments) --store $S")
            #expect(result.status == 2 && result.complaint.contains("Add --yes."), "\(result)")
        }
        #expect(try room.run("backupfs delete a nothing --yes --store $S").status == 1)
        try room.sh("backupfs pin c --store $S >/dev/null")
        #expect(try room.run("backupfs delete a c --yes --store $S").complaint.contains("the backup is pinned"))
        #expect(try room.run("backupfs delete --yes --store $S").status == 2)
        #expect(try room.run("backupfs delete a --all --yes --store $S").status == 2)
        #expect(try names(room) == "a b c")
        #expect(
            try room.sh("backupfs delete a b --yes --json --store $S | tail -1")
                == #"{"message_type":"deleted","removed":["a","b"],"kept":0,"version":1}"#)
    }
}

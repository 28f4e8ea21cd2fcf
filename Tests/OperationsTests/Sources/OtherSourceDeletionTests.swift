import TestSupport
import Testing

/// `delete --now` where another store has its backups in the same repository: permanent deletion must hit what was intended.
struct OtherSourceDeletionTests {
    /// The store `$S` has removed its backup `x`; the store `$R/other` has a backup `x` and one more, `theirs`.
    private static func makeRoom() throws -> Room {
        let room = try Room()
        try room.sh(
            """
            for db in own other; do sqlite3 $R/$db.sqlite 'create table t(id integer primary key, x text); insert into t values (1, "'$db'")'; done
            backupfs init --store $S --repository $R/nas --database $R/own.sqlite
            backupfs init --store $R/other --repository $R/nas --database $R/other.sqlite --new-source
            for name in x y; do backupfs backup --label $name --store $S; done; backupfs delete x --yes --store $S
            for name in x theirs; do backupfs backup --label $name --store $R/other; done
            """)
        return room
    }

    private func names(_ room: Room, _ store: String, _ option: String = "") throws -> String {
        try room.sh("backupfs snapshots \(option) --json --store \(store) | jq -r 'map(select(.own) | .name) | join(\" \")'")
    }

    @Test func `delete --now takes this store's removed backup and not another store's of the same name`() throws {
        let room = try Self.makeRoom()
        #expect(try room.sh("backupfs delete x --now --yes --store $S").hasSuffix("Deleted x"))
        #expect(try names(room, "$R/other") == "x theirs")
        #expect(try names(room, "$S") == "y")
        #expect(try names(room, "$S", "--removed") == "")
        #expect(try room.run("backupfs check --read-data --store $R/other").status == 0)
    }

    @Test func `a removed backup that is named by its ID goes, whatever another store's backup is called`() throws {
        let room = try Self.makeRoom()
        let id = try room.sh("backupfs snapshots --removed --json --store $S | jq -r '.[0].id[:8]'")
        try room.sh("backupfs backup --label \(id) --store $R/other; backupfs delete \(id) --now --yes --store $S")
        #expect(try names(room, "$R/other") == "x theirs \(id)")
        #expect(try names(room, "$S", "--removed") == "")
    }

    @Test func `another store's backup is not deleted for good unless it is said`() throws {
        let room = try Self.makeRoom()
        let refused = try room.run("backupfs delete y theirs --now --yes --store $S")
        #expect(refused.status == 1 && refused.complaint.contains("theirs: another store made this backup"), "\(refused)")
        #expect(refused.complaint.contains("--other-source"), "\(refused)")
        #expect(try names(room, "$R/other") == "x theirs")
        #expect(try names(room, "$S") == "y")
        // The name is ambiguous, and one of the two is this store's.
        let ambiguous = try room.run("backupfs delete x --now --other-source --yes --store $S")
        #expect(ambiguous.status == 1 && ambiguous.complaint.contains("both have this name"), "\(ambiguous)")
        #expect(try names(room, "$R/other") == "x theirs")
        #expect(try names(room, "$S", "--removed") == "x")
        let said = try room.run("backupfs delete theirs --now --other-source --yes --store $S")
        #expect(said.status == 0 && said.output.hasSuffix("Deleted theirs\n"), "\(said)")
        #expect(said.complaint.contains("another store, \(room.path)/other on "), "\(said)")
        #expect(try names(room, "$R/other") == "x")
        #expect(try names(room, "$R/other", "--removed") == "")
    }

    @Test func `what can be brought back may be another store's, and its store can bring it back`() throws {
        let room = try Self.makeRoom()
        for command in ["delete theirs", "forget theirs"] {
            let deleted = try room.run("backupfs \(command) --yes --store $S")
            #expect(deleted.status == 0, "\(deleted)")
            #expect(
                deleted.complaint.contains("warning: another store, \(room.path)/other on ")
                    && deleted.complaint.contains("made the backup “theirs”"), "\(deleted)")
            try room.sh("backupfs undelete theirs --store $R/other")
        }
        #expect(try names(room, "$R/other") == "x theirs")
    }
}

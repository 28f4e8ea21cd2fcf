import TestSupport
import Testing

/// Backups into an incomplete copy of a repository: what arrives later must still be restorable, whatever was done meanwhile
/// (review G, G1).
struct IncompleteCopyTests {
    /// Three backups, each with a photo that no other has.
    private static func makeRoom(_ options: String = "") throws -> Room {
        let room = try Room()
        try room.sh(
            """
            sqlite3 $R/app.db 'create table t(id integer primary key, x text)'; mkdir $R/m
            backupfs init --store $S --database $R/app.db --media $R/m --repository $R/r
            for i in 1 2 3; do
              rm -f $R/m/*; head -c 100000 /dev/urandom > $R/m/photo$i; backupfs backup --label n$i --store $S
            done
            \(options)
            mv $R/r $R/whole; mkdir $R/r; cp -a $R/whole/config* $R/r/
            """)
        return room
    }

    private static let addBackup = "rm -f $R/m/*; head -c 1000 /dev/urandom > $R/m/small; backupfs backup --store $S --label"
    private static let finishCopy = "cp -rn $R/whole/. $R/r/"

    @Test(arguments: ["", "backupfs config set keep-last 1 --store $S >/dev/null"])
    func `a backup into it makes no register, and says so; nothing is pruned`(rule: String) throws {
        let room = try Self.makeRoom(rule)
        try room.sh("cp -a $R/whole/packs $R/r/")
        #expect(try room.run("backupfs prune --store $S").complaint.contains("nothing was pruned"))
        let check = try room.run("backupfs check --store $S")
        #expect(check.status == 1 && check.output.contains("the register of backups is missing"), "\(check)")
        for label in ["new", "newer"] {
            let backup = try room.run("\(Self.addBackup) \(label)")
            #expect(
                backup.status == 0
                    && backup.complaint.contains("the register of backups is missing: the repository may be only half copied"),
                "\(backup)")
            let prune = try room.run("backupfs prune --store $S")
            #expect(prune.status == 1 && prune.complaint.contains("nothing was pruned"), "\(prune)")
        }
        #expect(try room.run("backupfs check --store $S").output.contains("the register of backups is missing"))
        try room.sh("\(Self.finishCopy); backupfs check --read-data --store $S")
        #expect(try room.sh("backupfs snapshots --json --store $S | jq -r 'map(.name) | join(\" \")'") == "n1 n2 n3 new newer")
        try room.sh("backupfs restore n2 --target $R/out --store $S; test $(stat -c %s $R/out/media/photo2) = 100000")
        try room.sh("backupfs prune --store $S; backupfs check --read-data --store $S")
    }

    @Test func `not even before the first pack has come`() throws {
        let room = try Self.makeRoom()
        #expect(try room.run("\(Self.addBackup) new").complaint.contains("the register of backups is missing"))
        try room.sh("cp -rn $R/whole/packs/. $R/r/packs/")
        #expect(try room.run("backupfs prune --store $S").complaint.contains("nothing was pruned"))
        try room.sh("\(Self.finishCopy); backupfs check --read-data --store $S")
    }

    @Test func `another store's backup makes none either where there are packs`() throws {
        let room = try Self.makeRoom()
        try room.sh("cp -a $R/whole/packs $R/r/")
        let backup = try room.run(
            "backupfs init --store $R/s2 --database $R/app.db --repository $R/r >/dev/null; backupfs backup --store $R/s2")
        #expect(backup.complaint.contains("the register of backups is missing"), "\(backup)")
        #expect(try room.run("backupfs prune --store $R/s2").complaint.contains("nothing was pruned"))
        try room.sh("\(Self.finishCopy); backupfs check --read-data --store $R/s2")
    }

    @Test func `a new repository has a register from the start, and needs none of the store`() throws {
        let room = try Room()
        try room.sh("sqlite3 $R/app.db 'create table t(x)'; backupfs init --store $S --database $R/app.db --repository $R/r")
        #expect(try room.sh("ls $R/r/register | wc -l") == "1")
        // Older programs did not create one. One that died in its first backup left nothing, or packs.
        let backup = try room.run("rm $R/r/register; backupfs backup --store $S")
        #expect(backup.status == 0 && backup.complaint == "", "\(backup)")
        try room.sh("backupfs prune --store $S; backupfs check --store $S")
    }
}

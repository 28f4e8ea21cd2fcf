import TestSupport
import Testing

/// Backups into an incomplete copy of a repository: what arrives later must still be restorable, whatever was done meanwhile
/// (review G, G1).
struct IncompleteCopyTests {
    /// Three backups, each with a photo that no other has.
    private static func makeSandbox(_ options: String = "") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.db 'create table t(id integer primary key, x text)'; mkdir $R/m
            backupfs init --store $S --database $R/app.db --media $R/m --repository $R/r
            for i in 1 2 3; do
              rm -f $R/m/*; head -c 100000 /dev/urandom > $R/m/photo$i; backupfs backup --label n$i --store $S
            done
            \(options)
            mv $R/r $R/whole; mkdir $R/r; cp -a $R/whole/config* $R/r/
            """)
        return sandbox
    }

    private static let addBackup = "rm -f $R/m/*; head -c 1000 /dev/urandom > $R/m/small; backupfs backup --store $S --label"
    private static let finishCopy = "cp -rn $R/whole/. $R/r/"

    @Test(arguments: ["", "backupfs config set keep-last 1 --store $S >/dev/null"])
    func `a backup into it makes no register, and says so; nothing is pruned`(rule: String) throws {
        let sandbox = try Self.makeSandbox(rule)
        try sandbox.sh("cp -a $R/whole/packs $R/r/")
        #expect(try sandbox.run("backupfs prune --store $S").errors.contains("nothing was pruned"))
        let check = try sandbox.run("backupfs check --store $S")
        #expect(check.exitCode == 1 && check.output.contains("the register of backups is missing"), "\(check)")
        for label in ["new", "newer"] {
            let backup = try sandbox.run("\(Self.addBackup) \(label)")
            #expect(
                backup.exitCode == 0
                    && backup.errors.contains("the register of backups is missing: the repository may be only half copied"),
                "\(backup)")
            let prune = try sandbox.run("backupfs prune --store $S")
            #expect(prune.exitCode == 1 && prune.errors.contains("nothing was pruned"), "\(prune)")
        }
        #expect(try sandbox.run("backupfs check --store $S").output.contains("the register of backups is missing"))
        try sandbox.sh("\(Self.finishCopy); backupfs check --read-data --store $S")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -r 'map(.name) | join(\" \")'") == "n1 n2 n3 new newer")
        try sandbox.sh("backupfs restore n2 --target $R/out --store $S; test $(stat -c %s $R/out/media/photo2) = 100000")
        try sandbox.sh("backupfs prune --store $S; backupfs check --read-data --store $S")
    }

    @Test func `not even before the first pack has come`() throws {
        let sandbox = try Self.makeSandbox()
        #expect(try sandbox.run("\(Self.addBackup) new").errors.contains("the register of backups is missing"))
        try sandbox.sh("cp -rn $R/whole/packs/. $R/r/packs/")
        #expect(try sandbox.run("backupfs prune --store $S").errors.contains("nothing was pruned"))
        try sandbox.sh("\(Self.finishCopy); backupfs check --read-data --store $S")
    }

    @Test func `another store's backup makes none either where there are packs`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("cp -a $R/whole/packs $R/r/")
        let backup = try sandbox.run(
            "backupfs init --store $R/s2 --database $R/app.db --repository $R/r >/dev/null; backupfs backup --store $R/s2")
        #expect(backup.errors.contains("the register of backups is missing"), "\(backup)")
        #expect(try sandbox.run("backupfs prune --store $R/s2").errors.contains("nothing was pruned"))
        try sandbox.sh("\(Self.finishCopy); backupfs check --read-data --store $R/s2")
    }

    @Test func `a new repository has a register from the start, and needs none of the store`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("sqlite3 $R/app.db 'create table t(x)'; backupfs init --store $S --database $R/app.db --repository $R/r")
        #expect(try sandbox.sh("ls $R/r/register | wc -l") == "1")
        // Older programs did not create one. One that died in its first backup left nothing, or packs.
        let backup = try sandbox.run("rm $R/r/register; backupfs backup --store $S")
        #expect(backup.exitCode == 0 && backup.errors == "", "\(backup)")
        try sandbox.sh("backupfs prune --store $S; backupfs check --store $S")
    }
}

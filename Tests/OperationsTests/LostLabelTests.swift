import TestSupport
import Testing

/// Labels, which hold a backup's name, pin and tags, and the register, which lists the existing labels: what happens to a pin
/// when they are lost.
struct LostLabelTests {
    /// The backup `keepme` in a repository outside the store, and a rule that keeps two backups.
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.db 'create table t(id integer primary key, x text)'
            backupfs init --store $S --database $R/app.db --repository $R/r
            backupfs config set retention-counts all --store $S; backupfs config set keep-last 2 --store $S
            backupfs backup --label keepme --store $S
            """)
        return sandbox
    }

    private static let addBackups = """
        for i in 1 2 3; do sqlite3 $R/app.db 'insert into t(x) values (hex(randomblob(9)))'; backupfs backup --label n$i --store $S; done
        """
    private static let names = "backupfs snapshots --json --store $S | jq -r 'map(.name) | join(\" \")'"

    @Test(arguments: ["rm $R/r/labels/*", "cp -a $R/r $R/r2; rm -r $R/r2/labels $R/r; mv $R/r2 $R/r"])
    func `a backup whose label is missing counts as pinned`(loss: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs pin keepme --store $S; \(loss)")
        let last = try sandbox.run(Self.addBackups)
        #expect(last.exitCode == 0 && last.errors.contains("the label of the backup “keepme” is missing"), "\(last)")
        #expect(try sandbox.sh(Self.names) == "keepme n2 n3")
        let check = try sandbox.run("backupfs check --store $S")
        #expect(check.exitCode == 1 && check.output.contains("the backup’s label is missing"), "\(check)")
        // A user can override this.
        try sandbox.sh("backupfs unpin keepme --store $S; backupfs check --store $S; backupfs backup --store $S --label n4")
        #expect(try sandbox.sh(Self.names) == "n3 n4")
    }

    @Test func `a repair leaves a backup pinned whose label is missing`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs pin keepme --store $S; rm $R/r/labels/*")
        let repair = try sandbox.run("backupfs check --repair --yes --store $S")
        #expect(
            repair.exitCode == 1 && repair.output.contains("rewritten; its name is its first one, and it is pinned"), "\(repair)")
        try sandbox.sh("backupfs check --store $S")
        let last = try sandbox.run(Self.addBackups)
        #expect(last.exitCode == 0 && last.errors == "", "\(last)")
        #expect(try sandbox.sh(Self.names) == "keepme n2 n3")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -c 'map(.pinned)'") == "[true,false,false]")
    }

    /// As in a truncated copy that has neither the labels nor their list.
    @Test func `a rule removes nothing while the register is missing`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs pin keepme --store $S; mv $R/r/register $R/; rm $R/r/labels/*")
        let last = try sandbox.run(Self.addBackups)
        #expect(
            last.exitCode == 0 && last.errors.contains("no old backup was removed, since it is not known which are pinned"),
            "\(last)")
        #expect(try sandbox.sh(Self.names) == "keepme n1 n2 n3")
        let forget = try sandbox.run("backupfs forget --keep-last 1 --yes --store $S")
        #expect(forget.exitCode == 1 && forget.errors.contains("the register of backups is missing"), "\(forget)")
        #expect(try sandbox.sh(Self.names) == "keepme n1 n2 n3")
        // The rest of the copy has arrived.
        try sandbox.sh("mv $R/register $R/r/; backupfs backup --label n4 --store $S")
        #expect(try sandbox.sh(Self.names) == "keepme n3 n4")
    }

    /// As many as there were restores: the limit of three is a rule, too.
    @Test(arguments: [("true", "4"), ("rm $R/r/register", "6"), ("echo rubbish > $R/r/register", "6")])
    func `safety backups stay while it is not known which are pinned`(loss: String, count: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("\(loss); for i in 1 2 3 4 5; do backupfs restore keepme --yes --store $S; done")
        #expect(try sandbox.sh("ls $R/r/snapshots | wc -l") == count)
    }

    @Test func `a user who says that the copy is whole gets the rule back`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("\(Self.addBackups); rm $R/r/register; backupfs backup --label n4 --store $S")
        #expect(try sandbox.sh(Self.names) == "n2 n3 n4")
        let repair = try sandbox.sh("backupfs check --repair --yes --store $S")
        #expect(repair.contains("What else there was, backups, names and pins, is not missed any more"), "\(repair)")
        try sandbox.sh("backupfs backup --label n5 --store $S; backupfs prune --store $S; backupfs check --store $S")
        #expect(try sandbox.sh(Self.names) == "n4 n5")
    }

    @Test func `a backup that was named stays when its label is lost`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.db 'create table t(id integer primary key, x text)'
            backupfs init --store $S --database $R/app.db --repository $R/r
            backupfs config set retention-counts unnamed --store $S; backupfs config set keep-last 1 --store $S
            """)
        try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-01T10:00:00Z"])
        try sandbox.sh("backupfs tag 2026-01-01_10-00-00 --add before-upgrade --store $S; rm $R/r/labels/*")
        for day in 2...4 { try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day)T10:00:00Z"]) }
        #expect(try sandbox.sh(Self.names) == "2026-01-01_10-00-00 2026-01-04_10-00-00")
    }

    @Test func `a rule removes nothing while the register cannot be read`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs pin keepme --store $S; rm $R/r/labels/*; echo rubbish > $R/r/register")
        let last = try sandbox.run(Self.addBackups)
        #expect(last.exitCode == 0 && last.errors.contains("it is not known which are pinned"), "\(last)")
        #expect(try sandbox.sh(Self.names) == "keepme n1 n2 n3")
        #expect(try sandbox.run("backupfs forget --keep-last 1 --yes --store $S").exitCode == 1)
        #expect(try sandbox.sh(Self.names) == "keepme n1 n2 n3")
    }

    /// Three safety backups are kept, plus the pinned ones: which are pinned is unknown.
    @Test func `a restore removes no safety backup while the register cannot be read`() throws {
        let sandbox = try Self.makeSandbox()
        let restores = "for i in 1 2 3 4 5; do backupfs restore keepme --yes --store $S >/dev/null; done"
        // The backup itself, and the safety backups that are kept.
        let count = "ls $R/r/snapshots | wc -l"
        try sandbox.sh(restores)
        #expect(try sandbox.sh(count) == "4")
        try sandbox.sh("rm -f $R/r/labels/*; echo rubbish > $R/r/register; \(restores)")
        #expect(try sandbox.sh(count) == "9")
    }

    private static let flip = """
        python3 -c 'import glob; p = glob.glob("r/labels/*")[0]; b = bytearray(open(p, "rb").read()); b[60] ^= 1; open(p, "wb").write(b)'
        """

    /// As `rsync --ignore-existing` copies the rest: an existing label stays.
    @Test func `a label that is written where one may still be copied keeps the pin`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs pin keepme --store $S; mkdir $R/lost; mv $R/r/labels/* $R/r/register $R/lost
            backupfs tag keepme --add t --store $S; mv $R/lost/register $R/r; cp -n $R/lost/* $R/r/labels
            """)
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -c 'map(.pinned)'") == "[true]")
        // A user can override this.
        try sandbox.sh("rm $R/r/labels/* $R/r/register; backupfs unpin keepme --store $S")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -c 'map(.pinned)'") == "[false]")
    }

    /// Both its label and the register, which lists the label, are missing: both may still be copied.
    @Test(arguments: ["delete keepme --yes", "delete keepme --now --yes", "delete --all --yes", "delete --all --now --yes"])
    func `a backup that may be pinned is not deleted`(command: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs pin keepme --store $S; cp -a $R/r $R/whole; rm $R/r/register $R/r/labels/*")
        let deletion = try sandbox.run("backupfs \(command) --store $S")
        #expect(deletion.exitCode == (command.contains("--all") ? 0 : 1), "\(deletion)")
        #expect((deletion.output + deletion.errors).contains("pinned"), "\(deletion)")
        #expect(
            try sandbox.sh(
                "cp -an $R/whole/. $R/r/ || true; diff -r --exclude=tmp --exclude=catalog.sqlite* $R/whole $R/r; \(Self.names)")
                == "keepme")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -c 'map(.pinned)'") == "[true]")
        // A user can override this.
        try sandbox.sh(
            "rm $R/r/labels/* $R/r/register; backupfs unpin keepme --store $S; backupfs delete keepme --yes --store $S")
        #expect(try sandbox.sh(Self.names) == "")
    }

    @Test func `verify writes no label that one still to be copied would have to replace`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs pin keepme --store $S; cp -a $R/r $R/whole; rm $R/r/register $R/r/labels/*; backupfs verify --all --store $S
            cp -an $R/whole/. $R/r/ || true
            """)
        #expect(try sandbox.sh("diff -r $R/r/labels $R/whole/labels; cmp $R/r/register $R/whole/register") == "")
    }

    @Test(arguments: ["verify --all", "pin keepme", "tag keepme --add z"])
    func `a label with a flipped bit keeps what it says`(command: String) throws {
        let sandbox = try Self.makeSandbox()
        // The label has another tag and a pin; the damaged one shows the first name.
        try sandbox.sh("backupfs tag keepme --add x --add y --store $S; cd $R; \(Self.flip)")
        _ = try sandbox.run("backupfs \(command) --store $S")
        _ = try sandbox.run("backupfs check --repair --yes --store $S")
        let tags = try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[0].tags | join(\" \")'")
        #expect(tags == (command.hasPrefix("tag") ? "x y z" : "x y"), "\(tags)")
        #expect(try sandbox.sh("ls $R/r/damaged | wc -l") == "1")
    }

    @Test func `a label of a later version is not replaced`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs pin keepme --store $S; cd $R
            python3 - <<'END'
            import glob, zlib
            p = glob.glob("r/labels/*")[0]; b = bytearray(open(p, "rb").read()); b[8] = 9
            b[-4:] = zlib.crc32(bytes(b[:-4])).to_bytes(4, "little"); open(p, "wb").write(b)
            END
            cp r/labels/* before
            """)
        #expect(try sandbox.run("backupfs verify --all --store $S").exitCode == 0)
        for command in ["pin keepme", "tag keepme --add z", "unpin keepme"] {
            #expect(try sandbox.run("backupfs \(command) --store $S").exitCode != 0, "\(command)")
        }
        try sandbox.sh(Self.addBackups)
        #expect(try sandbox.sh("cmp $R/before $R/r/labels/* && \(Self.names)") == "keepme n2 n3")
    }

    @Test func `a copy without register is not pruned until its user says that it is whole`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            \(Self.addBackups)
            backupfs config set retention off --store $S; mkdir $R/hidden
            for id in $(backupfs snapshots --json --store $S | jq -r '.[0].id'); do mv $R/r/snapshots/$id.snapshot $R/hidden/; done
            mv $R/r/register $R/hidden/; backupfs backup --store $S --label later
            """)
        let prune = try sandbox.run("backupfs prune --store $S")
        #expect(prune.exitCode == 1 && prune.errors.contains("the register of backups is missing"), "\(prune)")
        #expect(try sandbox.run("backupfs check --store $S").output.contains("the register of backups is missing"))
        try sandbox.sh("mv $R/hidden/*.snapshot $R/r/snapshots/; backupfs verify --all --store $S")
        // Everything is present; no register is created automatically.
        try sandbox.sh(
            "backupfs check --repair --yes --store $S || [ $? = 1 ]; backupfs check --store $S; backupfs prune --store $S")
        try sandbox.sh("backupfs verify --all --store $S")
    }
}

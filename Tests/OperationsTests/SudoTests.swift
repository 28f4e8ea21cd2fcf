import TestSupport
import Testing

/// Root works in the store of another user, who continues to use it.
@Suite(.enabled(if: Machine.isRoot && Machine.hasTool("setpriv"), "NOT TESTED: files of other users need root and setpriv"))
struct SudoTests {
    private static let user = "setpriv --reuid=65534 --regid=65534 --clear-groups"

    private static func prepare() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; chown -R 65534:65533 $R; chmod 755 $R $R/bin/*
            """)
        return sandbox
    }

    @Test(arguments: ["SUDO_UID=65534", "BACKUPFS_TRUSTED_STORES=$S"])
    func `what root makes in a user's store is the user's`(permission: String) throws {
        let sandbox = try Self.prepare()
        try sandbox.sh(
            """
            export \(permission); cd $R
            backupfs backup --label one --store $S; printf other > $S/app/photos/one.jpg; printf new > $S/app/photos/new.jpg
            chown 65534:65533 $S/app/photos/*; backupfs backup --label two --store $S; backupfs tag two --add x --store $S
            backupfs restore one --yes --store $S; backupfs export one --json -o $R/one.json --store $S
            backupfs config set undelete-days 3 --store $S; backupfs delete two --yes --store $S; backupfs prune --store $S
            rm -rf $S/catalog*; backupfs check --repair --yes --store $S; backupfs verify one --store $S
            """)
        #expect(try sandbox.sh("find $S $R/one.json ! -uid 65534") == "")
        let output =
            try sandbox.sh(
                """
                \(Self.user) backupfs backup --label three --store $S >/dev/null; \(Self.user) backupfs restore one --yes --store $S >/dev/null
                \(Self.user) backupfs snapshots --store $S | awk 'NR > 1 { print $1 }'; find $S ! -uid 65534; cat $S/app/photos/one.jpg
                """)
        #expect(output == "one\nthree\none", "\(output)")
    }

    /// A file of root's that a link points to, or that already exists, stays root's.
    @Test func `nothing that was there before is given away`() throws {
        let sandbox = try Self.prepare()
        try sandbox.sh(
            """
            mkdir $R/root; echo secret > $R/root/secret; chmod 700 $R/root
            touch $S/restore/last.txt; chown 0 $S/restore $S/restore/last.txt
            ln -s $R/root/secret $R/one.json; ln -s $R/root/none $S/log || true; mv $S/repository/tmp $R/root/tmp; ln -s $R/root/tmp $S/repository/tmp
            chown -R 0:0 $R/root
            """)
        _ = try sandbox.run(
            """
            export SUDO_UID=65534; backupfs backup --label one --store $S; rm $S/repository/tmp; mkdir $S/repository/tmp; chown 65534 $S/repository/tmp
            backupfs backup --label one --store $S; backupfs export one --json -o $R/one.json --store $S
            """)
        let given = try sandbox.sh("find $R/root $S/restore $S/restore/last.txt ! -uid 0; cat $R/root/secret")
        #expect(given == "secret", "\(given)")
        let list = try sandbox.sh("backupfs snapshots --store $S | awk 'NR > 1 { print $1 }'", ["SUDO_UID": "65534"])
        #expect(list == "one", "\(list)")
    }
}

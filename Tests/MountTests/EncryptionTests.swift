import TestSupport
import Testing

/// A mount of an encrypted repository: the same files, and the password is stored nowhere.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct EncryptionTests {
    private func withEncryptedMount(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.write("xyzzy plugh\n", to: "password")
            sandbox.variables["BACKUPFS_PASSWORD_FILE"] = "\(sandbox.path)/password"
            try sandbox.sh("backupfs init --encrypt --sample --store $S")
            try sandbox.makePasswordCheap(sandbox("password"))
            try sandbox.mount()
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    @Test func `files, archives and checksums are as ever`() throws {
        try withEncryptedMount { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/first
                cd $M/snapshots/first; sha256sum --quiet --strict -c SHA256SUMS; unzip -tqq archive.zip
                cmp <(unzip -p archive.zip export.json) export.json; cmp <(tar -xOf archive.tar export.json) export.json
                # From anywhere in it, in pieces of any size.
                dd if=archive.zip of=$R/pieces.zip bs=777 status=none; cmp $R/pieces.zip archive.zip
                cmp <(tail -c 5000 archive.zip) <(tail -c 5000 $R/pieces.zip)
                """)
            let live = try sandbox.liveExport()
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'DELETE FROM expenses WHERE id % 3 = 0'")
            try sandbox.sh("cp $M/snapshots/first/archive.zip $M/restore/")
            #expect(try sandbox.liveExport() == live)
            // An exported archive equals the one in the mount, byte for byte.
            try sandbox.sh(
                "cp $M/snapshots/first/archive.zip $R/first.zip; backupfs export first --zip -o $R/again.zip --store $S >/dev/null"
            )
            try sandbox.sh("cmp $R/first.zip $R/again.zip")
        }
    }

    @Test func `neither password nor key can be seen from outside`() throws {
        try withEncryptedMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/first")
            let daemon = try #require(sandbox.daemons.first)
            let seen = Job.read("/proc/\(daemon)/cmdline") + Job.read("/proc/\(daemon)/environ")
            // Only root can read the environment of a process that has a key.
            #expect(!seen.contains("xyzzy") && seen.contains("BACKUPFS_PASSWORD_FILE") == Machine.isRoot)
            // The pipe with the key is closed: the open one is that of the signals.
            let key = try sandbox.sh("sed -n 's/^wrapped: //p' $S/repository/key")
            #expect(key.count == 120)
            #expect(try sandbox.run("grep -raF -e xyzzy -e plugh $S").exitCode == 1)
            // Names and contents are in the app's own folder, and nowhere in the repository.
            #expect(try sandbox.run("grep -raqF -e 'export.json' -e 'expenses' -e first $S/repository").exitCode == 1)
            #expect(try sandbox.sh("grep -c encrypted $M/README.txt") == "1")
        }
    }

    @Test func `a mount goes on when the password changes, and needs the new one then`() throws {
        try withEncryptedMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/first; echo new > $R/new; backupfs passwd --store $S --new-password-file $R/new")
            try sandbox.sh("mkdir $M/snapshots/second; cat $M/snapshots/first/export.json >/dev/null")
            try sandbox.unmount()
            try sandbox.fails("backupfs mount --store $S $M", saying: "the password is wrong", exitCode: 12)
            try sandbox.fails("backupfs mount -f --store $S $M", saying: "the password is wrong", exitCode: 12)
            #expect(sandbox.mounts == [])
            // As mount(8) would call it for a line of /etc/fstab.
            try sandbox.sh("cd /; backupfs $S $M -o rw,password_file=$R/new", ["BACKUPFS_PASSWORD_FILE": ""])
            #expect(try sandbox.names("snapshots").contains("second"))
        }
    }

    @Test func `damage in a sealed chunk is an error of its files only`() throws {
        try withEncryptedMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/first; find $M/snapshots/first -type f -exec cat {} + >/dev/null")
            try sandbox.unmount()
            try Damage.flip(Damage.largestPack(of: sandbox.storePath + "/repository"))
            try sandbox.mount()
            let result = try sandbox.run(
                "cd $M/snapshots/first; for f in $(find . -type f); do cat $f >/dev/null || echo bad; done")
            let bad = result.text.split(separator: "\n").filter { $0 == "bad" }.count
            #expect(bad >= 1 && bad <= 5, "\(result.text)")
            #expect(result.text.contains("Input/output error"))
            try sandbox.sh("cat $M/snapshots/first/manifest.json | jq .app >/dev/null")
        }
    }

    /// `check`, `forget`, `prune` and `check --repair` with sealed packs, while they are mounted.
    @Test func `sealed packs are checked, thinned out and repaired`() throws {
        try withEncryptedMount { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/first
                sqlite3 $S/app/database.sqlite "update expenses set notes = 'second' where id % 50 = 0"; mkdir $M/snapshots/second
                sqlite3 $S/app/database.sqlite "delete from expenses where id % 2 = 0"; mkdir $M/snapshots/third
                sha256sum $M/snapshots/third/export.json $M/snapshots/third/archive.zip $M/snapshots/second/database.sqlite > $R/sums
                backupfs check --read-data --store $S
                """)
            let before = try #require(Int(sandbox.sh("du -sb $S/repository/packs | cut -f1")))
            try sandbox.sh(
                "backupfs forget first --yes --store $S; backupfs prune --now --store $S; sha256sum --quiet -c $R/sums")
            try sandbox.sh("backupfs forget second --yes --store $S; backupfs prune --now --max-unused 0 --store $S")
            let after = try #require(Int(sandbox.sh("du -sb $S/repository/packs | cut -f1")))
            #expect(after < before, "\(before) bytes before, \(after) after")
            try sandbox.sh("grep third $R/sums | sha256sum --quiet -c; backupfs check --read-data --store $S")
            // The catalog is rebuilt from sealed indexes.
            try sandbox.unmount()
            try sandbox.sh(
                "rm -f $S/repository/catalog*; backupfs check --repair --yes --store $S; backupfs verify third --store $S")
            try sandbox.mount()
            try sandbox.sh("grep third $R/sums | sha256sum --quiet -c; mkdir $M/snapshots/fourth; backupfs check --store $S")
        }
    }
}

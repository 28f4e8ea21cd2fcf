import BackupCore
import BackupRepository
import Foundation
import Glibc
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Backups written into folders, compared with the originals by find, stat and sha256sum.
struct FolderRestoreTests {
    /// All properties of the files below the current folder.
    private static let describe = """
        find . -mindepth 1 -type d -printf 'd %P %m %T@\\n' | sort; find . -type f -printf 'f %P %m %s %T@\\n' | sort
        find . -type l -printf 'l %P %l %T@\\n' | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum
        """

    private static func backUp(_ store: Store, _ label: String) throws -> Snapshot {
        try BackupOperation(store: store).run(label: label, tag: nil, progress: nil).snapshot
    }

    @Test func `every kind of file comes back`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos; : > empty; printf x > $'odd\\nname \\\\ \\xff'; mkdir -p deep/a/b/c none; head -c 300000 /dev/urandom > deep/a/b/c/noise
            head -c 18000000 /dev/urandom > big; cat big big > twice; head -c 5000000 /dev/zero > zeros; seq 200000 > text; chmod 4751 text; chmod 400 big
            ln -s nowhere dangling; ln -s ../one.jpg deep/up; touch -h -d '1999-09-09 09:09:09.123456789' dangling
            for i in $(seq 700); do printf "$i" > none/f$i; done; mkdir -p many; for i in $(seq 40); do mkdir many/$i; printf "$i" > many/$i/x; done
            touch -d '1969-12-31 23:59:58.5' one.jpg; chmod 555 deep/a; touch -d '2001-01-01 01:01:01.000000001' deep/a deep none many
            """)
        let snapshot = try Self.backUp(store, "one")
        let original = try sandbox.sh("cd $S/app/photos; \(Self.describe)")
        #expect(original.contains("\nf text 4751 "))
        // Owners are not kept, so a setuid bit does not come back.
        let source = original.replacing("\nf text 4751 ", with: "\nf text 751 ")
        for target in ["new", "parent/of/new", "there"] {
            if target == "there" { try sandbox.sh("mkdir $R/there") }
            let report = try FolderRestore(store: store).run(snapshot, to: sandbox(target), progress: nil)
            let totals = snapshot.record.root.totals
            #expect(report.fileCount == totals.fileCount && report.byteCount == totals.byteCount && report.failureCount == 0)
            #expect(try sandbox.sh("cd $R/\(target)/media; \(Self.describe)") == source)
            #expect(
                try sandbox.sh("ls -A $R/\(target) | xargs")
                    == "changes.json data database.sqlite export.json manifest.json media schema.json")
            #expect(try sandbox.sh("sqlite3 $R/\(target)/database.sqlite 'select count(*) from photos'") == "3")
            #expect(
                try sandbox.sh(
                    "python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))[\"photos\"]))' $R/\(target)/export.json")
                    == "3")
            #expect(try sandbox.sh("backupfs export one -o - --store $S | cmp - $R/\(target)/export.json && echo same") == "same")
        }
        try sandbox.sh("chmod -R u+w $R")
    }

    @Test func `U-B6: a folder or a file of a backup is written alone`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh("cd $S/app/photos; mkdir -p 'a b/c'; echo x > 'a b/c/one.txt'; echo y > 'a b/two'; ln -s two 'a b/link'")
        _ = try Self.backUp(store, "one")
        let original = try sandbox.sh("cd '\(sandbox.storePath)/app/photos/a b'; \(Self.describe)")
        let restore = "backupfs restore --store $S"
        try sandbox.sh("\(restore) 'one:media/a b' --target $R/folder; \(restore) 'latest:media/a b/c/one.txt' --target $R/file")
        #expect(try sandbox.sh("cd $R/folder; \(Self.describe)") == original)
        #expect(try sandbox.sh("cd $R/file; find . -type f; cat one.txt") == "./one.txt\nx")
        let planned = try sandbox.sh("\(restore) 'one:media/a b/' --target $R/none --dry-run --json | jq -c '[.files, .bytes]'")
        #expect(planned == "[2,4]")
        try sandbox.sh("\(restore) one:data --target $R/data; jq -e length $R/data/photos.json >/dev/null")
        try sandbox.sh("test ! -e $R/none")
        try sandbox.fails("\(restore) one:media/none --target $R/none", saying: "one:media/none", exitCode: 1)
        try sandbox.fails("\(restore) one:manifest.json/x --target $R/none", saying: "not a folder", exitCode: 1)
        try sandbox.fails("\(restore) none:media --target $R/none", saying: "no such backup", exitCode: 1)
        try sandbox.sh("test ! -e $R/none")
        // The app gets whole backups only, and the message says what to do.
        try sandbox.fails("\(restore) one:media --yes", saying: "--target DIR", exitCode: 2)
        // A name with a colon is a name.
        _ = try Self.backUp(store, "one:media")
        try sandbox.sh("\(restore) one:media --target $R/whole; test -e $R/whole/manifest.json")
    }

    @Test func `a folder that holds anything is left alone`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let snapshot = try Self.backUp(store, "one")
        try sandbox.sh(
            "mkdir $R/full; echo mine > $R/full/mine; echo file > $R/file; mkdir $R/near; mkdir $R/near/.backupfs-restore-mine")
        for (target, code) in [("full", BackupError.Code.notEmpty), ("file", .notADirectory), ("near", .notEmpty)] {
            #expect(
                failure { _ = try FolderRestore(store: store).run(snapshot, to: sandbox(target), progress: nil) }?.code == code)
            #expect(failure { try FolderRestore(store: store).check(snapshot, to: sandbox(target)) }?.code == code)
        }
        #expect(
            try sandbox.sh("cat $R/full/mine $R/file; ls -A $R/full $R/near | xargs")
                == "mine\nfile\n\(sandbox.path)/full: mine \(sandbox.path)/near: .backupfs-restore-mine")
    }

    /// The remains of a killed restore, and the work folder of a running one.
    @Test func `leftovers are swept, and no work of another process is`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let snapshot = try Self.backUp(store, "one")
        let token = RandomToken.make()
        try sandbox.sh(
            "mkdir -p $R/out/.backupfs-restore-\(token)/media; : > $R/out/.backupfs-restore-\(token).lock; echo half > $R/out/.backupfs-restore-\(token)/media/x"
        )
        _ = try FolderRestore(store: store).run(snapshot, to: sandbox("out"), progress: nil)
        #expect(
            try sandbox.sh("ls -A $R/out | xargs")
                == "changes.json data database.sqlite export.json manifest.json media schema.json")

        let running = RandomToken.make()
        try sandbox.sh("mkdir -p $R/busy/.backupfs-restore-\(running); echo half > $R/busy/.backupfs-restore-\(running)/x")
        let lock = try AdvisoryLock(path: sandbox("busy/.backupfs-restore-\(running).lock"))
        try withExtendedLifetime(lock) {
            _ = try FolderRestore(store: store).run(snapshot, to: sandbox("busy"), progress: nil)
            #expect(try sandbox.sh("cat $R/busy/.backupfs-restore-\(running)/x") == "half")
        }
    }

    @Test func `what is damaged is left out and reported, and the rest is there`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh(
            "cd $S/app/photos; head -c 9000000 /dev/urandom > big; head -c 200000 /dev/urandom > 2024/small; seq 1000 > text")
        let snapshot = try Self.backUp(store, "one")
        // Both files are uncompressed in a pack: some of their bytes are located there and changed.
        try sandbox.sh(
            """
            python3 - <<'END'
            import os, glob
            store = os.environ["S"]
            for name, offset in [("big", 5_000_000), ("2024/small", 100_000)]:
                with open(f"{store}/app/photos/{name}", "rb") as file:
                    file.seek(offset); wanted = file.read(64)
                hits = 0
                for path in glob.glob(f"{store}/repository/packs/*/*.pack"):
                    data = open(path, "rb").read()
                    at = data.find(wanted)
                    if at >= 0:
                        hits += 1
                        os.chmod(path, 0o600)
                        with open(path, "r+b") as pack:
                            pack.seek(at); pack.write(bytes([data[at] ^ 1]))
                assert hits == 1, name
            END
            """)
        let report = try FolderRestore(store: try Store.open(sandbox.storePath)).run(snapshot, to: sandbox("out"), progress: nil)
        #expect(report.failureCount == 2)
        #expect(report.failures.map(\.path) == ["media/2024/small", "media/big"])
        #expect(report.failures.allSatisfy { $0.error.code == .repositoryDamaged && $0.error.message.contains("chunk") })
        #expect(
            try sandbox.sh("diff -r $S/app/photos $R/out/media || true")
                == "Only in \(sandbox.storePath)/app/photos/2024: small\nOnly in \(sandbox.storePath)/app/photos: big")
        let command = try sandbox.run("backupfs restore one --target $R/second --store $S")
        #expect(
            command.exitCode == 1 && command.errors.contains("media/big: ") && command.errors.contains("See: backupfs check"))
        #expect(try sandbox.sh("ls $R/second/media | xargs") == "2024 one.jpg text")
    }

    /// A missing pack damages only its own files, not those beside them in a batch.
    @Test func `a missing pack`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        let first = try Self.backUp(store, "one")
        let packs = try sandbox.sh("cd $S/repository/packs; find . -name '*.pack' | sort")
        try sandbox.sh("cd $S/app/photos; head -c 100000 /dev/urandom > noise; printf new > 2024/new-and-longer-than-a-literal")
        let second = try Self.backUp(store, "two")
        let added = try sandbox.sh(
            "cd $S/repository/packs; find . -name '*.pack' -size +90k | sort | (grep -vxF '\(packs)' || true)")
        #expect(added.split(separator: "\n").count == 1)
        try sandbox.sh("rm $S/repository/packs/\(added)")
        let damaged = try Store.open(sandbox.storePath)
        #expect(try FolderRestore(store: damaged).run(first, to: sandbox("first"), progress: nil).failureCount == 0)
        let report = try FolderRestore(store: damaged).run(second, to: sandbox("second"), progress: nil)
        #expect(report.failures.contains { $0.path == "media/noise" })
        #expect(try sandbox.sh("cat $R/second/media/one.jpg $R/second/media/2024/two.jpg") == "onetwo")
    }

    @Test func `no space`() throws {
        let sandbox = try Sandbox()
        let store = try sandbox.makeDiary()
        try sandbox.sh("head -c 3000000 /dev/urandom > $S/app/photos/big; mkdir $R/disk")
        let snapshot = try Self.backUp(store, "one")
        guard try sandbox.run("mount -t tmpfs -o size=1m tmpfs $R/disk").exitCode == 0 else { return }
        defer { _ = try? sandbox.run("umount $R/disk") }
        #expect(
            failure { _ = try FolderRestore(store: store).run(snapshot, to: sandbox("disk/out"), progress: nil) }?.code
                == .noSpace)
        #expect(failure { try FolderRestore(store: store).check(snapshot, to: sandbox("disk/x/y")) }?.code == .noSpace)
        #expect(try sandbox.sh("ls -A $R/disk") == "")
    }
}

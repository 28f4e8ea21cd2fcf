import TestSupport
import Testing

/// A file system with space but without free inodes, as after millions of small files: operations that free space work, all
/// others work or report what is missing, and nothing is lost.
@Suite(
    .enabled(if: Machine.isRoot, "NOT TESTED: a file system with few inodes needs root to mount one"), .rotating(oneIn: 3))
struct NoInodesTests {
    /// On a file system of 400 inodes: two backups of the photo diary that differ in a photo, one removed backup, and an archive
    /// to restore.
    private final class Disk {
        let sandbox: Sandbox
        let environment: [String: String]

        init() throws {
            sandbox = try Sandbox()
            environment = ["S": sandbox("disk/store"), "D": sandbox("disk"), "BACKUPFS_SCHEDULE": "off"]
            try #require(try sandbox.run("mkdir $R/disk; mount -t tmpfs -o size=100m,nr_inodes=400 tmpfs $R/disk").exitCode == 0)
            try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
            try sh(
                """
                backupfs init --store $S --app $R/diary.yaml
                \(PhotoDiary.fill)
                backupfs backup --label one --store $S; printf four > four.jpg; rm one.jpg
                sqlite3 $S/app/database.sqlite "insert into photos values (4,'four.jpg',null)"
                backupfs backup --label gone --store $S; printf five > five.jpg; backupfs backup --label two --store $S
                for name in one two gone; do backupfs restore $name --target $R/references/$name --store $S; done
                backupfs delete gone --yes --store $S; mv $S $R/prepared
                mkdir -p $R/new/media; cd $R/new; for i in 1 2 3 4 5 6; do echo $i > media/$i.jpg; done
                echo '{"metadata": {"createdAt": "2026-01-11T14:30:00Z", "appVersion": "1.0", "schemaVersion": 1}, "photos": []}' > export.json
                zip -qr $R/new.zip export.json media
                """)
        }

        deinit { _ = try? sandbox.run("umount -l $R/disk") }

        @discardableResult
        func sh(_ script: String) throws -> String { try sandbox.sh(script, environment) }

        /// The prepared store on a file system with this many free inodes.
        func prepare(freeInodes: Int) throws {
            try sh(
                """
                rm -rf $D/store $D/filler $D/out; cp -a $R/prepared $S; mkdir $D/filler
                python3 -c "
                import os, sys
                count = os.statvfs(sys.argv[1]).f_ffree - \(freeInodes)
                for number in range(count): open(f'{sys.argv[1]}/filler/{number}', 'w').close()" $D
                [ $(stat -f -c %d $D) = \(freeInodes) ]
                """)
        }

        func run(_ command: String) throws -> Job.Result { try sandbox.run("backupfs \(command) --store $S", environment) }

        /// With inodes again, backups are unchanged, and the store works.
        func expectWhole(_ names: [String], _ place: Comment) throws {
            try sh("rm -rf $D/filler")
            for name in names {
                let same = try sandbox.run(
                    """
                    rm -rf $R/out; backupfs restore \(name) --target $R/out --store $S && diff -r --no-dereference $R/references/\(name) $R/out
                    """, environment)
                #expect(same.exitCode == 0, "\(place): \(same.output)\(same.errors)")
            }
            for command in ["backup --label next", "check --read-data"] {
                let result = try run(command)
                #expect(result.exitCode == 0, "\(place): \(command): \(result.output)\(result.errors)")
            }
        }
    }

    private static let inodeCounts = Rounds.part(of: [0, 2, 4, 12], oneIn: 4)

    /// Commands that free space, or only read.
    @Test(
        arguments: [
            "delete two --yes", "delete two --now --yes", "forget --keep-last 1 --yes", "prune --max-unused 0",
            "prune --now --max-unused 0",
            "check --read-data", "snapshots", "status",
        ])
    func `what frees space or only looks works without free inodes`(command: String) throws {
        let disk = try Disk()
        for count in Self.inodeCounts {
            try disk.prepare(freeInodes: count)
            let result = try disk.run(command)
            let place: Comment = "\(command), \(count) free inodes: \(result.output)\(result.errors)"
            #expect(result.exitCode == 0, place)
            let free = try #require(Int(disk.sh("stat -f -c %d $D")))
            if command.contains("--now") { #expect(free > count, place) }
            var names = ["one", "two"]
            if command.hasPrefix("delete") { names = ["one"] }
            if command == "delete two --yes" || command.hasPrefix("forget") {
                #expect(try disk.run("undelete \(command.hasPrefix("forget") ? "one" : "two")").exitCode == 0, place)
                names = ["one", "two"]
            }
            try disk.expectWhole(names, place)
        }
    }

    /// Commands that need files: each works, or reports that no more can be created and has changed nothing.
    @Test(
        arguments: [
            "backup --label new", "restore $R/new.zip --yes", "restore one --yes", "restore one --target $D/out", "undelete gone",
            "check --repair --yes", "verify --all", "export one --zip -o $D/one.zip",
        ])
    func `what needs files works or says that there can be no more`(command: String) throws {
        let disk = try Disk()
        try disk.sh("rm -rf $S; cp -a $R/prepared $S")
        let old = try disk.sh(PhotoDiary.describe)
        #expect(try disk.run(command).exitCode == 0)
        let new = try disk.sh(PhotoDiary.describe)
        for count in Self.inodeCounts {
            try disk.prepare(freeInodes: count)
            let result = try disk.run(command)
            let place: Comment = "\(command), \(count) free inodes: \(result.output)\(result.errors)"
            if result.exitCode != 0 {
                #expect(result.exitCode == 1 && result.errors.contains("can hold no more files"), place)
                #expect(!result.errors.contains("Free some space"), place)
            }
            try disk.sh("rm -rf $D/filler")
            #expect(try disk.sh(PhotoDiary.describe) == (result.exitCode == 0 ? new : old), place)
            #expect(try disk.sh("ls -A $D/out 2>/dev/null || true") == "" || result.exitCode == 0, place)
            try disk.expectWhole(["one", "two"], place)
        }
    }

    @Test func `a store that cannot be made leaves nothing`() throws {
        let disk = try Disk()
        for count in Self.inodeCounts {
            try disk.prepare(freeInodes: count)
            let result = try disk.sandbox.run("backupfs init --store $D/new --app $R/diary.yaml", disk.environment)
            let place: Comment = "\(count) free inodes: \(result.output)\(result.errors)"
            if result.exitCode != 0 {
                #expect(result.errors.contains("can hold no more files"), place)
                #expect(try disk.sh("ls -d $D/new 2>/dev/null || true") == "", place)
            }
            try disk.sh("rm -rf $D/new")
        }
    }
}

import Glibc
import TestSupport
import Testing

/// The machine that was given up still runs, and has the repository mounted: a store on a new machine that continues its backups
/// takes nothing away from it.
@Suite(
    .enabled(if: Machine.isRoot, "NOT TESTED: another host needs root to have a boot ID of its own"),
    .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct MountedElsewhereTests {
    /// The old machine with its mount, and the new one.
    private final class Machines {
        let world: World
        let mountpoint: String
        private let new: OtherHost
        private let mount: Job
        /// MNT_DETACH, which Swift's module of libc does not have.
        private static let lazily: Int32 = 2

        init() throws {
            try Machine.requireFUSE()
            world = try World(copying: RepositoryExpectation.backups.get())
            // Of another time: the newest packs on a share are never pruned.
            try world.shell("find $S/repository/packs -type f -exec touch -d '2 hours ago' {} +")
            mountpoint = try world.folder("mnt")
            new = try OtherHost("new", folder: world.folder("hosts") + "/new")
            let layer = try TwoHosts.environment(world, log: world.logPath)
            mount = try world.start([Machine.binaryPath(), "mount", "-f", "--store", world.storePath, mountpoint], layer)
            for _ in 0..<6_000 where !isMounted { usleep(5_000) }
            try #require(isMounted)
        }

        deinit {
            if isMounted { umount2(mountpoint, Self.lazily) }
            // Ends with its mount; one that does not is killed.
            _ = try? mount.wait(limitSeconds: 60)
        }

        private var isMounted: Bool { Job.read("/proc/self/mounts").contains(" \(mountpoint) ") }

        func unmount() throws -> Job.Result {
            #expect(umount2(mountpoint, 0) == 0)
            return try mount.wait(limitSeconds: 60)
        }

        func onOld(_ arguments: [String]) throws -> String {
            try world.backupfs(arguments, TwoHosts.environment(world, log: "\(world.logPath)-of-old")).requireSuccess()
        }

        @discardableResult
        func onNew(_ arguments: [String]) throws -> String {
            let layer = try TwoHosts.environment(world, log: "\(world.logPath)-of-new")
            let program = [try Machine.binaryPath()] + arguments + ["--store", "\(world.path)/new"]
            return try world.run(new.command(["env"] + layer.map { "\($0.key)=\($0.value)" } + program)).requireSuccess()
        }
    }

    @Test func `a store on a new machine leaves a mount of the old one whole`() throws {
        let machines = try Machines()
        let world = machines.world
        _ = try machines.onOld(["pin", "first"])
        let source = try #require(machines.onOld(["status", "--json"]).firstMatch(of: /"source": "([0-9a-f]+)"/)).output.1
        func mounted(_ name: String) throws -> String {
            try world.run([
                "diff", "-r", "\(world.path)/references/\(name)/media", "\(machines.mountpoint)/snapshots/\(name)/media",
            ]).text
        }
        #expect(try mounted("third") == "")

        try machines.onNew(["init", "--repository", "\(world.storePath)/repository", "--adopt", String(source.prefix(8))])
        try machines.onNew(["restore", "third", "--yes"])
        #expect(try world.shell("diff -r $W/references/third/media $W/new/app/photos && echo same") == "same")
        try world.shell("printf new > $W/new/app/photos/new.jpg")
        try machines.onNew(["backup", "--label", "new"])
        try machines.onNew(["forget", "--keep-last", "1", "--yes"])
        try machines.onNew(["prune", "--max-unused", "0"])

        // What is pinned stayed, and what was forgotten can be brought back, on the old machine too.
        #expect(try mounted("first") == "")
        #expect(try world.shell("cat \(machines.mountpoint)/snapshots/new/media/new.jpg") == "new")
        for name in ["second", "third"] {
            _ = try machines.onOld(["undelete", name])
            #expect(try mounted(name) == "")
        }
        // The old machine goes on backing up, through its mount and by command.
        try world.shell("printf old > $S/app/photos/old.jpg; mkdir \(machines.mountpoint)/snapshots/old")
        #expect(try world.shell("cat \(machines.mountpoint)/snapshots/old/media/old.jpg") == "old")
        _ = try machines.onOld(["backup", "--label", "older"])
        let own = try world.shell(
            "\(try Machine.binaryPath()) snapshots --json --store $S | jq -r '[.[] | select(.own) | .name] | join(\" \")'")
        #expect(own == "old older")
        #expect(try machines.onNew(["ls", "old:media"]).contains("old.jpg"))
        for name in ["first", "second", "third"] {
            #expect(try world.flaw(of: name, reference: "\(world.path)/references/\(name)") == nil)
        }
        // What one of them forgets is never what the other has made.
        try machines.onNew(["forget", "--keep-last", "1", "--yes"])
        #expect(try world.backupNames().isSuperset(of: ["first", "new", "old", "older"]))
        let end = try machines.unmount()
        #expect(end.exitCode == 0, "\(end.text)")
        for arguments in [["check", "--read-data"], ["verify", "--all"]] {
            _ = try machines.onOld(arguments)
            try machines.onNew(arguments)
        }
    }
}

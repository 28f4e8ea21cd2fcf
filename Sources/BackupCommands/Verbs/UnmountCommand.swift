import ArgumentParser
import BackupCore
import Export
import FUSEBridge
import Glibc
import Operations
import SystemIO

struct UnmountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "umount",
        abstract: "Unmount.",
        discussion: """
            Without a mountpoint, wherever the store is mounted. Returns when the mount has ended, and with it a backup that mkdir has begun.

            Example:
              backupfs umount /mnt/backups
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: "Where it is mounted.", completion: .directory)
    var mountpoint: String?

    func run() throws {
        let paths = try? StorePaths(root: store.path())
        let mounted = try recorded(paths)
        guard let target = mountpoint ?? mounted else {
            throw BackupError(.notFound, "the store is not mounted", path: paths?.root, remedy: "Name the mountpoint.")
        }
        let server = try MountServer.of(target)
        // A mount that cannot be asked may be the one that the store tells of.
        let isRecorded = mounted.map { FileSystem.absolutePath($0) == FileSystem.absolutePath(target) } ?? false
        try Unmounter.unmount(target)
        // The process that served it ends by itself; whoever mounts again right away, or takes a disk away, must not meet it.
        let hasEnded = EndOfMount(server: server, storePath: server?.storePath ?? (isRecorded ? paths?.root : nil)).wait()
        report(target, hasEnded: hasEnded)
        // A script takes the disk away next.
        if !hasEnded { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    /// Where the store says that it is mounted. A store of another user, who may have written anything there, is not asked where a mountpoint is named.
    private func recorded(_ paths: StorePaths?) throws(BackupError) -> String? {
        guard let paths, let recorded = MountRecord.mountpoint(paths) else { return nil }
        do {
            try paths.requireTrustedStore()
        } catch {
            guard mountpoint != nil else { throw error }
            return nil
        }
        return recorded
    }

    private func report(_ target: String, hasEnded: Bool) {
        if output.json {
            let document = OrderedJSON.members([
                "message_type": .text("unmounted"), "mountpoint": .text(target), "ended": .boolean(hasEnded),
            ])
            Terminal.say(document.compactText + [10])
        }
    }
}

import ArgumentParser
import BackupCore
import FUSEBridge
import Formats
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
        // A mount that cannot be queried may be the one in the store's record.
        let isRecorded = mounted.map { FileSystem.absolutePath($0) == FileSystem.absolutePath(target) } ?? false
        try Unmounter.unmount(target)
        // The process that served it ends by itself; it must be gone before the next mount, or before a disk is removed.
        let hasEnded = UnmountWait(server: server, storePath: server?.storePath ?? (isRecorded ? paths?.root : nil)).wait()
        report(target, hasEnded: hasEnded)
        // A script may remove the disk next.
        if !hasEnded { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    /// The mountpoint in the store's record. Another user's store, whose files are not trusted, is not read if a mountpoint is
    /// given.
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
            Terminal.write(jsonLine: ["message_type": "unmounted", "mountpoint": target, "ended": hasEnded])
        }
    }
}

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

    private static let noticeMilliseconds = 1_000
    /// So long a process may take to end that has nothing to finish.
    private static let endingMilliseconds = 10_000

    func run() throws {
        let paths = try? StorePaths(root: store.path())
        let mounted = try recorded(paths)
        guard let target = mountpoint ?? mounted else {
            throw BackupError(.notFound, "the store is not mounted", path: paths?.root, remedy: "Name the mountpoint.")
        }
        try Unmounter.unmount(target)
        // The process that served it ends by itself; whoever mounts again right away must not meet it.
        if let paths, mounted != nil {
            var waitedMilliseconds = 0
            while MountRecord.mountpoint(paths) == mounted {
                usleep(5_000)
                waitedMilliseconds += 5
                if waitedMilliseconds == Self.noticeMilliseconds, let operation = try? RunningOperation.of(storeAt: paths.root) {
                    Terminal.complain("It is unmounted, and finishes what runs: \(operation.text)")
                }
                guard waitedMilliseconds % Self.endingMilliseconds == 0 else { continue }
                if try RunningOperation.of(storeAt: paths.root) == nil { break }
            }
        }
        report(target)
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

    private func report(_ target: String) {
        if output.json {
            let document = OrderedJSON.members(["message_type": .text("unmounted"), "mountpoint": .text(target)])
            Terminal.say(document.compactText + [10])
        }
    }
}

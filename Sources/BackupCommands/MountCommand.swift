import ArgumentParser
import BackupCore
import FUSEBridge
import Operations
import SystemIO
import VirtualTree

struct MountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Mount the app's data and its backups as a folder.",
        discussion: """
            Returns when the mount is ready. Without --store the default store is mounted, and made on first use.

            Example:
              backupfs mount /mnt/backups
              backupfs /mnt/backups -o allow_other,ro
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: [.short, .long], help: "Stay in the foreground until it is unmounted.")
    var foreground = false
    @Option(
        name: .customShort("o"),
        help: ArgumentHelp("Mount options, separated by commas, as in fstab; store=DIR names the store.", valueName: "options"))
    var options: [String] = []
    @Argument(help: "The empty folder to mount on.")
    var mountpoint: String

    func run() throws {
        let channel = BackgroundMount.readinessChannel()
        do {
            try mount(channel)
        } catch {
            // In the background nobody reads standard error: whoever started this is told.
            if let channel, let error = error as? BackupError { channel.report(error) }
            throw error
        }
    }

    private func mount(_ channel: ReadinessChannel?) throws {
        let mountOptions = try MountOptions(parsing: options)
        try FUSEAvailability.check(mountOptions)
        let path = try StoreLocation.resolve(store.store ?? mountOptions.storePath)
        if !foreground, channel == nil {
            _ = try Mountpoint.prepare(mountpoint, options: mountOptions)
            try makeDefaultStore(path, mountOptions)
            try launch(storePath: path)
            return
        }
        try makeDefaultStore(path, mountOptions)
        let store = try Store.open(path)
        let lock = try MountRecord.lock(store.paths)
        defer { withExtendedLifetime(lock) {} }
        let services = try StoreTreeServices(store: store)
        let tree = VirtualTree(services: services, repository: store.repository, isSharedWithOthers: mountOptions.allowsOthers)
        let session = try MountSession(tree: tree, mountpoint: mountpoint, options: mountOptions) { request, error in
            Terminal.complain("backupfs: \(request): \(error.description)")
        }
        try MountRecord.write(store.paths, mountpoint: session.mountpoint)
        defer { MountRecord.remove(store.paths) }
        _ = try session.run { () throws(BackupError) in try channel?.reportReady() }
    }

    /// The default store comes into being with its first mount; one that was named must be there.
    private func makeDefaultStore(_ path: String, _ options: MountOptions) throws {
        guard store.store == nil, options.storePath == nil, !FileSystem.exists("\(path)/store.yaml") else { return }
        do {
            _ = try StoreCreation().create(at: path)
        } catch {
            // Another process may have made it just now.
            guard error.code == .alreadyExists, FileSystem.exists("\(path)/store.yaml") else { throw error }
        }
    }

    private func launch(storePath: String) throws {
        // Opened here first: an error is then shown as that of any other command, and recovery happens before the mount answers.
        let store = try Store.open(storePath)
        try MountRecord.requireUnmounted(store.paths)
        var arguments = ["mount", "--foreground", "--store", storePath]
        for option in options { arguments += ["-o", option] }
        try BackgroundMount.launch(arguments: arguments + ["--", mountpoint], logPath: store.paths.mountLog)
        if output.json {
            Terminal.say(
                MountRecord.document(mountpoint: FileSystem.absolutePath(mountpoint), store: storePath).compactText + [10])
        }
    }
}

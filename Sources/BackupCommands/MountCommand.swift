import ArgumentParser
import BackupCore
import FUSEBridge
import Glibc
import Operations
import SystemIO
import VirtualTree

struct MountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Mount the app's data and its backups as a folder.",
        discussion: """
            Returns when the mount is ready. Without --store the default store is mounted, and made on first use.

            Mount options: ro, rw; allow_other, allow_root (let others in); uid=USER, gid=GROUP (who owns the files, by name or number); store=DIR; password_file=FILE; \
            nonempty; auto_unmount; fsname=NAME, subtype=NAME; max_read=BYTES; suid, dev, exec, sync, dirsync and their opposites; noatime, nodiratime; context=. \
            Those for mount(8) and systemd (x-..., _netdev, nofail, noauto, user, defaults, ...) are taken and ignored. \
            In /etc/fstab: STORE MOUNTPOINT backupfs OPTIONS 0 0

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
    @Argument(help: ArgumentHelp("The empty folder to mount on.", valueName: "mountpoint"), completion: .directory)
    var first: String
    /// mount(8) passes a source and a mountpoint, then options.
    @Argument(help: .hidden)
    var second: String?

    private var mountpoint: String { second ?? first }

    /// The store in the first field of `/etc/fstab`; placeholder words there are not a store.
    private var sourceStore: String? {
        guard second != nil, !["", "none", "backupfs"].contains(first) else { return nil }
        return first
    }

    func validate() throws {
        if second == nil, let verb = VerbSuggestion.meant(by: first, arguments: CommandLine.arguments) {
            throw ValidationError(
                "There is no command \"\(first)\". Did you mean \(verb)? A mountpoint of that name is ./\(first).")
        }
        if second == nil, VerbSuggestion.isUnknown(first, arguments: CommandLine.arguments) {
            throw ValidationError(
                "There is no command \"\(first)\", and no folder of that name to mount on. See: backupfs --help")
        }
        if let source = sourceStore, !source.hasPrefix("/") {
            throw ValidationError(
                "\"\(source)\" is neither a command nor, as the first of two arguments (STORE MOUNTPOINT, as in /etc/fstab), "
                    + "an absolute path.")
        }
    }

    func run() throws {
        let channel = BackgroundMount.readinessChannel()
        let manager = serviceManager()
        Malloc.limitArenas()
        DescriptorLimit.raise()
        do {
            // Only a foreground mount is the service; a background mount belongs to the command that requested it.
            try mount(channel, foreground && channel == nil ? manager : nil)
        } catch {
            // In the background standard error is not read, so the error goes to the process that started this one.
            if let channel, let error = error as? BackupError { channel.report(error) }
            throw error
        }
    }

    /// A service manager that gets no notification ends this program after a timeout; until then the mount is useful.
    private func serviceManager() -> ServiceManager? {
        do throws(BackupError) {
            return try ServiceManager.takeFromEnvironment()
        } catch {
            if foreground { Terminal.writeError("backupfs: \(error.description)") }
            return nil
        }
    }

    private func mount(_ channel: ReadinessChannel?, _ manager: ServiceManager?) throws {
        let mountOptions = try MountOptions(parsing: options)
        try FUSEAvailability.check(mountOptions)
        let namedStore = store.store ?? mountOptions.storePath ?? sourceStore
        let path = try StoreLocation.resolve(namedStore)
        var passwords = store.passwords
        if passwords.passwordFile == nil { passwords.passwordFile = mountOptions.passwordFilePath }
        if !foreground, channel == nil {
            _ = try Mountpoint.prepare(mountpoint, options: mountOptions)
            if namedStore == nil { try makeDefaultStore(path) }
            try launch(storePath: path, passwords)
            return
        }
        if namedStore == nil { try makeDefaultStore(path) }
        let store = try passwords.open(path, masterKey: try BackgroundMount.inheritedSecret(), log: self.store.log.overrides)
        let log = MountLog(store: store)
        do {
            try store.requireMountable(at: mountpoint)
            try serve(store, mountOptions, channel, manager, log)
        } catch {
            log.noteFailure(error)
            throw error
        }
    }

    private func serve(
        _ store: Store, _ mountOptions: MountOptions, _ channel: ReadinessChannel?, _ manager: ServiceManager?, _ log: MountLog
    ) throws {
        let lock = try MountRecord.lock(store.paths)
        defer { withExtendedLifetime(lock) {} }
        // In the background this goes to mount.log too: the command that returned has already warned the user.
        SuccessorWarning.show(store)
        let services = try StoreTreeServices(store: store)
        let tree = VirtualTree(services: services, repository: store.repository, isSharedWithOthers: mountOptions.allowsOthers)
        let failures = MountComplaint.log
        defer { failures.finish() }
        let requests = RequestMonitor { store.log.note($0) }
        let session = try MountSession(
            tree: tree, mountpoint: mountpoint, options: mountOptions, requests: requests, reportFailure: failures.note)
        // All paths are absolute by now. A background process must not keep a folder busy as its working directory.
        if channel != nil { chdir("/") }
        do throws(BackupError) {
            try MountRecord.write(store.paths, mountpoint: session.mountpoint)
        } catch {
            // On a full disk, users want to look at backups and delete some; only `umount` without a mountpoint needs the record.
            guard error.code == .noSpace else { throw error }
            Terminal.writeError("backupfs: \(error.description)")
        }
        defer { MountRecord.remove(store.paths) }
        // If the system has no watches left, the kernel asks every second.
        let watch = try? store.repository.watchSnapshots { tree.lookForChanges() }
        defer { watch?.end() }
        // What other machines change is not seen by the watch.
        let isShared = try? store.repository.isRemote || FileSystem.isShared(store.repository.path)
        tree.setNotifiedOfChanges(watch != nil && isShared == false)
        let repeated = [RepeatedWork.releasingViews(of: tree), .recording(requests, of: store)]
        defer { for work in repeated { work.end() } }
        let daemon = MountDaemon(store: store, isReadOnly: mountOptions.isReadOnly)
        services.afterBackups { daemon.noteBackup() }
        let status = "Serves \(store.paths.root) on \(session.mountpoint)"
        func endDaemon(_ reason: MountSession.End?) {
            notify(manager, .stopping)
            daemon.end(reason)
            // A disk that does not respond keeps only the jobs waiting that copy to it.
            services.copySets.beginEnding()
            services.controls.beginEnding()
            services.jobs.end()
            services.copySets.end()
        }
        _ = try session.run(
            reactions: daemon.reactions, onEnding: endDaemon, onSignalWhileEnding: { daemon.hurry() }
        ) { () throws(BackupError) in
            // Not before: during an automount, only its own process group may access the folder.
            if channel != nil { setsid() }
            log.noteMount()
            try channel?.reportReady()
            notify(manager, .ready(status: status))
            daemon.begin()
        }
        daemon.waitForBackups(of: tree, services.controls)
        do throws(BackupError) {
            try services.clearSpool()
        } catch {
            // The next mount tries again.
            Terminal.writeError("backupfs: \(error.description)")
        }
        // While the lock is still held: a process that waited for the end must find it recorded.
        log.noteEnd()
    }

    private func notify(_ manager: ServiceManager?, _ state: ServiceManager.State) {
        do throws(BackupError) { try manager?.send(state) } catch { Terminal.writeError("backupfs: \(error.description)") }
    }

    /// The default store is created by its first mount; a store named explicitly must exist.
    private func makeDefaultStore(_ path: String) throws {
        guard try !FileSystem.exists("\(path)/store.yaml") else { return }
        do {
            _ = try StoreCreation().create(at: path)
        } catch {
            // Another process may have created it just now.
            guard error.code == .alreadyExists, try FileSystem.exists("\(path)/store.yaml") else { throw error }
        }
    }

    private func launch(storePath: String, _ passwords: PasswordOptions) throws {
        // Opened here first, so that errors are shown as for any other command. Recovery then happens before the mount responds,
        // and the password prompt appears where a user can type.
        let opened = try passwords.open(storePath, log: store.log.overrides)
        SuccessorWarning.show(opened)
        try opened.requireMountable(at: mountpoint)
        try MountRecord.requireUnmounted(opened.paths)
        var arguments = ["mount", "--foreground", "--store", storePath] + store.log.arguments
        for option in options { arguments += ["-o", option] }
        try BackgroundMount.launch(
            arguments: arguments + ["--", mountpoint], logPath: opened.paths.mountLog, secret: opened.repository.masterKey)
        if output.json {
            Terminal.write(jsonLine: MountRecord.document(mountpoint: FileSystem.absolutePath(mountpoint), store: storePath))
        }
    }
}

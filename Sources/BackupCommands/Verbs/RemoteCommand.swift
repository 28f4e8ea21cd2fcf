import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Manage the places outside this machine where copies of the backups lie, and get a copy back.",
        discussion: """
            A remote is a bucket on an S3-compatible server, or a folder: on another disk, on a file server, or one that another \
            program synchronizes. It has a copy of the repository, which needs no other file: when this machine is lost, \
            `backupfs remote fetch` gets the repository back.

            Credentials come from the environment, from ~/.aws/credentials or from a command, never from store.yaml or the command \
            line.

            Example:
              backupfs remote add offsite s3:https://s3.example.org/bucket/cars
              backupfs remote list
              backupfs remote fetch s3:https://s3.example.org/bucket/cars /media/cars
            """,
        subcommands: [
            RemoteAddCommand.self, RemoteListCommand.self, RemoteTestCommand.self, RemoteRemoveCommand.self,
            RemoteFetchCommand.self,
        ])
}

struct RemoteAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a remote to the store, after a trial.",
        discussion: """
            The trial stores small objects and removes them. It says what the server keeps of the promises of S3 and what it lacks. The place \
            must be empty, or have a copy of this repository. A folder is made if it is missing. With --keep options, `backupfs sync` \
            removes backups of this store there that none of them keeps; without, it removes none.

            Example:
              backupfs remote add offsite s3:https://s3.example.org/bucket/cars
              backupfs remote add offsite s3:https://s3.example.org/bucket/cars \\
                --label 'Example Cloud' --credentials-command 'my-secrets cars'
              backupfs remote add disk /media/disk/cars --no-after-backup --keep-last 3 --keep-monthly 12
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var access: RemoteAccessOptions
    @OptionGroup var storage: RemoteStorageOptions
    @OptionGroup(title: "Which backups are kept there (default: all)") var rules: RetentionOptions
    @Flag(name: .long, help: "Add it without a trial: the server cannot be reached now.")
    var noTest = false
    @Argument(help: ArgumentHelp("A name of your choice.", valueName: "name"))
    var name: String
    @Argument(
        help: ArgumentHelp("s3:https://HOST/BUCKET/PREFIX, or a folder.", valueName: "url"), completion: .directory)
    var url: String

    func run() throws {
        let path = try store.path()
        var remote = try RemoteSettings(name: name, url: RemotePlace.url(url))
        try access.apply(to: &remote)
        try storage.apply(to: &remote)
        remote.retention = try rules.policy()
        let file = try SettingsFile(storeAt: path)
        try file.requireNew(remote)
        let report = noTest ? nil : try RemoteTrial(of: remote, storeAt: path).run(isNew: true)
        try file.setRemote(remote)
        if output.json { return Terminal.write(jsonLine: RemoteReport.json("remote_added", remote, report)) }
        if let report { RemoteReport.write(report, remote) }
        Terminal.writeUnlessQuiet("Added the remote \(remote.name): \(remote.url)")
        let option = store.store == nil ? "" : " --store \(path)"
        if remote.kind == .photos {
            return Terminal.writeUnlessQuiet("Star photos with: backupfs star FILE\(option)")
        }
        Terminal.writeUnlessQuiet(
            remote.isAutomatic
                ? "Each backup is copied there from now on. Copy those that are there now with: backupfs sync \(remote.name)\(option)"
                : "Copy the backups there with: backupfs sync \(remote.name)\(option)")
    }
}

struct RemoteListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the store's remotes.",
        discussion: """
            Example:
              backupfs remote list
              backupfs remote list --json | jq -r '.[].url'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let path = try store.path()
        let file = try SettingsFile(storeAt: path)
        let remotes = try file.remotes() + [file.photosRemote()].compactMap(\.self)
        if output.json {
            Terminal.write(
                json: .array(
                    remotes.map { RemoteReport.json($0, capabilities: $0.knownCapabilities(in: StorePaths(root: path))) }))
        } else if remotes.isEmpty {
            Terminal.writeUnlessQuiet("There are no remotes. Add one with: backupfs remote add NAME URL")
        } else {
            Terminal.write(
                verbatim: Table.text(
                    ["Name", "Service", "After each backup", "Keeps", "Place"],
                    remotes.map { remote in
                        [
                            remote.name, remote.shownLabel, remote.kind != .photos && remote.isAutomatic ? "yes" : "no",
                            remote.kind == .photos ? "photos" : remote.retention.isEmpty ? "all" : remote.retention.rule,
                            remote.url,
                        ]
                    }))
        }
    }
}

struct RemoteTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Try out a remote: whether it can be used, and what its server keeps of the promises of S3.",
        discussion: """
            Stores small objects and removes them; the copy of the backups stays as it is. Exit code 0 if the remote can be used.

            Example:
              backupfs remote test offsite
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The remote's name.", valueName: "name"), completion: .remote)
    var name: String

    func run() throws {
        let path = try store.path()
        let remote = try SettingsFile(storeAt: path).remote(named: name)
        let report = try RemoteTrial(of: remote, storeAt: path).run(isNew: false)
        if output.json { return Terminal.write(jsonLine: RemoteReport.json("remote_tested", remote, report)) }
        RemoteReport.write(report, remote)
    }
}

struct RemoteRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a remote from the store. The copies there stay.",
        discussion: """
            Its lines in store.yaml go, and what the store knows about it. Nothing at the remote is changed: it can be added \
            again, and fetched from.

            Example:
              backupfs remote remove offsite
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The remote's name.", valueName: "name"), completion: .remote)
    var name: String

    func run() throws {
        let file = try SettingsFile(storeAt: store.path())
        // A remote with mistakes can be removed, too.
        let url = try? file.remote(named: name).url
        try file.removeRemote(name)
        if output.json {
            Terminal.write(jsonLine: ["message_type": "remote_removed", "name": name, "url": url])
        } else {
            Terminal.writeUnlessQuiet("Removed the remote \(name) from the store. The copies of the backups there stay.")
            if let url { Terminal.writeUnlessQuiet("They are at \(url)") }
        }
    }
}

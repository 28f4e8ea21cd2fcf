import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a store.",
        discussion: """
            Without --database the store holds the app's data itself; with it, the app's own files are adopted where they lie. \
            On a repository that holds backups already, the store continues its source (the backups of one store) when there is only one, the \
            app is the same, and the new store has no data of its own: definition and settings are taken over, and nothing is backed up or removed by itself until the first restore \
            or `backupfs backup`.

            With --encrypt nobody can read the backups without the password, and nobody can get it back: keep it.

            Example:
              backupfs init --sample
              backupfs init --app smilepile --sample
              backupfs init --database ~/books.sqlite --media ~/covers
              backupfs init --encrypt --repository /media/disk/cars
              backupfs init --encrypt --repository s3:https://s3.example.org/bucket/cars
              backupfs init --repository /media/disk/cars --adopt 3f8a21c0
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The app: a built-in one, or a definition file (NAME.yaml). Without it, the built-in one whose tables the --database has, or else \
            every table of it; without --database \(StoreCreation.defaultApp).
            """), completion: .file())
    var app: String?
    @Option(
        name: .long, help: ArgumentHelp("The app's SQLite database, left where it lies.", valueName: "file"), completion: .file())
    var database: String?
    @Option(
        name: .long, help: ArgumentHelp("The app's media folder, left where it lies.", valueName: "dir"), completion: .directory)
    var media: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where the repository goes, or an existing one to go on with: a folder, or s3:https://HOST/BUCKET/PREFIX.",
            valueName: "path"),
        completion: .directory)
    var repository: String?
    @OptionGroup(title: "Options of a repository on a server") var access: RemoteAccessOptions
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Continue this source of the repository: its backups become those of the new store. Without it, the only one of the same app, if the new store has no data of its own.",
            valueName: "source"))
    var adopt: String?
    @Flag(name: .long, help: "Start a new source beside those in the repository.")
    var newSource = false
    @Flag(name: .long, help: "Encrypt the new repository with a password.")
    var encrypt = false
    @Flag(name: .long, help: "Fill the new store with sample data: records, and photos if the app has a media folder.")
    var sample = false
    @Option(name: .long, help: ArgumentHelp("How many expenses the sample data has.", visibility: .hidden))
    var sampleExpenses = StoreCreation.defaultSampleRecordCount

    func validate() throws {
        if newSource, adopt != nil {
            throw ValidationError("--adopt continues a source, --new-source begins one: choose one of them.")
        }
        if sample, database != nil {
            throw ValidationError("--sample fills a new database; it cannot be used together with --database.")
        }
        if sample, media != nil {
            throw ValidationError("--sample fills a new media folder; it cannot be used together with --media.")
        }
        if sampleExpenses < 0 || sampleExpenses > 100_000_000 {
            throw ValidationError("--sample-expenses is 0 to 100000000.")
        }
    }

    func run() throws {
        let path = try store.path()
        var creation = StoreCreation(app: app)
        creation.databasePath = database
        creation.mediaPath = media
        creation.repositoryPath = repository
        creation.server = try server()
        if newSource { creation.sourceChoice = .begin }
        if let adopt { creation.sourceChoice = .adopt(adopt) }
        let passwords = store.passwords
        if encrypt { creation.newPassword = { () throws(BackupError) in try passwords.newPassword() } }
        creation.secret = { (path) throws(BackupError) in .password(try passwords.password(of: path)) }
        creation.sampleRecordCount = sample ? sampleExpenses : nil
        // In a file manager, a file is easily dropped into the wrong folder. Sample data is there to be tried.
        creation.confirmsRestores = !sample && DesktopSession.hasScreen
        let created = try creation.make(at: path)
        let made = created.store
        let isEncrypted = made.repository.isEncrypted
        let isForOneMachine = made.settings.primary?.mixesWriters(in: made.paths) ?? false
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "initialized", "store": path, "app": made.definition.name, "encrypted": isEncrypted,
                "source": made.source.hexadecimal, "adopted": created.adopted != nil,
                "other_sources": created.others.map { $0.id?.hexadecimal ?? $0.name },
                "settings_left_out": created.settingsLeftOut, "settings_unreadable": created.hasUnreadableSettings,
                "one_machine_only": isForOneMachine,
            ])
        } else {
            Terminal.writeUnlessQuiet("Made the store \(path) for \(made.definition.title).")
            if isEncrypted {
                Terminal.write("The backups are encrypted. They cannot be read without the password, not even by you: keep it.")
            }
            let option = store.store == nil ? "" : " --store \(path)"
            report(created, option)
            if isForOneMachine {
                Terminal.writeError(
                    "warning: this server does not keep apart what several machines write at the same moment. Let only one machine make backups in this repository."
                )
            }
            if made.settings.confirmsRestores, created.adopted == nil {
                Terminal.writeUnlessQuiet(
                    """
                    A file in restore/ replaces all data only with a file CONFIRM beside it, since this is a desktop. Otherwise: \
                    backupfs config set confirm-restores no\(option)
                    """)
            }
            Terminal.writeUnlessQuiet("Back up with: backupfs backup\(option)")
            Terminal.writeUnlessQuiet("Mount it with: backupfs MOUNTPOINT\(option)")
        }
    }

    /// How the server with the repository is reached; `nil` for a folder.
    private func server() throws -> RemoteSettings? {
        guard let repository, repository.hasPrefix(RemoteSettings.serverScheme) else {
            try access.requireNone(because: "the repository is in a folder")
            return nil
        }
        var server = try RemoteSettings.ofRepository(at: repository)
        try access.apply(to: &server)
        return server
    }

    /// Reports what the repository already contained, and the consequences.
    private func report(_ created: StoreCreation.Created, _ option: String) {
        if let adopted = created.adopted {
            Terminal.write("It continues these backups: \(adopted.line)")
            let media: Message = created.store.mediaPath.map { ", media in \($0)" } ?? ""
            Terminal.write("A restore writes the database \(created.store.database.path)\(media)")
            if !created.settingsLeftOut.isEmpty {
                let names = created.settingsLeftOut.joined(separator: ", ")
                Terminal.write("These settings were not taken over. Set them again if you trust the repository: \(names)")
            }
            if created.hasUnreadableSettings {
                Terminal.write(
                    "The settings of the store that made these backups cannot be read, so retention and prune are off: no old backups are removed by themselves. What is removed by hand can be brought back for 3,650 days: backupfs config set undelete-days 30 says otherwise. Say what is to be kept, with `backupfs config set keep-last 5` or the like, then switch them on: backupfs config set retention on; backupfs config set prune on"
                )
            }
            Terminal.write("There are no automatic backups or removals until you restore or back up.")
            Terminal.write("Get the data back with: backupfs restore latest\(option)")
        }
        guard !created.others.isEmpty else { return }
        Terminal.write(
            created.adopted == nil
                ? "It begins a source of its own. The repository also holds the backups of:"
                : "The repository also holds the backups of:")
        for source in created.others { Terminal.write("  \(source.line)") }
    }
}

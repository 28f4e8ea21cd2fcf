import ArgumentParser
import BackupCore
import Export
import Operations
import SystemIO

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a store.",
        discussion: """
            Without --database the store holds the app's data itself; with it, the app's own files are adopted where they lie.
            With --encrypt nobody can read the backups without the password, and nobody can get it back: keep it.

            Example:
              backupfs init --sample
              backupfs init --store /srv/books --database /home/me/books.sqlite --media /home/me/covers
              backupfs init --encrypt --repository /media/disk/cars
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
        name: .long, help: ArgumentHelp("Where the repository goes, or an existing one to go on with.", valueName: "path"),
        completion: .directory)
    var repository: String?
    @Flag(name: .long, help: "Encrypt the new repository with a password.")
    var encrypt = false
    @Flag(name: .long, help: "Fill a new database with sample data.")
    var sample = false
    @Option(name: .long, help: ArgumentHelp("How many expenses the sample data has.", visibility: .hidden))
    var sampleExpenses = StoreCreation.defaultSampleRecordCount

    func validate() throws {
        if sample, database != nil {
            throw ValidationError("--sample fills a new database; it cannot be used together with --database.")
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
        let passwords = store.passwords
        if encrypt { creation.newPassword = { () throws(BackupError) in try passwords.newPassword() } }
        creation.secret = { (path) throws(BackupError) in .password(try passwords.password(of: path)) }
        creation.sampleRecordCount = sample ? sampleExpenses : nil
        let made = try creation.create(at: path)
        let isEncrypted = made.repository.isEncrypted
        if output.json {
            let document = OrderedJSON.members([
                "message_type": .text("initialized"), "store": .text(path), "app": .text(made.definition.name),
                "encrypted": .boolean(isEncrypted),
            ])
            Terminal.say(document.compactText + [10])
        } else {
            Terminal.say("Made the store \(path) for \(made.definition.title).")
            if isEncrypted {
                Terminal.say("The backups are encrypted. Nobody can read them without the password, not even you: keep it.")
            }
            let option = store.store == nil ? "" : " --store \(path)"
            Terminal.say("Mount it with: backupfs MOUNTPOINT\(option)")
        }
    }
}

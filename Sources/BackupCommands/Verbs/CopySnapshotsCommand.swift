import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct CopySnapshotsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy-snapshots",
        abstract: "Copy backups to or from another repository.",
        discussion: """
            A copied backup has the same name, time, content, tags and pin, but is not verified yet. What is there already is not copied again, \
            whichever of the two repositories it was made in. The repositories may have other passwords, and be on a server. \
            Backups that were removed there are copied again only if they are named; without names, all backups are copied, but no safety backups. \
            A backup that is damaged is not copied, and the others are; the exit code is 1 then.

            Example:
              backupfs copy-snapshots --to /media/disk/cars
              backupfs copy-snapshots --to s3:https://s3.example.org/bucket/cars --init --encrypt
              backupfs copy-snapshots before-upgrade --from /media/disk/cars
              backupfs copy-snapshots --to /media/disk/cars --dry-run
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(
        help: ArgumentHelp("Backups to copy, or \"latest\" (default: all but safety backups).", valueName: "snap"),
        completion: .snapshot)
    var snapshots: [String] = []
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Copy from the store's repository into this one: a folder, or s3:https://HOST/BUCKET/PREFIX.", valueName: "repository"
        ),
        completion: .directory)
    var to: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Copy from this repository into the store's: a folder, or s3:https://HOST/BUCKET/PREFIX.", valueName: "repository"),
        completion: .directory)
    var from: String?
    @OptionGroup var otherPassword: OtherPasswordOptions
    @Flag(name: .customLong("init"), help: "With --to, create the repository if there is none.")
    var creates = false
    @Flag(name: .long, help: "With --init, encrypt the new repository with a password.")
    var encrypt = false
    @Flag(name: [.long, .customShort("n")], help: "Only say what would be copied.")
    var dryRun = false
    @OptionGroup(title: "Options of the other repository on a server") var access: RemoteAccessOptions

    func validate() throws {
        if (to == nil) == (from == nil) {
            throw ValidationError("Name the other repository with --to or with --from, but not with both.")
        }
        if creates, to == nil { throw ValidationError("--init creates the repository of --to.") }
        if encrypt, !creates { throw ValidationError("--encrypt needs --init: a repository is encrypted or not as it was made.") }
    }

    func run() throws {
        DescriptorLimit.raise()
        let other = try other()
        let store = try store.open()
        let operation = CopyOperation(store: store, other: other, to == nil ? .fromOther : .toOther, names: snapshots)
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        if dryRun {
            let (items, summary) = try operation.plan(progress: printer.handler)
            printer.finish()
            for item in items { CopyReport.write(item, isJSON: output.json) }
            return CopyReport.write(summary, isJSON: output.json, isDryRun: true)
        }
        let isJSON = output.json
        let summary = try operation.run(progress: printer.handler) { result in
            printer.finish()
            CopyReport.write(result, isJSON: isJSON)
        }
        if from != nil { MountRecord.letMountNotice(store.paths) }
        printer.finish()
        CopyReport.write(summary, isJSON: output.json, isDryRun: false)
        guard summary.failedCount > 0 else { return }
        throw BackupError(
            .repositoryDamaged,
            .plural(
                summary.failedCount, one: "\(summary.failedCount) backup is damaged and was not copied",
                other: "\(summary.failedCount) backups are damaged and were not copied"),
            path: summary.from,
            remedy: "See what is damaged with: backupfs check --read-data. If the app's data is still there, back it up again.",
            findings: summary.failures.map { "\($0.name): \($0.error.summary)" } + summary.unreadableRecords.map(\.summary))
    }

    private func other() throws -> OtherRepository {
        let place = to ?? from ?? ""
        var server: RemoteSettings?
        if place.hasPrefix(RemoteSettings.serverScheme) {
            var settings = try RemoteSettings.ofOtherRepository(at: place)
            try access.apply(to: &settings)
            try settings.check()
            server = settings
        } else {
            try access.requireNone(because: "the other repository is in a folder")
        }
        let passwords = otherPassword
        var creation: OtherRepository.Creation?
        if creates { creation = encrypt ? .encrypted { () throws(BackupError) in try passwords.newPassword() } : .plain }
        return OtherRepository(at: place, server: server, creation: creation) { (path) throws(BackupError) in
            .password(try passwords.password(of: path))
        }
    }
}

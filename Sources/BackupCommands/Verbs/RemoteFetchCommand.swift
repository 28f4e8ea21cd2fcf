import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct RemoteFetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download the copy of a repository from a remote into a folder.",
        discussion: """
            The way back when this machine or its repository is lost: with a URL it needs no store, only the credentials, and no password. \
            What an interrupted fetch has downloaded stays, and the same command goes on. Every object is compared with its checksum; those \
            that are damaged or missing are named, and the rest is fetched. Exit code 3 then.

            Example:
              backupfs remote fetch s3:https://s3.example.org/bucket/cars /media/cars
              backupfs remote fetch offsite /media/cars
              backupfs init --repository /media/cars
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var access: RemoteAccessOptions
    @Argument(
        help: ArgumentHelp(
            "A remote's name; or s3:https://HOST/BUCKET/PREFIX, or a folder, whose path contains a slash.", valueName: "name|url"),
        completion: .remote)
    var source: String
    @Argument(
        help: ArgumentHelp("The folder for the repository: a new one, or an empty one.", valueName: "folder"),
        completion: .directory)
    var folder: String

    func run() throws {
        let target = FileSystem.absolutePath(folder)
        let fetch = try self.fetch()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let summary = try fetch.run(to: target, progress: printer.handler)
        printer.finish()
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "summary", "repository": target, "from": fetch.location, "snapshots": summary.snapshotCount,
                "objects": summary.objectCount, "bytes": summary.downloadedBytes,
                "damaged": summary.damages.map { OrderedJSON.damage($0) },
            ])
        } else {
            write(summary, target)
        }
        guard !summary.damages.isEmpty else { return }
        throw BackupError(
            .sourceUnreadable,
            .plural(
                summary.damages.count,
                one: "\(summary.damages.count) object of the copy is damaged or missing, and was not fetched",
                other: "\(summary.damages.count) objects of the copy are damaged or missing, and were not fetched"),
            path: fetch.location,
            remedy: "Make a store on the folder, then see what is affected with: backupfs check --read-data")
    }

    private func fetch() throws(BackupError) -> RemoteFetch {
        let path = RemotePlace.isURL(source) ? nil : try store.path()
        var remote =
            if let path {
                try SettingsFile(storeAt: path).remote(named: source)
            } else {
                try RemoteSettings(name: "remote", url: RemotePlace.url(source))
            }
        try access.apply(to: &remote)
        return try RemoteFetch(from: remote, storeAt: path)
    }

    private func write(_ summary: MirrorFetch.Summary, _ target: String) {
        for damage in summary.damages { Terminal.writeError(damage) }
        let backups = Message.plural(
            summary.snapshotCount, one: "\(summary.snapshotCount) backup", other: "\(summary.snapshotCount) backups")
        let objects = Message.plural(
            summary.objectCount, one: "\(summary.objectCount) object", other: "\(summary.objectCount) objects")
        Terminal.writeUnlessQuiet(
            "Fetched the repository \(target) with \(backups). Downloaded \(objects), \(ByteCount.text(summary.downloadedBytes))."
        )
        Terminal.writeUnlessQuiet("Make a store on it with: backupfs init --repository \(ShellWords.text(of: [target]))")
    }
}

extension OrderedJSON {
    fileprivate static func damage(_ error: BackupError) -> OrderedJSON {
        ["error": error.code.rawValue, "message": error.message, "path": error.path]
    }
}

import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List the files of a backup.",
        discussion: """
            SNAP is a backup's name, or "latest"; with :path, only what is below that folder.

            Example:
              backupfs ls latest
              backupfs ls before-upgrade:data
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @OptionGroup var output: OutputOptions
    @Argument(
        help: ArgumentHelp("The backup, and optionally a folder or file in it.", valueName: "snap[:path]"), completion: .snapshot)
    var place: String

    func run() throws {
        let store = try store.open(remote)
        let (name, path) = SnapshotPathArgument.split(place)
        let snapshot = try store.anySnapshot(named: name)
        var lines: [OrderedJSON] = []
        try list(snapshot, BytePath.components(of: Array(path.utf8)), store.repository) { (path, entry) throws(BackupError) in
            if output.json {
                lines.append(try .entry(entry, at: FileName(bytes: path), in: store.repository))
            } else {
                Terminal.write(verbatim: text(path, entry))
            }
        }
        if output.json { Terminal.write(json: OrderedJSON.array(lines)) }
    }

    /// Descends to the named place, and lists everything from there.
    private func list(
        _ snapshot: Snapshot, _ names: [FileName], _ repository: Repository,
        _ show: ([UInt8], TreeEntry) throws(BackupError) -> Void
    ) throws(BackupError) {
        let path = BytePath.joined(names)
        let part = try repository.part(of: snapshot, at: names)
        guard let folder = part.directory else {
            if let file = part.file { try show(path, file) }
            return
        }
        var cursor = TreeCursor(folder, at: path, in: repository)
        while let entry = try cursor.nextEntry() { try show(cursor.path, entry) }
    }

    private func text(_ path: [UInt8], _ entry: TreeEntry) -> String {
        let size = String(entry.size)
        let padding = String(repeating: " ", count: max(0, 12 - size.count))
        let suffix = entry.kind == .directory ? "/" : ""
        return
            "\(padding)\(size)  \(Terminal.time(entry.modificationTime))  \(Terminal.shown(FileName(bytes: path).description))\(suffix)"
    }
}

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
    @OptionGroup var output: OutputOptions
    @Argument(
        help: ArgumentHelp("The backup, and optionally a folder or file in it.", valueName: "snap[:path]"), completion: .snapshot)
    var place: String

    func run() throws {
        let store = try store.open()
        let (name, path) = SnapshotPathArgument.split(place)
        let snapshot = try store.anySnapshot(named: name)
        let root = try store.repository.rootDirectory(of: snapshot)
        var lines: [OrderedJSON] = []
        let components = path.split(separator: "/").map { FileName($0) }
        try list(root, components[...], prefix: [], store.repository) { path, entry in
            if output.json {
                lines.append(.entry(entry, at: FileName(bytes: path)))
            } else {
                Terminal.write(verbatim: text(path, entry))
            }
        }
        if output.json { Terminal.write(json: OrderedJSON.array(lines)) }
    }

    /// Descends to the named place, and lists everything from there.
    private func list(
        _ directory: Directory, _ rest: ArraySlice<FileName>, prefix: [UInt8], _ repository: Repository,
        _ show: ([UInt8], TreeEntry) -> Void
    ) throws(BackupError) {
        if let name = rest.first {
            guard let entry = directory.entry(named: name) else {
                throw BackupError(.notFound, "there is no such file in the backup", path: place)
            }
            let path = prefix + name.bytes
            if entry.kind == .directory {
                try list(repository.directory(of: entry), rest.dropFirst(), prefix: path + [UInt8(ascii: "/")], repository, show)
            } else if rest.count == 1 {
                show(path, entry)
            } else {
                throw BackupError(.notADirectory, "this is not a folder of the backup", path: place)
            }
            return
        }
        for entry in directory.entries {
            let path = prefix + entry.name.bytes
            show(path, entry)
            if entry.kind == .directory {
                try list(repository.directory(of: entry), [], prefix: path + [UInt8(ascii: "/")], repository, show)
            }
        }
    }

    private func text(_ path: [UInt8], _ entry: TreeEntry) -> String {
        let size = String(entry.size)
        let padding = String(repeating: " ", count: max(0, 12 - size.count))
        let suffix = entry.kind == .directory ? "/" : ""
        return
            "\(padding)\(size)  \(Terminal.time(entry.modificationTime))  \(Terminal.shown(FileName(bytes: path).description))\(suffix)"
    }
}

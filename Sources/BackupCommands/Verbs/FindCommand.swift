import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct FindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Find files in all backups.",
        discussion: """
            PATTERN is a name, or a pattern with *, ? and [a-z] (in quotation marks, or the shell takes it); with a slash in it, it is for paths \
            below a backup's folder. sha256: and 8 to 64 hexadecimal digits find files by their content, whatever they are called.

            Example:
              backupfs find IMG_0001.jpg
              backupfs find 'media/2024/*.jpg'
              backupfs find sha256:$(sha256sum < photo.jpg | cut -c1-64)
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("What to find.", valueName: "pattern"))
    var pattern: String
    @Argument(
        help: ArgumentHelp("Backups to look into (default: all, safety backups included).", valueName: "snap"),
        completion: .snapshot)
    var snapshots: [String] = []

    func run() throws {
        let store = try store.open(remote)
        var search = try SnapshotSearch(pattern, in: store)
        let chosen = snapshots.isEmpty ? store.repository.snapshots() : try snapshots.map { try store.anySnapshot(named: $0) }
        var count = 0
        // Written as it is found: the result may exceed memory.
        try search.run(in: chosen) { (match) throws(BackupError) in
            if output.json {
                let description = Terminal.versioned(try describe(match, store.repository))
                Terminal.write(Array((count == 0 ? "[\n  " : ",\n  ").utf8) + description.compactText)
            } else {
                Terminal.write(verbatim: text(match))
            }
            count += 1
        }
        if output.json {
            Terminal.write(count == 0 ? "[]" : "\n]")
        } else if count == 0 {
            Terminal.writeError("Nothing found.")
        }
    }

    private func text(_ match: SnapshotSearch.Match) -> String {
        let size = String(match.entry.size)
        let padding = String(repeating: " ", count: max(0, 12 - size.count))
        let suffix = match.entry.kind == .directory ? "/" : ""
        let time = Terminal.time(match.entry.modificationTime)
        return "\(match.snapshot.name)  \(padding)\(size)  \(time)  \(Terminal.shown(match.path.description))\(suffix)"
    }

    private func describe(_ match: SnapshotSearch.Match, _ repository: Repository) throws(BackupError) -> OrderedJSON {
        let place: OrderedJSON = ["snapshot": match.snapshot.name, "snapshot_id": match.snapshot.id]
        return place.adding(try .entry(match.entry, at: match.path, in: repository))
    }
}

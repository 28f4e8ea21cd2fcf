import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what differs between two backups, or a backup and the live data.",
        discussion: """
            A and B are backups' names, "latest", or "live" for the app's data as it is now. Records are compared by their keys, files by their \
            content. + was added in B, ~ changed, - is in A only.

            Example:
              backupfs diff before-upgrade latest
              backupfs diff latest live --json | jq .records.expenses.added
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The older state.", valueName: "a"), completion: .snapshot)
    var old: String
    @Argument(help: ArgumentHelp("The newer state.", valueName: "b"), completion: .snapshot)
    var new: String
    @Option(
        name: .long,
        help: ArgumentHelp("How many changes of each kind to show, 0 to 10000; all are counted (default: 1000).", valueName: "n")
    )
    var limit = 1_000

    func validate() throws {
        guard (0...DifferenceDocument.limit).contains(limit) else {
            throw ValidationError("--limit is 0 to \(DifferenceDocument.limit).")
        }
    }

    func run() throws {
        let difference = try DifferenceDocument(of: store.open(remote), from: old, to: new, limit: limit)
        if output.json {
            Terminal.write(json: difference.json)
            return
        }
        guard !difference.isEmpty else {
            Terminal.write("No differences.")
            return
        }
        for collection in difference.collections where !collection.counts.isEmpty {
            Terminal.write("\(collection.name): \(text(collection.counts))")
            for record in collection.changes { show(record) }
            sayRest(collection.counts, told: collection.changes.map(\.change))
        }
        guard !difference.fileCounts.isEmpty else { return }
        Terminal.write("files: \(text(difference.fileCounts))")
        for file in difference.files {
            Terminal.write("  \(sign(file.change)) \(Terminal.shown("\(file.path)"))  \(sizes(file))")
        }
        sayRest(difference.fileCounts, told: difference.files.map(\.change))
    }

    private func show(_ record: DifferenceDocument.RecordChange) {
        Terminal.write("  \(sign(record.change)) \(Terminal.shown("\(record.key)"))")
        guard record.change == .changed else { return }
        if record.fields.isEmpty { Terminal.write("      only the order of its members") }
        for field in record.fields {
            Terminal.write("      \(field.text)")
        }
    }

    private func sign(_ change: DifferenceDocument.Change) -> String {
        switch change {
        case .added: "+"
        case .changed: "~"
        case .removed: "-"
        }
    }

    private func text(_ counts: [DifferenceDocument.Change: Int]) -> Message {
        let parts: [Message?] = [
            counts[.added].map { "\($0) added" }, counts[.changed].map { "\($0) changed" },
            counts[.removed].map { "\($0) removed" },
        ]
        return .joined(parts.compactMap { $0 })
    }

    private func sizes(_ file: DifferenceDocument.FileDifference) -> String {
        [file.old, file.new].compactMap { $0.map { ByteCount.text($0.size) } }.joined(separator: " → ")
    }

    private func sayRest(_ counts: [DifferenceDocument.Change: Int], told: [DifferenceDocument.Change]) {
        let rest = counts.values.reduce(0, +) - told.count
        if rest > 0 { Terminal.write("  … and \(rest) more") }
    }
}

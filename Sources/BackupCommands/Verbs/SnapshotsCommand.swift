import ArgumentParser
import BackupCore
import BackupRepository
import Export
import Operations
import SystemIO

struct SnapshotsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshots",
        abstract: "List the backups, oldest first.",
        discussion: """
            Example:
              backupfs snapshots --json | jq -r '.[-1].name'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let store = try store.open()
        let snapshots = store.repository.snapshots(kind: .snapshot)
        if output.json {
            Terminal.say(OrderedJSON.array(snapshots.map(describe)).prettyText)
        } else if snapshots.isEmpty {
            Terminal.say("No backups yet. Make one with: backupfs backup")
        } else {
            let rows = snapshots.map { snapshot in
                [
                    snapshot.name.description, SystemClock.localText(snapshot.creationTime),
                    snapshot.record.attributes["records"] ?? "0", String(snapshot.record.root.totals.fileCount),
                    ByteCount.text(snapshot.record.root.totals.byteCount), snapshot.isPinned ? "pinned" : "",
                ]
            }
            Terminal.say(Table.text([["Name", "Created", "Records", "Files", "Size", ""]] + rows))
        }
    }

    private func describe(_ snapshot: Snapshot) -> OrderedJSON {
        .members([
            "name": .text(snapshot.name.description), "id": .text(snapshot.id.hexadecimal),
            "createdAt": .text(ISO8601.format(snapshot.creationTime.wholeSeconds)),
            "parent": .optional(snapshot.record.parent?.hexadecimal), "pinned": .boolean(snapshot.isPinned),
            "files": .integer(snapshot.record.root.totals.fileCount),
            "sizeBytes": .integer(snapshot.record.root.totals.byteCount),
            "attributes": .object(
                snapshot.publicAttributes.sorted { $0.key < $1.key }.map {
                    .init($0.key, .text($0.value))
                }),
        ])
    }
}

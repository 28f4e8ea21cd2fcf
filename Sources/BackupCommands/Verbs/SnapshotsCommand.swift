import AppData
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
              backupfs snapshots --tag manual
              backupfs snapshots --removed
              backupfs snapshots --json | jq -r '.[-1].name'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Option(
        name: .long, help: ArgumentHelp("Only backups with this tag; given several times, with any of them.", valueName: "tag"))
    var tag: [String] = []
    @Option(
        name: .long,
        help: ArgumentHelp("Only backups of this version of the app: production or development.", valueName: "channel"))
    var channel: Channel?
    @Flag(name: .long, help: "List the backups that were removed and can be brought back with undelete.")
    var removed = false

    func run() throws {
        let store = try store.open()
        if removed { return try RemovedSnapshotsReport.say(store, isJSON: output.json) }
        let snapshots = store.repository.snapshots(kind: .snapshot).filter {
            (tag.isEmpty || !Set(tag).isDisjoint(with: $0.tags)) && (channel == nil || $0.channel == channel)
        }
        let isIncomplete = UnlistedBackups.complain(of: store.repository)
        if output.json {
            Terminal.say(OrderedJSON.array(snapshots.map { describe($0, in: store) }).prettyText)
        } else if snapshots.isEmpty, !tag.isEmpty {
            Terminal.say("No backups with this tag.")
        } else if snapshots.isEmpty, channel != nil {
            Terminal.say("No backups of this channel.")
        } else if snapshots.isEmpty, isIncomplete {
            Terminal.say("No backups that can be listed.")
        } else if snapshots.isEmpty {
            Terminal.say("No backups yet. Make one with: backupfs backup")
        } else {
            // Who shares a repository sees which backups are his own.
            let showsSources = snapshots.contains { !store.owns($0) }
            let rows = snapshots.map { snapshot in
                (showsSources ? [store.owns(snapshot) ? "*" : snapshot.source?.short ?? ""] : []) + [
                    snapshot.name.description, Terminal.time(snapshot.creationTime),
                    snapshot.record.attributes["records"] ?? "0", String(snapshot.record.root.totals.fileCount),
                    ByteCount.text(snapshot.record.root.totals.byteCount), snapshot.record.attributes["device"] ?? "",
                    snapshot.record.attributes["app-version"] ?? "", snapshot.tags.joined(separator: ", "),
                    [
                        snapshot.channel == .production ? nil : snapshot.channel.rawValue,
                        snapshot.isPinned ? Terminal.language.text("pinned") : nil,
                    ]
                    .compactMap { $0 }.joined(separator: ", "),
                ]
            }
            Terminal.say(
                verbatim: Table.text(
                    (showsSources ? ["Source"] : []) + [
                        "Name", "Created", "Records", "Files", "Size", "Device", "App version", "Tags", "",
                    ], rows))
        }
    }

    private func describe(_ snapshot: Snapshot, in store: Store) -> OrderedJSON {
        let export = store.exportFile(of: snapshot)
        return .members([
            "name": .text(snapshot.name.description), "id": .text(snapshot.id.hexadecimal),
            "createdAt": .text(ISO8601.format(snapshot.creationTime.wholeSeconds)),
            "parent": .optional(snapshot.record.parent?.hexadecimal), "pinned": .boolean(snapshot.isPinned),
            "tags": .array(snapshot.tags.map { .text($0) }), "channel": .text(snapshot.channel.rawValue),
            "verifiedAt": .optional(snapshot.verifiedAt.map { ISO8601.format($0.wholeSeconds) }),
            "source": .optional(snapshot.source?.hexadecimal), "own": .boolean(store.owns(snapshot)),
            "files": .integer(snapshot.record.root.totals.fileCount),
            "sizeBytes": .integer(snapshot.record.root.totals.byteCount),
            "fileName": .text(export.name),
            "fileSize": fileSize(of: snapshot, isArchive: export.isArchive, in: store).map { .integer($0) } ?? .null,
            "deviceName": .optional(snapshot.record.attributes["device"]),
            "appVersion": .optional(snapshot.record.attributes["app-version"]),
            "attributes": .object(
                snapshot.publicAttributes.sorted { $0.key < $1.key }.map {
                    .init($0.key, .text($0.value))
                }),
        ])
    }

    /// Of the file in `exports/`.
    /// - Returns: `nil` when the repository is damaged there.
    private func fileSize(of snapshot: Snapshot, isArchive: Bool, in store: Store) -> UInt64? {
        guard !isArchive else { return snapshot.record.archiveSizeBytes }
        return try? store.repository.rootDirectory(of: snapshot).entry(named: "export.json")?.size
    }
}

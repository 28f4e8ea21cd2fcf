import AppData
import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct SnapshotsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshots",
        abstract: "List the backups, oldest first.",
        discussion: """
            Example:
              backupfs snapshots --tag manual
              backupfs snapshots --safety
              backupfs snapshots --removed
              backupfs snapshots --json | jq -r '.[-1].name'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
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
    @Flag(name: .long, help: "Show the name and size of each backup's file in exports/.")
    var files = false
    @Flag(name: .long, help: "List the safety backups that restores have made.")
    var safety = false

    func validate() throws {
        if removed, safety { throw ValidationError("Choose one of --removed and --safety.") }
    }

    func run() throws {
        let store = try store.open(remote)
        if removed { return try RemovedSnapshotsReport.write(store, isJSON: output.json) }
        let snapshots = store.repository.snapshots(kind: safety ? .safety : .snapshot).filter {
            (tag.isEmpty || !Set(tag).isDisjoint(with: $0.tags)) && (channel == nil || $0.channel == channel)
        }
        let isIncomplete = UnlistedBackups.warn(of: store.repository)
        if output.json {
            Terminal.write(json: OrderedJSON.array(snapshots.map { describe($0, in: store) }))
        } else if snapshots.isEmpty, !tag.isEmpty {
            Terminal.write("No backups with this tag.")
        } else if snapshots.isEmpty, channel != nil {
            Terminal.write("No backups of this channel.")
        } else if snapshots.isEmpty, safety {
            Terminal.write("No safety backups. A restore makes one before it changes anything.")
        } else if snapshots.isEmpty, isIncomplete {
            Terminal.write("No backups that can be listed.")
        } else if snapshots.isEmpty {
            Terminal.write("No backups yet. Make one with: backupfs backup")
        } else if files {
            let rows = snapshots.map { snapshot in
                let export = store.exportFile(of: snapshot)
                return [
                    snapshot.storesExport ? export.name : "", Terminal.time(snapshot.creationTime),
                    snapshot.record.attributes["device"] ?? "",
                    snapshot.record.attributes["app-version"] ?? "",
                    snapshot.storesExport
                        ? fileSize(of: snapshot, isArchive: export.isArchive, in: store).map { ByteCount.text($0) } ?? "?" : "",
                ]
            }
            Terminal.write(verbatim: Table.text(["File", "Created", "Device", "App version", "File size"], rows))
        } else {
            // If a repository is shared, mark the store's own backups.
            let showsSources = snapshots.contains { !store.owns($0) }
            let rows = snapshots.map { snapshot in
                (showsSources ? [store.owns(snapshot) ? "*" : snapshot.source?.short ?? ""] : []) + [
                    name(of: snapshot, in: store), Terminal.time(snapshot.creationTime),
                    snapshot.record.attributes["records"] ?? "0", String(snapshot.record.root.totals.fileCount),
                    ByteCount.text(store.repository.dataSizeBytes(of: snapshot)), snapshot.record.attributes["device"] ?? "",
                    snapshot.record.attributes["app-version"] ?? "", snapshot.tags.joined(separator: ", "),
                    [
                        snapshot.channel == .production ? nil : snapshot.channel.rawValue,
                        snapshot.isPinned ? Terminal.language.text("pinned") : nil,
                    ]
                    .compactMap { $0 }.joined(separator: ", "),
                ]
            }
            Terminal.write(
                verbatim: Table.text(
                    (showsSources ? ["Source"] : []) + [
                        "Name", "Created", "Records", "Files", "Size", "Device", "App version", "Tags", "",
                    ], rows))
        }
    }

    /// A name that any command accepts. For a safety backup, the name of its file in `safety/`: the backup's own name says no
    /// more than the time.
    private func name(of snapshot: Snapshot, in store: Store) -> String {
        snapshot.kind == .safety ? store.nameInSafety(snapshot) : snapshot.name.description
    }

    private func describe(_ snapshot: Snapshot, in store: Store) -> OrderedJSON {
        let export = snapshot.kind == .safety ? store.safetyFile(of: snapshot) : store.exportFile(of: snapshot)
        return [
            "name": snapshot.name, "id": snapshot.id, "created_at": snapshot.creationTime.wholeSeconds,
            "parent": snapshot.record.parent?.hexadecimal, "pinned": snapshot.isPinned, "tags": snapshot.tags,
            "channel": snapshot.channel.rawValue, "verified_at": snapshot.verifiedAt?.wholeSeconds,
            "source": snapshot.source?.hexadecimal, "own": store.owns(snapshot), "files": snapshot.record.root.totals.fileCount,
            "size_bytes": store.repository.dataSizeBytes(of: snapshot),
            "file_name": snapshot.kind == .safety ? store.nameInSafety(snapshot) : snapshot.storesExport ? export.name : nil,
            "file_size": fileSize(of: snapshot, isArchive: export.isArchive, in: store),
            "device_name": snapshot.record.attributes["device"], "app_version": snapshot.record.attributes["app-version"],
            "attributes": OrderedJSON.object(
                snapshot.publicAttributes.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }),
        ]
    }

    /// The size of the file in `exports/`.
    /// - Returns: `nil` if the export is not stored, and if the repository is damaged there.
    private func fileSize(of snapshot: Snapshot, isArchive: Bool, in store: Store) -> UInt64? {
        guard snapshot.storesExport else { return nil }
        guard !isArchive else { return snapshot.record.archiveSizeBytes }
        return try? store.repository.rootDirectory(of: snapshot).entry(named: "export.json")?.size
    }
}

/// Lists the removed backups that can be brought back, in order of removal.
enum RemovedSnapshotsReport {
    static func write(_ store: Store, isJSON: Bool) throws(BackupError) {
        let removed = try store.repository.removedSnapshots()
        let grace = try store.removalGrace()
        if isJSON {
            Terminal.write(json: OrderedJSON.array(removed.map { describe($0, grace, in: store) }))
        } else if removed.isEmpty {
            Terminal.write("No removed backups.")
        } else {
            let rows = removed.map { one in
                [
                    one.snapshot.id.hexadecimal.prefix(12).description, one.snapshot.name.description,
                    Terminal.time(one.snapshot.creationTime), one.removalTime.map { Terminal.time($0) } ?? "unknown",
                    Terminal.time(grace.end(of: one)),
                    ByteCount.text(store.repository.dataSizeBytes(of: one.snapshot)),
                    store.owns(one.snapshot) ? "" : one.snapshot.source?.short ?? "",
                ]
            }
            Terminal.write(verbatim: Table.text(["ID", "Name", "Created", "Removed", "Stays until", "Size", "Source"], rows))
        }
    }

    private static func describe(_ removed: RemovedSnapshot, _ grace: RemovalGrace, in store: Store) -> OrderedJSON {
        let snapshot = removed.snapshot
        return [
            "name": snapshot.name, "id": snapshot.id, "created_at": snapshot.creationTime.wholeSeconds,
            "removed_at": removed.removalTime?.wholeSeconds, "stays_until": grace.end(of: removed).wholeSeconds,
            "source": snapshot.source?.hexadecimal, "own": store.owns(snapshot),
            "size_bytes": store.repository.dataSizeBytes(of: snapshot),
        ]
    }
}

import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the repository for damage.",
        discussion: """
            Compares records, folders, lists, packs and the catalog with each other; with --read-data also every stored byte with its \
            checksum. Names every damaged file, and then ends with exit code 1.

            Example:
              backupfs check
              backupfs check --read-data-subset 1/7
              backupfs check --repair --yes
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @OptionGroup var output: OutputOptions
    @Flag(name: .long, help: "Read all data and compare it with its checksums.")
    var readData = false
    @Option(
        name: .long,
        help: ArgumentHelp("Read a part of the data: 10% of the packs by chance, or 1/5, 2/5, … in turn.", valueName: "part"))
    var readDataSubset: String?
    @Flag(name: .long, help: "Read all data and repair what can be repaired; damaged packs are set aside.")
    var repair = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func run() throws {
        guard !(readData && readDataSubset != nil) else {
            throw BackupError(.usage, "--read-data and --read-data-subset exclude each other", remedy: "Leave one of them out.")
        }
        guard !repair || remote.remote == nil else {
            throw BackupError(
                .usage, "a copy in a remote cannot be repaired from here",
                remedy: "Remove what is damaged there with the server's own tools, and upload it again with: backupfs sync")
        }
        let subset = try readDataSubset.map { text throws(BackupError) in try DataSubset(parsing: text) }
        let store = try store.open(remote)
        if repair, !yes {
            try ConfirmationPrompt.require(
                "Repair the repository? It is better to copy it first, if there is space.", for: "a repair rewrites damaged packs"
            )
        }
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let isJSON = output.json
        let report: (CheckEvent) -> Void = { event in
            printer.finish()
            if isJSON { Terminal.write(jsonLine: Self.json(event)) } else { Terminal.write(event.text) }
        }
        let operation = CheckOperation(store: store)
        let summary =
            repair
            ? try operation.repair(progress: printer.handler, report: report)
            : try operation.run(readData: readData ? .all : subset, progress: printer.handler, report: report)
        printer.finish()
        if isJSON { Terminal.write(jsonLine: Self.json(summary)) } else { Terminal.writeUnlessQuiet(summary.text) }
        if !summary.isDamaged, summary.newerCount > 0 { throw Self.newer(summary, store) }
        guard summary.isSound else {
            throw BackupError(
                .repositoryDamaged, Self.verdict(summary), path: store.repositoryLocation,
                remedy: remedy(for: store))
        }
    }

    private func remedy(for store: Store) -> Message {
        if let name = store.remoteName {
            return "Remove what is damaged there, and upload it again with: backupfs sync \(name)"
        }
        return repair
            ? "What is whole can be read as before. Copy what is missing back from another copy of the repository, if there is one."
            : "What is whole can be read as before. Put right what can be with: backupfs check --repair"
    }

    /// Data that this version cannot read is not damage, and not a reason for a repair.
    private static func newer(_ summary: CheckSummary, _ store: Store) -> BackupError {
        BackupError(
            .unsupportedVersion,
            .plural(
                summary.newerCount,
                one:
                    "\(summary.newerCount) thing is of a later version of backupfs and was not checked; there is no damage elsewhere",
                other:
                    "\(summary.newerCount) things are of a later version of backupfs and were not checked; there is no damage elsewhere"
            ),
            path: store.repositoryLocation, remedy: "Check the repository with a newer version of backupfs.")
    }

    private static func verdict(_ summary: CheckSummary) -> Message {
        let findings = Message.plural(
            summary.findingCount, one: "\(summary.findingCount) finding", other: "\(summary.findingCount) findings")
        guard summary.damagedFileCount > 0 else { return "\(findings); no file of any backup is damaged" }
        let backups = Message.plural(
            summary.damagedSnapshotCount, one: "\(summary.damagedSnapshotCount) backup",
            other: "\(summary.damagedSnapshotCount) backups")
        let files = Message.plural(
            summary.damagedFileCount, one: "\(summary.damagedFileCount) file is damaged in \(backups)",
            other: "\(summary.damagedFileCount) files are damaged in \(backups)")
        return "\(findings); \(files)"
    }

    // MARK: JSON

    private static func json(_ event: CheckEvent) -> OrderedJSON {
        switch event {
        case .finding(let finding):
            [
                "message_type": "finding", "kind": finding.kind.rawValue, "message": finding.error.message,
                "path": finding.error.path, "remedy": finding.error.remedy, "pack": finding.pack?.hexadecimal,
                "chunk": finding.chunk?.hexadecimal, "repaired": finding.isRepaired,
            ]
        case .damaged(let file): json("damaged", file.snapshot, file.path, isFolder: file.isFolder)
        case .unreadable(let file): json("unreadable", file.snapshot, file.path, isFolder: file.isFolder)
        case .repaired(let text): ["message_type": "repaired", "message": text]
        }
    }

    private static func json(_ type: String, _ snapshot: Snapshot, _ path: FileName, isFolder: Bool) -> OrderedJSON {
        [
            "message_type": type, "snapshot": snapshot.name, "snapshot_id": snapshot.id, "path": path,
            "type": isFolder ? "dir" : "file",
        ]
    }

    private static func json(_ summary: CheckSummary) -> OrderedJSON {
        [
            "message_type": "summary", "sound": summary.isSound, "snapshots": summary.snapshotCount, "packs": summary.packCount,
            "chunks": summary.chunkCount, "packs_read": summary.readPackCount, "bytes_read": summary.readByteCount,
            "findings": summary.findingCount, "later_version": summary.newerCount, "damaged_files": summary.damagedFileCount,
            "damaged_snapshots": summary.damagedSnapshotCount,
        ]
    }
}

import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show how much space the backups use.",
        discussion: """
            For each backup: the sizes of its files; how much of that no older backup has, and what it takes in the repository; and what \
            only this backup needs, so that deleting it gives so much back (after prune).

            With --records: what the app's records are like (how many, of which kinds, in which months), of the data as it is now or of one backup.

            Example:
              backupfs stats
              backupfs stats --records
              backupfs stats latest --json | jq .total.stored_bytes
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @OptionGroup var output: OutputOptions
    @Flag(name: .long, help: "Show statistics of the records instead of sizes.")
    var records = false
    @Argument(help: ArgumentHelp("Backups' names, or \"latest\" (default: all).", valueName: "snap"), completion: .snapshot)
    var snapshots: [String] = []

    func validate() throws {
        if records, snapshots.count > 1 {
            throw ValidationError("--records is of one backup, or of none: then of the data as it is now.")
        }
    }

    func run() throws {
        if records {
            let document = try RecordStatisticsDocument(of: store.open(remote), snapshotName: snapshots.first)
            return output.json ? Terminal.write(json: document.json) : Terminal.write(document.text)
        }
        let document = try StatisticsDocument(of: store.open(remote), names: snapshots)
        if output.json {
            Terminal.write(json: document.json)
            return
        }
        let statistics = document.statistics
        guard !statistics.snapshots.isEmpty else {
            Terminal.write("No backups yet. Make one with: backupfs backup")
            return
        }
        let rows = statistics.snapshots.map { item in
            [
                item.snapshot.name.description, Terminal.time(item.snapshot.creationTime),
                String(item.snapshot.record.root.totals.fileCount), ByteCount.text(item.logicalBytes),
                ByteCount.text(item.added.uniqueBytes), ByteCount.text(item.addedStoredBytes),
                ByteCount.text(item.exclusive.storedBytes),
            ]
        }
        let total = statistics.total
        let sum = [
            Terminal.language.text("Together"), "", "", ByteCount.text(statistics.logicalBytes),
            ByteCount.text(total.uniqueBytes),
            ByteCount.text(statistics.storedBytes), "",
        ]
        Terminal.write(verbatim: Table.text(["Name", "Created", "Files", "Size", "New", "Stored", "Only here"], rows + [sum]))
        var ratios: [Message] = []
        if let ratio = StatisticsDocument.ratioText(statistics.logicalBytes, total.uniqueBytes) {
            ratios.append("deduplication \(ratio)")
        }
        if let ratio = StatisticsDocument.ratioText(total.uniqueBytes, total.storedBytes) {
            ratios.append("compression \(ratio)")
        }
        if let ratio = StatisticsDocument.ratioText(statistics.logicalBytes, statistics.storedBytes) {
            ratios.append("together \(ratio)")
        }
        Terminal.write("Ratios: \(Message.joined(ratios))")
        Terminal.write(
            """
            Repository: \(ByteCount.text(document.totals.packByteCount)) in \(document.totals.packCount) packs, \
            \(document.totals.chunkCount) chunks; these backups need \
            \(total.chunkCount + statistics.structures.chunkCount) of them
            """)
    }
}

import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Show past operations: when, how long, the result and the amount of data.",
        discussion: """
            The last 1,000 operations are kept. No password is asked for.

            Example:
              backupfs history
              backupfs history --automatic --last 5
              backupfs history --json | jq -c '.[] | select(.result == "failed")'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: .long, help: "Only automatic backups.")
    var automatic = false
    @Option(name: .long, help: ArgumentHelp("How many, 1 to 1000.", valueName: "n"))
    var last = 20

    func validate() throws {
        guard (1...OperationHistory.limitCount).contains(last) else {
            throw ValidationError("--last is 1 to \(OperationHistory.limitCount).")
        }
    }

    func run() throws {
        let records = try OperationHistory(storeAt: store.path()).last(last, isAutomatic: automatic ? true : nil)
        if output.json {
            Terminal.write(json: OrderedJSON.array(records.map(\.historyJSON.snakeCased)))
        } else if records.isEmpty {
            Terminal.write(automatic ? "The schedule has not started a backup yet." : "Nothing has been done yet.")
        } else {
            let headings: [Message] = ["Started", "Operation", "", "Result", "Duration", "Size", "New", "Backup"]
            Terminal.write(verbatim: Table.text(headings, records.map(Self.row)))
        }
    }

    private static func row(_ record: OperationRecord) -> [String] {
        let facts = record.facts
        return [
            Terminal.time(record.startedAt), record.operation.rawValue,
            record.isAutomatic ? Terminal.language.text("automatic") : "",
            record.resultText, DurationText.precise(milliseconds: record.durationMilliseconds),
            facts.sizeBytes.map { ByteCount.text($0) } ?? "", facts.storedByteCount.map { ByteCount.text($0) } ?? "",
            facts.snapshot.map { MessageText.shortened($0) } ?? "",
        ]
    }
}

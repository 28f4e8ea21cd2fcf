import ArgumentParser
import BackupCore
import CopyVerify
import FUSEBridge
import SystemIO

struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Compare two folders: what is on one side only, what differs, what was moved.",
        discussion: """
            A side is a folder, a ZIP archive, a list of checksums (SHA256SUMS, SHA1SUMS, MD5SUMS), or a backup of the store by its name: its media files. \
            Without --checksum and --bytes, files of the same size and time count as equal. Links are compared by their targets, and nothing is \
            followed. The exit code is 0 if both are equal, 1 if not, and 3 if something could not be read.

            Example:
              backupfs compare /media/card /mnt/a/card
              backupfs compare --checksum /media/card /mnt/a/card
              backupfs compare --checksum /mnt/a/card /mnt/a/card/SHA256SUMS
              backupfs compare --bytes --hidden --json /media/card /mnt/a/card
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: .long, help: "Compare the SHA-256 of the files, or the checksums that a list has.")
    var checksum = false
    @Flag(name: .long, help: "Compare the files byte by byte. Never uses the cache of checksums.")
    var bytes = false
    @OptionGroup var cache: ChecksumCacheOptions
    @Flag(name: .long, help: "Compare names that begin with a dot, too.")
    var hidden = false
    @Option(
        name: .long,
        help: ArgumentHelp("By how much the times of equal files may differ (default: 2).", valueName: "seconds"))
    var timeWindow = ComparisonOptions.defaultTimeWindowSeconds
    @Flag(name: .long, help: "Do not read files to find out whether they were moved or renamed.")
    var noMoves = false
    @Option(
        name: .long,
        help: ArgumentHelp("How many paths of each list to show; all are counted (default: 100).", valueName: "n"))
    var limit = 100
    @Argument(help: ArgumentHelp("The first side.", valueName: "left"), completion: .file())
    var left: String
    @Argument(help: ArgumentHelp("The second side.", valueName: "right"), completion: .file())
    var right: String

    func validate() throws {
        if checksum, bytes { throw ValidationError("Choose one of --checksum and --bytes.") }
        guard timeWindow >= 0 else { throw ValidationError("--time-window is a number of seconds.") }
        guard limit >= 0 else { throw ValidationError("--limit is 0 or more.") }
    }

    func run() throws {
        DescriptorLimit.raise()
        Malloc.limitArenas()
        let options = ComparisonOptions(
            method: bytes ? .bytes : checksum ? .checksum : .size, includesHidden: hidden, timeWindowSeconds: timeWindow,
            findsMoves: !noMoves)
        let checksums = try cache.checksums(isUsed: !bytes)
        let report = ComparisonReport(options, isJSON: output.json, limit: limit)
        let printer = ProgressPrinter(isJSON: false)
        defer { printer.finish() }
        let handler = output.json ? nil : printer.handler
        let result = Result { () throws(BackupError) in
            try CancellingSignals.run { () throws(BackupError) in
                try Cancellation().run { () throws(BackupError) in try compare(options, checksums, report, handler) }
            }
        }
        printer.finish()
        ChecksumCacheOptions.finish(checksums)
        let totals = try result.get()
        try report.write(totals, from: left, to: right, checksums.counts)
        if totals.unreadableCount > 0 { throw ExitCode(ExitStatus.incomplete.rawValue) }
        if !totals.isEqual { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private func compare(
        _ options: ComparisonOptions, _ checksums: FileChecksums, _ report: ComparisonReport, _ progress: ProgressHandler?
    ) throws(BackupError) -> ComparisonTotals {
        let (first, second) = (try ComparedName(left), try ComparedName(right))
        let sides = try ComparedName.sides(first, second, checksums, store)
        let comparison = try TreeComparison(sides.source, sides.destination, options, progress: progress ?? { _ in }) {
            (finding) throws(BackupError) in
            try report.add(finding)
        }
        return try comparison.run()
    }
}

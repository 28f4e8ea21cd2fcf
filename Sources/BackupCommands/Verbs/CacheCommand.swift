import ArgumentParser
import BackupCore
import CopyVerify
import Formats
import SystemIO

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Show or empty the cache of checksums.",
        discussion: """
            The cache has the checksums that `backupfs compare --checksum` and `backupfs checksum` computed.

            Example:
              backupfs cache stats
              backupfs cache clear
            """,
        subcommands: [CacheStatsCommand.self, CacheClearCommand.self])
}

struct CacheStatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show what is in the cache of checksums.",
        discussion: """
            Example:
              backupfs cache stats --json | jq .current_entries
            """)

    @OptionGroup var verbosity: VerbosityOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let statistics = try ChecksumCache.statistics(path: ChecksumCache.defaultPath())
        if output.json {
            return Terminal.write(json: [
                "path": statistics.path, "entries": statistics.count, "current_entries": statistics.currentCount,
                "size_bytes": statistics.sizeBytes, "oldest": statistics.oldest, "newest": statistics.newest,
            ])
        }
        Terminal.write("File: \(statistics.path) (\(ByteCount.text(statistics.sizeBytes)))")
        Terminal.write("Checksums: \(statistics.count), of the last hour: \(statistics.currentCount)")
        if let oldest = statistics.oldest { Terminal.write("The oldest is of \(SystemClock.localTime(oldest))") }
    }
}

struct CacheClearCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Empty the cache of checksums.",
        discussion: """
            No file is lost by that: checksums are computed again.

            Example:
              backupfs cache clear
            """)

    @OptionGroup var verbosity: VerbosityOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let count = try ChecksumCache.clear(path: ChecksumCache.defaultPath())
        if output.json { return Terminal.write(json: ["removed": count]) }
        if let count {
            Terminal.writeUnlessQuiet(
                .plural(count, one: "\(count) checksum was removed.", other: "\(count) checksums were removed."))
        } else {
            Terminal.writeUnlessQuiet("The cache was damaged. It is empty now.")
        }
    }
}

import ArgumentParser
import BackupCore
import Formats
import Operations

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the store's state.",
        discussion: """
            With --watch it is shown again and again until Ctrl-C: on a terminal in place, elsewhere a line for each change. With --prometheus it \
            is told in Prometheus's text format, on standard output or in a file that is replaced as a whole. With --check one line says whether \
            the newest backup is young enough and the schedule's last one did not fail; if not, the exit code is 1.

            Example:
              backupfs status --json | jq .lastBackup.createdAt
              backupfs status --watch 5
              backupfs status --prometheus /var/lib/prometheus/node-exporter/backupfs.prom
              backupfs status --check 26h
            """)

    private static let defaultIntervalSeconds = 2.0
    private static let intervalLimits = 0.1...86_400.0

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: .long, help: "Show it repeatedly, until Ctrl-C.")
    var watch = false
    @Flag(name: .long, help: "Also show statistics of the app's records.")
    var records = false
    @Flag(name: .long, help: "Print it in the text format of Prometheus.")
    var prometheus = false
    @Option(
        name: .long,
        help: ArgumentHelp("Only say whether the newest backup is younger than this (26h, 7d).", valueName: "max-age"))
    var check: String?
    @Argument(
        help: ArgumentHelp(
            "With --watch: how many seconds to wait in between (default: 2). With --prometheus: the file to write.",
            valueName: "seconds|file"), completion: .file())
    var operand: String?

    func validate() throws {
        if [watch, prometheus, check != nil].count(where: { $0 }) > 1 {
            throw ValidationError("Choose one of --watch, --prometheus and --check.")
        }
        if records, watch || prometheus || check != nil || output.json {
            throw ValidationError("--records adds to the text only; --json tells of the records in any case.")
        }
        if prometheus, output.json { throw ValidationError("--prometheus has a format of its own; leave out --json.") }
        if operand != nil, !watch, !prometheus { throw ValidationError("Only --watch and --prometheus take an argument.") }
        if watch, let operand, Double(operand).map({ Self.intervalLimits.contains($0) }) != true {
            throw ValidationError("--watch takes a number of seconds from 0.1 to 86400, not “\(operand)”.")
        }
    }

    func run() throws {
        let maximumAge = try check.map { (text) throws(BackupError) in try RetentionPeriod(parsing: text, m: nil) }
        let store = try store.open()
        if watch {
            let seconds = operand.flatMap { Double($0) } ?? Self.defaultIntervalSeconds
            return try StatusWatch(store: store, intervalSeconds: seconds, isJSON: output.json).run()
        }
        let (state, totals) = try StorageWatch.watching(store.paths.root) { (_) throws(BackupError) in
            (try StoreState(of: store), prometheus ? try store.repository.totals() : nil)
        }
        if let maximumAge { return try report(HealthCheck(state, maximumAge: maximumAge)) }
        if prometheus, let totals {
            let metrics = PrometheusText(state, repository: totals, requests: RequestCounts.read(store.paths))
            if let operand, operand != "-" {
                try metrics.write(to: operand, of: store)
            } else {
                Terminal.write(verbatim: metrics.text)
            }
        } else if output.json {
            Terminal.write(json: StatusDocument(state, of: store).json)
        } else {
            for line in StatusText(state, hasStatistics: records).lines { Terminal.write(line) }
        }
    }

    private func report(_ check: HealthCheck) throws {
        if output.json {
            Terminal.write(jsonLine: check.json)
        } else {
            for line in StatusText.lines(check) { Terminal.write(line) }
        }
        if check.finding != .healthy { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}

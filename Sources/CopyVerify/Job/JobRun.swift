import BackupCore
import Formats
import Glibc
import SystemIO

/// One run of a job: the first one, or one that went on with it.
public struct JobRun: Sendable {
    static let textLimit = 1_000

    /// When its first file was about to be read.
    public let startedAt: Timestamp
    /// `nil` for a run that goes on, or that a crash or a power cut has ended.
    public internal(set) var endedAt: Timestamp?
    /// How it has ended.
    public internal(set) var state: JobState?
    /// Of the whole run.
    public internal(set) var elapsedSeconds = 0.0
    /// Until the last file of the source had been read.
    var copySeconds = 0.0
    /// In which the destination that took longest read its copies back, while other files were copied.
    var verifySeconds = 0.0
    /// Of the source.
    public internal(set) var readBytes: UInt64 = 0
    /// Of what was written and read back, at all destinations.
    var averageBytesPerSecond: UInt64 = 0
    var peakBytesPerSecond: UInt64 = 0
    /// `source`, `processor` or the path of a destination.
    var bottleneck: String?
    /// Files and links of the source.
    public internal(set) var fileCount: UInt64 = 0
    /// Of the source.
    public internal(set) var totalBytes: UInt64 = 0
    /// Names that were left out since they begin with a dot.
    var hiddenCount: UInt64 = 0
    var workerCount = 0
    var problemCount = 0
    var warningCount = 0
    /// What belongs to no file of a destination; the first of them.
    var problems: [String] = []
    /// The first of them.
    var warnings: [String] = []
    /// Why nothing more was copied to a destination.
    var destinationErrors: [String: String] = [:]

    init(startedAt: Timestamp) { self.startedAt = startedAt }
}

extension JobFolder {
    /// The file of all runs: the events of each, as lines.
    var runs: String { "\(path)/runs.jsonl" }

    /// Notes durably that a run begins.
    func noteBegin(at time: Timestamp) throws(BackupError) { try appendRun([["event": "begin", "at": time]]) }

    /// Notes durably how a run has ended.
    func noteEnd(_ run: JobRun) throws(BackupError) {
        var lines: [OrderedJSON] = []
        for text in run.problems { lines.append(["event": "problem", "message": text]) }
        for text in run.warnings { lines.append(["event": "warning", "message": text]) }
        for (path, text) in run.destinationErrors.sorted(by: { $0.key < $1.key }) {
            lines.append(["event": "destination_failed", "destination": path, "message": text])
        }
        // Last: a run without it was interrupted.
        lines.append([
            "event": "end", "at": run.endedAt, "state": run.state?.rawValue, "elapsed_seconds": Self.decimal(run.elapsedSeconds),
            "copy_seconds": Self.decimal(run.copySeconds), "verify_seconds": Self.decimal(run.verifySeconds),
            "bytes_read": run.readBytes, "average_bps": run.averageBytesPerSecond, "peak_bps": run.peakBytesPerSecond,
            "bottleneck": run.bottleneck, "files": run.fileCount, "bytes": run.totalBytes, "hidden": run.hiddenCount,
            "workers": run.workerCount, "problems": run.problemCount, "warnings": run.warningCount,
        ])
        try appendRun(lines)
    }

    private static func decimal(_ seconds: Double) -> OrderedJSON {
        .decimal((min(max(seconds, 0), 1e9) * 1_000).rounded() / 1_000)
    }

    func appendRun(_ lines: [OrderedJSON]) throws(BackupError) {
        let isNew = try !FileSystem.exists(runs)
        let file = try OwnedDescriptor.open(runs, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW)
        var text: [UInt8] = []
        // A line that a crash has torn must not swallow the next one.
        let size = try file.status().size
        if size > 0, try file.readExactly(at: size - 1, count: 1) != [10] { text.append(10) }
        for line in lines { text += line.compactText + [10] }
        try file.writeAll(text)
        try file.synchronize()
        if isNew { try FileSystem.synchronizeDirectory(path) }
    }

    /// The runs, the first one first.
    public func readRuns() throws(BackupError) -> [JobRun] {
        guard try FileSystem.exists(runs) else { return [] }
        var found: [JobRun] = []
        var lines = try LineFile(path: runs)
        while let line = try lines.next() {
            let members = JSONMembers(line)
            guard let event = members.text("event"), members.isFlat else { continue }
            if event == "begin" {
                if let time = members.time("at") { found.append(JobRun(startedAt: time)) }
                continue
            }
            guard var run = found.popLast() else { continue }
            run.take(event, members)
            found.append(run)
        }
        return found
    }
}

extension JobRun {
    fileprivate mutating func take(_ event: String, _ members: JSONMembers) {
        switch event {
        case "problem": if let text = members.text("message"), problems.count < Self.textLimit { problems.append(text) }
        case "warning": if let text = members.text("message"), warnings.count < Self.textLimit { warnings.append(text) }
        case "destination_failed":
            if let path = members.text("destination") { destinationErrors[path] = members.text("message") ?? "" }
        case "end":
            endedAt = members.time("at")
            state = members.word("state")
            elapsedSeconds = members.number("elapsed_seconds") ?? 0
            copySeconds = members.number("copy_seconds") ?? 0
            verifySeconds = members.number("verify_seconds") ?? 0
            readBytes = members.number("bytes_read") ?? 0
            averageBytesPerSecond = members.number("average_bps") ?? 0
            peakBytesPerSecond = members.number("peak_bps") ?? 0
            bottleneck = members.text("bottleneck")
            fileCount = members.number("files") ?? 0
            totalBytes = members.number("bytes") ?? 0
            hiddenCount = members.number("hidden") ?? 0
            workerCount = members.number("workers") ?? 0
            problemCount = members.number("problems") ?? 0
            warningCount = members.number("warnings") ?? 0
        default: break
        }
    }
}

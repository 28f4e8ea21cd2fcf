import BackupCore
import CopyVerify
import Formats
import Glibc
import Synchronization
import SystemIO

/// Shows the progress of a copy: on a terminal a line for each destination, once it has taken two seconds; a JSON line a second
/// for programs; nothing otherwise.
final class CopyProgressPrinter: Sendable {
    private struct State {
        var job = ""
        var startedAt = SystemClock.monotonicNanoseconds()
        var lastLineAt: UInt64 = 0
        var openLineCount = 0
    }

    private static let quietNanoseconds: UInt64 = 2_000_000_000
    private static let lineIntervalNanoseconds: UInt64 = 1_000_000_000

    private let isJSON: Bool
    private let state = Mutex(State())

    init(isJSON: Bool) { self.isJSON = isJSON }

    /// The job has begun.
    func begin(_ job: String) {
        state.withLock { $0.job = job }
        if !isJSON, Terminal.verbosity == .verbose { Terminal.writeError("Job: \(job)") }
    }

    /// With `--verbose`, a line for each phase.
    func begin(_ phase: JobPhase) {
        guard !isJSON, Terminal.verbosity == .verbose else { return }
        finish()
        Terminal.writeError(phase.label)
    }

    /// While the source is looked through, before the job begins.
    func showSearch(fileCount: UInt64, bytes: UInt64) {
        guard !isJSON, isShown() else { return }
        draw([.plural(fileCount, one: "Looking: \(fileCount) file", other: "Looking: \(fileCount) files")])
    }

    func show(_ progress: CopyProgress) {
        if isJSON {
            let now = SystemClock.monotonicNanoseconds()
            let job = state.withLock { state -> String? in
                guard now >= state.lastLineAt + Self.lineIntervalNanoseconds else { return nil }
                state.lastLineAt = now
                return state.job
            }
            if let job, Terminal.verbosity != .quiet { Terminal.write(jsonLine: Self.json(progress, job)) }
        } else if isShown() {
            draw(Self.lines(progress))
        }
    }

    private func isShown() -> Bool {
        guard Terminal.isErrorTerminal, Terminal.verbosity != .quiet else { return false }
        return SystemClock.monotonicNanoseconds() >= state.withLock { $0.startedAt } + Self.quietNanoseconds
    }

    /// Replaces the lines that were drawn before.
    private func draw(_ lines: [Message]) {
        state.withLock { state in
            state.openLineCount = Terminal.redrawBlock(lines.map(Terminal.language.text), over: state.openLineCount)
        }
    }

    /// Removes the lines.
    func finish() {
        state.withLock { state in
            if state.openLineCount > 0 { _ = Terminal.redrawBlock([], over: state.openLineCount) }
            state.openLineCount = 0
        }
    }

    private static func lines(_ progress: CopyProgress) -> [Message] {
        var lines = progress.parts.map { part -> Message in
            if part.hasFailed { return "\(part.path): failed" }
            return "\(part.path): \(part.percent) %, \(speed(part.bytesPerSecond))/s"
        }
        let limit: Message =
            switch progress.bottleneck {
            case .source: "the source"
            case .destination(let index): .verbatim(progress.parts[index].path)
            case .processor: "the processor"
            }
        if let remaining = progress.timing.remainingSeconds, progress.timing.rollingBytesPerSecond > 0 {
            lines.append("about \(DurationText.of(remaining)) left, waiting for \(limit)")
        }
        return lines
    }

    private static func speed(_ bytesPerSecond: Double) -> String { ByteCount.text(UInt64(min(max(bytesPerSecond, 0), 9e18))) }

    private static func json(_ progress: CopyProgress, _ job: String) -> OrderedJSON {
        let parts = progress.parts.map { part -> OrderedJSON in
            [
                "path": part.path, "percent": part.percent, "bytes_done": part.doneBytes, "total_bytes": part.totalBytes,
                "bytes_per_second": UInt64(min(max(part.bytesPerSecond, 0), 9e18)), "failed": part.hasFailed,
            ]
        }
        let bottleneck =
            switch progress.bottleneck {
            case .source: "source"
            case .destination(let index): progress.parts[index].path
            case .processor: "processor"
            }
        let percent = progress.totalBytes == 0 ? 100 : Double(progress.doneBytes) / Double(progress.totalBytes) * 100
        let document: OrderedJSON = [
            "message_type": "status", "job": job, "phase": "Copying", "percent": Int(min(100, percent)),
            "items_done": progress.finishedCount, "total_items": progress.totalCount, "bytes_done": progress.doneBytes,
            "total_bytes": progress.totalBytes,
            "seconds_remaining": progress.timing.remainingSeconds.map { UInt64(min($0.rounded(), 1e9)) },
            "bottleneck": bottleneck, "destinations": parts,
        ]
        return document
    }
}

extension Terminal {
    /// Draws lines on standard error over those that were drawn before.
    /// - Parameter count: how many were drawn before.
    /// - Returns: how many are drawn now.
    static func redrawBlock(_ lines: [String], over count: Int) -> Int {
        // Where lines cannot be erased, the first one stands for all.
        if isPlain {
            showStatusLine(lines.first ?? "")
            return lines.isEmpty ? 0 : 1
        }
        var text = count > 1 ? "\r\u{1B}[\(count - 1)A" : "\r"
        text += lines.map { TerminalText.harmless($0, keepsLines: false) + "\u{1B}[K" }.joined(separator: "\n") + "\u{1B}[J"
        let bytes = Array(text.utf8)
        bytes.withUnsafeBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        return lines.count
    }
}

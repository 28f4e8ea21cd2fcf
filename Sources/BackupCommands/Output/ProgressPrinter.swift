import BackupCore
import Formats
import Glibc
import Operations
import Synchronization
import SystemIO

/// Shows the progress of an operation: a status line on a terminal, once it has taken two seconds; JSON lines with `message_type`
/// for programs; nothing otherwise. Programs get at most ten lines a second of one phase, and always its first and last.
final class ProgressPrinter: Sendable {
    private struct State {
        var shownMessage: Message?
        var shownPercent: Int?
        var isLineOpen = false
        var latest: OperationProgress?
        var startedAt: UInt64 = 0
        var shownPhase: Message?
        var lastLineAt: UInt64 = 0
        /// Progress that came too early for a line, and becomes one unless more of its phase follows.
        var waiting: OperationProgress?
    }

    /// Shorter operations show no progress.
    private static let quietNanoseconds: UInt64 = 2_000_000_000

    private static let lineIntervalNanoseconds: UInt64 = 100_000_000

    private let isJSON: Bool
    private let state = Mutex(State())

    init(isJSON: Bool) { self.isJSON = isJSON }

    var handler: ProgressHandler {
        { [self] progress in show(progress) }
    }

    private func show(_ progress: OperationProgress) {
        let verbosity = Terminal.verbosity
        guard verbosity != .quiet else { return }
        guard isJSON || Terminal.isErrorTerminal || verbosity == .verbose else { return }
        let now = SystemClock.monotonicNanoseconds()
        // Printed under the lock, to keep the order.
        state.withLock { state in
            if state.latest == nil { state.startedAt = now }
            var timed = progress
            timed.time(after: state.latest, at: now)
            state.latest = timed
            guard isJSON || verbosity == .verbose || now >= state.startedAt + Self.quietNanoseconds else { return }
            // Without a status line, prints one line for each step.
            let hasLines = !isJSON && !Terminal.isErrorTerminal
            if hasLines, state.shownMessage == progress.message { return }
            guard state.shownMessage != progress.message || state.shownPercent != progress.percent else { return }
            state.shownMessage = progress.message
            state.shownPercent = progress.percent
            state.isLineOpen = !isJSON && !hasLines
            if hasLines { return Terminal.writeError(progress.message) }
            guard isJSON else { return write(timed, timed.timing) }
            if state.shownPhase == progress.phase, now < state.lastLineAt + Self.lineIntervalNanoseconds {
                state.waiting = progress
                return
            }
            if state.shownPhase != progress.phase { writeWaiting(&state) }
            state.waiting = nil
            state.shownPhase = progress.phase
            state.lastLineAt = now
            write(timed, timed.timing)
        }
    }

    private func writeWaiting(_ state: inout State) {
        guard let progress = state.waiting else { return }
        state.waiting = nil
        write(progress, state.latest?.timing)
    }

    private func write(_ progress: OperationProgress, _ timing: OperationTiming?) {
        guard let timing = timing?.reading(at: SystemClock.monotonicNanoseconds()) else { return }
        if isJSON {
            Terminal.write(jsonLine: [
                "message_type": "status", "phase": progress.phase, "message": progress.message, "percent": progress.percent,
                "items_done": progress.processedItems, "total_items": progress.totalItems, "bytes_done": progress.processedBytes,
                "total_bytes": progress.totalBytes,
                "seconds_remaining": timing.remainingSeconds.map { UInt64(min($0.rounded(), 1e9)) },
            ])
        } else {
            Terminal.showStatusLine(Terminal.language.text(ProgressText.line(progress, timing)))
        }
    }

    /// Clears the status line, or writes the last one for programs.
    func finish() {
        let wasOpen = state.withLock { state in
            writeWaiting(&state)
            defer { state.isLineOpen = false }
            return state.isLineOpen
        }
        if wasOpen { Terminal.showStatusLine("") }
    }
}

extension Terminal {
    /// The maximum width of a status line where the old one cannot be erased, only overwritten.
    private static let plainLineWidth = 79

    /// Replaces the terminal's current line on standard error.
    static func showStatusLine(_ text: String) {
        let blank = String(repeating: " ", count: plainLineWidth)
        let text = TerminalText.harmless(text, keepsLines: false)
        let shown = isPlain ? "\r\(blank)\r\(text.prefix(plainLineWidth))" : "\r\u{1B}[K\(text)"
        let bytes = Array(shown.utf8)
        bytes.withUnsafeBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

/// The status line on a terminal while an operation runs.
enum ProgressText {
    static func line(_ progress: OperationProgress, _ timing: OperationTiming.Reading) -> Message {
        guard let percent = progress.percent else { return progress.message }
        guard let remaining = timing.remainingSeconds, timing.rollingBytesPerSecond > 0 else {
            return "\(progress.message) \(percent) %"
        }
        let speed = ByteCount.text(UInt64(min(timing.rollingBytesPerSecond, 9e18)))
        return "\(progress.message) \(percent) %, \(speed)/s, about \(DurationText.of(remaining)) left"
    }
}

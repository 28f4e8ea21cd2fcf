import BackupCore
import Export
import Glibc
import Operations
import Synchronization
import SystemIO

/// Shows how far an operation is: a line that moves on a terminal, JSON lines with `message_type` for programs, nothing otherwise.
final class ProgressPrinter: Sendable {
    private struct State {
        var shownPhase: Message?
        var shownPercent: Int?
        var isLineOpen = false
    }

    private let isJSON: Bool
    private let state = Mutex(State())

    init(isJSON: Bool) { self.isJSON = isJSON }

    var handler: ProgressHandler {
        { [self] progress in show(progress) }
    }

    private func show(_ progress: OperationProgress) {
        guard isJSON || Terminal.isErrorTerminal else { return }
        let mustShow = state.withLock { state in
            let isNew = state.shownPhase != progress.phase || state.shownPercent != progress.percent
            state.shownPhase = progress.phase
            state.shownPercent = progress.percent
            state.isLineOpen = !isJSON
            return isNew
        }
        guard mustShow else { return }
        if isJSON {
            let line = OrderedJSON.members([
                "message_type": .text("status"), "phase": .text(progress.phase.english),
                "percent": progress.percent.map { .integer($0) } ?? .null, "items_done": .integer(progress.processedItems),
                "total_items": .integer(progress.totalItems), "bytes_done": .integer(progress.processedBytes),
            ])
            Terminal.say(line.compactText + [10])
        } else {
            let phase = Terminal.language.text(progress.phase)
            Terminal.showStatusLine(progress.percent.map { "\(phase) \($0)%" } ?? phase)
        }
    }

    /// Clears the moving line.
    func finish() {
        let wasOpen = state.withLock { state in
            defer { state.isLineOpen = false }
            return state.isLineOpen
        }
        if wasOpen { Terminal.showStatusLine("") }
    }
}

extension Terminal {
    /// Replaces the terminal's current line on standard error.
    static func showStatusLine(_ text: String) {
        let bytes = Array("\r\u{1B}[K\(text)".utf8)
        bytes.withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

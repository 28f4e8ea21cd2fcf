import BackupCore
import Formats
import Glibc
import Operations
import SystemIO

/// Shows the state of a store repeatedly until interrupted: a terminal is redrawn; elsewhere (and in plain-text mode) a line is
/// printed after each change.
struct StatusWatch {
    let store: Store
    let intervalSeconds: Double
    let isJSON: Bool

    /// - Throws: when the first read of the state fails. Later failures are printed, as they may pass.
    func run() throws(BackupError) {
        try CancellingSignals.run { () throws(BackupError) in
            var shown = ""
            var isFirst = true
            while !Cancellation.isProcessEnding {
                do throws(BackupError) {
                    try show(&shown)
                } catch {
                    // Ctrl-C is the way to end it.
                    if Cancellation.isProcessEnding { return }
                    if isFirst { throw error }
                    say(Terminal.language.text(error.summary), &shown)
                }
                isFirst = false
                wait()
            }
        }
    }

    private func show(_ shown: inout String) throws(BackupError) {
        store.reloadSettings()
        let state = try StorageWatch.watching(store.paths.root, givesUp: false) { (_) throws(BackupError) in
            try StoreState(of: store)
        }
        if isJSON {
            return say(
                String(decoding: Terminal.versioned(StatusDocument(state, of: store).json).compactText, as: UTF8.self), &shown)
        }
        let text = StatusText(state)
        guard Terminal.isOutputTerminal, !Terminal.isPlain else { return say(Terminal.language.text(text.line), &shown) }
        Terminal.redraw((text.lines + ["", "\(SystemClock.localTime(state.now)). Ctrl-C ends it."]).map(Terminal.language.text))
    }

    /// Prints the line if it differs from the last one.
    private func say(_ line: String, _ shown: inout String) {
        guard line != shown else { return }
        shown = line
        Terminal.write(verbatim: line)
    }

    /// In steps: a signal may come just before the sleep.
    private func wait() {
        let end = SystemClock.monotonicNanoseconds() + UInt64(intervalSeconds * 1_000_000_000)
        while !Cancellation.isProcessEnding, SystemClock.monotonicNanoseconds() < end { usleep(50_000) }
    }
}

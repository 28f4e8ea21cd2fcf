import BackupCore
import BackupRepository
import Operations
import SystemIO

/// Logs a mount's failed requests, and backups. Repeated failures with the same reason are logged once. A separate thread writes
/// the lines: standard error may be a file on the very storage that does not respond, and the requester waits for the error.
final class FailureLog: Sendable {
    private struct State {
        var lines: [Message] = []
        var omittedCount = 0
        var isWriting = false
        /// When each error of a request was last seen.
        var notedNanoseconds: [String: UInt64] = [:]
    }

    /// The maximum number of pending lines. Beyond it, new ones are only counted.
    private static let lineLimit = 100
    /// An error is logged again after it did not occur for this time.
    private static let sameNanoseconds: UInt64 = 60_000_000_000
    /// How many errors are remembered.
    private static let sameLimit = 100
    private static let endNanoseconds: UInt64 = 1_000_000_000

    private let state = Monitor(State())

    func note(_ request: String, _ error: BackupError) {
        if isNew(error) { note(.verbatim("backupfs: \(request): \(error.description)")) }
    }

    /// Whether no request has failed with this error for a while. File managers and monitors retry endlessly while storage
    /// stalls.
    private func isNew(_ error: BackupError) -> Bool {
        let now = SystemClock.monotonicNanoseconds()
        return state.withLock { state in
            let last = state.notedNanoseconds.updateValue(now, forKey: error.description)
            if state.notedNanoseconds.count > Self.sameLimit, let oldest = state.notedNanoseconds.min(by: { $0.value < $1.value })
            {
                state.notedNanoseconds[oldest.key] = nil
            }
            return last.map { now - $0 >= Self.sameNanoseconds } ?? true
        }
    }

    func note(_ line: Message) {
        let mustStart = state.withLock { state in
            if state.lines.count < Self.lineLimit {
                state.lines.append(line)
            } else {
                state.omittedCount += 1
            }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard mustStart else { return }
        do throws(BackupError) {
            try SystemThread { [self] in write() }.detach()
        } catch {
            write()
        }
    }

    /// Waits until everything is written, but not for long.
    func finish() { _ = state.wait(until: { !$0.isWriting }, forNanoseconds: Self.endNanoseconds) }

    private func write() {
        while true {
            let (lines, omittedCount) = state.changeWakingAll { state in
                defer { (state.lines, state.omittedCount) = ([], 0) }
                if state.lines.isEmpty { state.isWriting = false }
                return (state.lines, state.omittedCount)
            }
            if lines.isEmpty { return }
            for line in lines { Terminal.writeError(line) }
            guard omittedCount > 0 else { continue }
            Terminal.writeError(
                .plural(
                    omittedCount, one: "backupfs: \(omittedCount) more line was left out here",
                    other: "backupfs: \(omittedCount) more lines were left out here"))
        }
    }
}

/// A mount's messages about backups that no command waits for, on standard error, which is `mount.log` in the background.
enum MountComplaint {
    static let log = FailureLog()

    static func show(_ warnings: [Message], of backup: Snapshot) {
        for warning in warnings {
            let text = Message.joined([.verbatim(backup.name.description), warning], separator: ": ")
            log.note("warning: \(text)")
        }
    }
}

import Glibc
import Synchronization
import SystemIO

/// What was done and how it went: a line in the log for each operation, and the numbers for the end.
final class SoakLedger: Sendable {
    /// How an operation ended.
    enum Outcome: String, CaseIterable, Sendable {
        case done
        /// Another operation ran, or the app held its database.
        case busy
        /// The backup was deleted or renamed while it was read.
        case gone
        /// The mount lists the backup, which is not finished, and a command does not find it.
        case pending
        /// The app wrote twice between a live file's being found and opened (ESTALE).
        case stale
        /// The process that served the mount was killed meanwhile.
        case disturbed
        /// The command itself was killed.
        case killed
        /// The backup lacks a file that the app removed while it was made.
        case incomplete
        /// A file that had to be refused was.
        case refused
        /// Everything else: the soak fails.
        case unexpected
    }

    private struct State {
        var counts: [String: [Outcome: Int]] = [:]
        var errors: [String: Int] = [:]
        var unexpected: [String] = []
    }

    /// The log says all of them.
    private static let keptUnexpectedCount = 20

    private let state = Mutex(State())
    private let log: OwnedDescriptor
    private let startedAt = SoakLedger.now()

    init(logPath: String) throws {
        log = try OwnedDescriptor.open(logPath, O_WRONLY | O_CREAT | O_APPEND)
    }

    /// - Parameters:
    ///   - seconds: how long it took.
    ///   - text: what it said.
    func note(_ kind: String, _ outcome: Outcome, seconds: Double, _ text: String) {
        let line = text.split(separator: "\n").suffix(12).joined(separator: " | ")
        state.withLock { state in
            state.counts[kind, default: [:]][outcome, default: 0] += 1
            switch outcome {
            case .done, .killed: break
            case .unexpected:
                if state.unexpected.count < Self.keptUnexpectedCount { state.unexpected.append("\(kind): \(line)") }
            default: state.errors[outcome.rawValue, default: 0] += 1
            }
        }
        say("\(kind) \(outcome.rawValue) \(Int(seconds * 1000)) ms \(outcome == .done ? "" : line)")
    }

    /// A line in the log.
    func say(_ text: String) {
        let time = Self.now() - startedAt
        try? log.writeAll(Array("\(Double(Int(time * 1000)) / 1000) \(text)\n".utf8))
    }

    /// Unexpected results; the log has more.
    var unexpected: [String] { state.withLock { $0.unexpected } }

    func count(_ kind: String, _ outcome: Outcome = .done) -> Int { state.withLock { $0.counts[kind]?[outcome] ?? 0 } }

    /// A line for each kind of operation.
    var summary: [String] {
        state.withLock { state in
            state.counts.sorted { $0.key < $1.key }.map { kind, counts in
                let parts = Outcome.allCases.compactMap { outcome in counts[outcome].map { "\($0) \(outcome.rawValue)" } }
                return "\(kind): \(parts.joined(separator: ", "))"
            }
        }
    }

    /// Seconds that no one sets.
    static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }
}

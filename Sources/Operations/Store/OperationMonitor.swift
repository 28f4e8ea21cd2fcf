import BackupCore
import Export
import Synchronization
import SystemIO

/// The activity of the running operation, for `status.json` here and in other processes, and the last failure.
public final class OperationMonitor: Sendable {
    private struct State {
        var name: String?
        var startedAt: Timestamp?
        var progress: OperationProgress?
        var timing: OperationTiming?
        var lastWrittenAt: Timestamp?
        var cancellation: Cancellation?
    }

    private let recordPath: String
    private let errorPath: String
    private let state = Mutex(State())

    init(recordPath: String, errorPath: String) {
        self.recordPath = recordPath
        self.errorPath = errorPath
    }

    /// Runs an operation under a name and passes its progress on. It can be cancelled meanwhile: by `cancel`, or by a signal where `CancellingSignals` are
    /// enabled.
    /// - Parameters:
    ///   - percent: 0 for an operation that reports percentages throughout.
    ///   - retry: the command that repeats it, if it should fail.
    ///   - handler: also receives the progress.
    func run<Result>(
        _ name: String, phase: Message, percent: Int? = nil, retry: String? = nil, _ handler: ProgressHandler?,
        _ body: (_ report: @escaping ProgressHandler) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        // The caller may have its own, to end only this operation.
        let cancellation = Cancellation.current ?? Cancellation()
        let first = OperationProgress(phase: phase, percent: percent)
        state.withLock {
            $0 = State(
                name: name, startedAt: SystemClock.now(), progress: first,
                timing: OperationTiming(startingAt: SystemClock.monotonicNanoseconds()), cancellation: cancellation)
        }
        note(first, handler)
        defer {
            state.withLock { $0 = State() }
            try? FileSystem.removeFile(recordPath)
        }
        do {
            return try CancellingSignals.run { () throws(BackupError) in
                try cancellation.run { () throws(BackupError) in
                    try body { [self] progress in note(progress, handler) }
                }
            }
        } catch {
            // A cancelled or refused operation has not failed: the same command would only be refused again.
            if error.code != .interrupted, !Self.isRefusal(error.code, of: name) { recordFailure(of: name, error, retry) }
            throw error
        }
    }

    /// Cancels the operation of this process.
    /// - Parameter name: cancels only an operation of this name.
    /// - Returns: whether there is one.
    @discardableResult
    public func cancel(_ name: String? = nil) -> Bool {
        state.withLock { state in
            guard let cancellation = state.cancellation, name == nil || name == state.name else { return false }
            cancellation.request()
            return true
        }
    }

    /// Whether this process runs an operation.
    public var isRunning: Bool { state.withLock { $0.name != nil } }

    private func note(_ progress: OperationProgress, _ handler: ProgressHandler?) {
        let now = SystemClock.now()
        let mustWrite = state.withLock { state in
            let isNewPhase = state.progress?.phase != progress.phase || state.lastWrittenAt == nil
            state.progress = progress
            state.timing?.note(
                processedBytes: progress.processedBytes, totalBytes: progress.totalBytes, at: SystemClock.monotonicNanoseconds())
            // Readers need regular updates, not every step.
            guard isNewPhase || state.lastWrittenAt.map({ now.seconds > $0.seconds }) ?? true else { return false }
            state.lastWrittenAt = now
            return true
        }
        handler?(progress)
        if mustWrite, let document = currentOperation()?.json {
            // Only other processes read it: if it cannot be written, nothing is lost.
            try? FileSystem.writeForReaders(recordPath, document.prettyText)
        }
    }

    /// The operation of this process, or `nil`.
    func currentOperation() -> OperationState? {
        let state = state.withLock { $0 }
        guard let name = state.name, let startedAt = state.startedAt, let progress = state.progress, let timing = state.timing
        else { return nil }
        return OperationState(
            name: name, startedAt: startedAt, progress: progress,
            timing: timing.reading(at: SystemClock.monotonicNanoseconds()))
    }

    /// The operation that some process recorded, as text; valid only while the operation lock is held.
    func recordedText() -> [UInt8]? { try? FileSystem.readFile(recordPath, limitBytes: 1 << 16) }

    /// The name of the operation that some process recorded.
    func recordedOperation() -> String? {
        guard let text = recordedText() else { return nil }
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.contains("\"operation\"") }
        // Splits `  "operation": "restore",` at its quotation marks.
        return line?.split(separator: "\"", omittingEmptySubsequences: false).dropFirst(3).first.map(String.init)
    }

    /// Whether the request itself is wrong: a name that is taken, or a file that does not belong to the app.
    private static func isRefusal(_ code: BackupError.Code, of operation: String) -> Bool {
        switch code {
        case .usage, .invalidArgument, .alreadyExists, .notSupported: true
        case .invalidContent, .damagedContent, .unsupportedVersion, .tooLarge: operation == "restore"
        default: false
        }
    }

    private func recordFailure(of name: String, _ error: BackupError, _ retry: String?) {
        let document = OrderedJSON.members([
            "operation": .text(name), "at": .text(ISO8601.format(SystemClock.now().wholeSeconds)),
            "code": .text(error.code.rawValue), "message": .text(error.message.english), "path": .optional(error.path),
            "remedy": .optional(error.remedy?.english), "retry": .optional(retry),
        ])
        try? FileSystem.writeForReaders(errorPath, document.prettyText)
    }

    /// The last failure, as JSON text; `nil` when nothing failed yet.
    func lastFailureText() -> [UInt8]? { try? FileSystem.readFile(errorPath, limitBytes: 1 << 20) }
}

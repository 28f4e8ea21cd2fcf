import BackupCore
import BackupRepository
import Formats
import Glibc
import Synchronization
import SystemIO

/// The activity of the running operation, for `status.json` here and in other processes, and the last failure.
public final class OperationMonitor: Sendable {
    private struct State {
        var name: String?
        var startedAt: Timestamp?
        var progress: OperationProgress?
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

    /// Runs an operation under a name and passes its progress on. It can be cancelled meanwhile: by `cancel`, or by a signal
    /// where `CancellingSignals` are enabled.
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
            $0 = State(name: name, startedAt: SystemClock.now(), cancellation: cancellation)
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
        var progress = progress
        let now = SystemClock.now()
        let mustWrite = state.withLock { state in
            progress.time(after: state.progress, at: SystemClock.monotonicNanoseconds())
            let isNewPhase = state.progress?.phase != progress.phase || state.lastWrittenAt == nil
            state.progress = progress
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
        guard let name = state.name, let startedAt = state.startedAt, let progress = state.progress,
            let timing = progress.timing
        else { return nil }
        let reading = timing.reading(at: SystemClock.monotonicNanoseconds())
        return OperationState(
            name: name, startedAt: ISO8601.format(startedAt.wholeSeconds), progress: progress, timing: reading)
    }

    /// The operation that some process recorded, as text; valid only while the operation lock is held.
    func recordedText() -> [UInt8]? { try? FileSystem.readFile(recordPath, limitBytes: 1 << 16) }

    /// The name of the operation that some process recorded.
    func recordedOperation() -> String? { recordedText().flatMap { JSONMembers($0).text("operation") } }

    /// Whether the request itself is wrong: a name that is taken, or a file that does not belong to the app.
    private static func isRefusal(_ code: BackupError.Code, of operation: String) -> Bool {
        switch code {
        case .usage, .invalidArgument, .alreadyExists, .notSupported: true
        case .invalidContent, .damagedContent, .unsupportedVersion, .tooLarge: operation == "restore"
        default: false
        }
    }

    private func recordFailure(of name: String, _ error: BackupError, _ retry: String?) {
        let document: OrderedJSON = [
            "operation": name, "at": SystemClock.now().wholeSeconds, "code": error.code.rawValue, "message": error.message,
            "path": error.path, "remedy": error.remedy, "retry": retry,
        ]
        try? FileSystem.writeForReaders(errorPath, document.prettyText)
    }

    /// The last failure, as JSON text; `nil` when nothing failed yet.
    func lastFailureText() -> [UInt8]? { try? FileSystem.readFile(errorPath, limitBytes: 1 << 20) }
}

/// The state of an operation at one moment: of this process, or as recorded by another. The member `operation` of `status.json`.
public struct OperationState: JSONConvertible, Sendable, Equatable {
    /// `backup`, `restore`.
    public let name: String
    /// In ISO 8601.
    public let startedAt: String
    public let progress: OperationProgress
    /// Speed and remaining time.
    public let timing: OperationTiming.Reading

    public var json: OrderedJSON {
        [
            "operation": name, "startedAt": startedAt, "phase": progress.phase, "message": progress.message,
            "percent": progress.percent, "processedItems": progress.processedItems, "totalItems": progress.totalItems,
            "processedBytes": progress.processedBytes,
            "totalBytes": progress.totalBytes > 0 ? Optional(progress.totalBytes) : nil,
            "elapsedSeconds": Self.decimal(timing.elapsedSeconds),
            "rollingBytesPerSecond": Self.whole(timing.rollingBytesPerSecond),
            "averageBytesPerSecond": Self.whole(timing.averageBytesPerSecond),
            "peakBytesPerSecond": Self.whole(timing.peakBytesPerSecond),
            "remainingSeconds": timing.remainingSeconds.map(Self.whole),
        ]
    }

    private static func whole(_ number: Double) -> UInt64 { UInt64(min(max(number.rounded(), 0), 9e18)) }

    /// With one decimal.
    private static func decimal(_ number: Double) -> OrderedJSON {
        let tenths = whole(number * 10)
        return .decimal("\(tenths / 10).\(tenths % 10)")
    }
}

extension OperationState {
    /// Parses the document that `json` produces.
    /// - Returns: `nil` for anything else.
    init?(recorded text: [UInt8]) {
        let values = JSONMembers(text)
        guard let name = values.text("operation"), let startedAt = values.text("startedAt"), let phase = values.text("phase")
        else { return nil }
        self.name = name
        self.startedAt = startedAt
        // Constant texts have a translation; those that contain numbers stay as written.
        progress = OperationProgress(
            phase: Message(stringLiteral: phase), message: Message(stringLiteral: values.text("message") ?? phase),
            processedItems: values.number("processedItems") ?? 0, totalItems: values.number("totalItems") ?? 0,
            processedBytes: values.number("processedBytes") ?? 0, totalBytes: values.number("totalBytes") ?? 0,
            percent: values.number("percent").map { (number: UInt64) in Int(min(number, 100)) })
        var timing = OperationTiming.Reading(elapsedSeconds: values.number("elapsedSeconds") ?? 0)
        timing.rollingBytesPerSecond = values.number("rollingBytesPerSecond") ?? 0
        timing.averageBytesPerSecond = values.number("averageBytesPerSecond") ?? 0
        timing.peakBytesPerSecond = values.number("peakBytesPerSecond") ?? 0
        timing.remainingSeconds = values.number("remainingSeconds")
        self.timing = timing
    }
}

/// The operation that a process of this machine runs on a store.
public struct RunningOperation: Sendable, Equatable {
    /// The operation's name.
    public let name: String
    private let holder: LockHolder

    /// - Returns: `nil` when none runs, or it is unknown which.
    init?(paths: StorePaths) {
        guard (try? AdvisoryLock.isHeld(path: paths.operationLock)) != false,
            let note = try? FileSystem.readFile(paths.operationLock, limitBytes: 1 << 16),
            let holder = LockHolder(decoding: note),
            holder.runsHere
        else { return nil }
        let monitor = OperationMonitor(recordPath: paths.operationRecord, errorPath: paths.lastErrorRecord)
        name = monitor.recordedOperation() ?? holder.operation
        self.holder = holder
    }

    /// The operation on the store at `path`, without opening the store.
    /// - Returns: `nil` when none runs.
    /// - Throws: `noRepository` when there is no store.
    public static func of(storeAt path: String) throws(BackupError) -> RunningOperation? {
        let paths = StorePaths(root: path)
        try paths.requireTrustedStore()
        return RunningOperation(paths: paths)
    }

    /// Whether both are the same run.
    public static func == (left: RunningOperation, right: RunningOperation) -> Bool { left.holder == right.holder }

    /// For display.
    public var text: Message { holder.renamed(name).text }

    /// Asks its process to end it with SIGUSR1, which has this meaning in all processes of this program.
    /// - Returns: whether the signal was sent.
    public func cancel() -> Bool { kill(holder.process, SIGUSR1) == 0 }
}

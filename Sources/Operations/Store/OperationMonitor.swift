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

/// The state of an operation at one moment: of this process, or as recorded by another. The member `operation` of `status.json`.
public struct OperationState: Sendable, Equatable {
    /// `backup`, `restore`.
    public internal(set) var name: String
    /// In ISO 8601.
    public internal(set) var startedAt: String
    /// The current step.
    public internal(set) var phase: Message
    public internal(set) var message: Message
    /// 0 to 100; `nil` while unknown.
    public internal(set) var percent: Int?
    /// Records or files that are done.
    public internal(set) var processedItems: UInt64
    /// 0 while unknown.
    public internal(set) var totalItems: UInt64
    /// Bytes that have been read or written.
    public internal(set) var processedBytes: UInt64
    /// `nil` while unknown.
    public internal(set) var totalBytes: UInt64?
    /// Speed and remaining time.
    public internal(set) var timing: OperationTiming.Reading

    init(name: String, startedAt: Timestamp, progress: OperationProgress, timing: OperationTiming.Reading) {
        self.name = name
        self.startedAt = ISO8601.format(startedAt.wholeSeconds)
        phase = progress.phase
        message = progress.message
        percent = progress.percent
        processedItems = progress.processedItems
        totalItems = progress.totalItems
        processedBytes = progress.processedBytes
        totalBytes = progress.totalBytes > 0 ? progress.totalBytes : nil
        self.timing = timing
    }

    /// The name comes first: readers search the text for it.
    var json: OrderedJSON {
        .members([
            "operation": .text(name), "startedAt": .text(startedAt), "phase": .text(phase.english),
            "message": .text(message.english),
            "percent": percent.map { .integer($0) } ?? .null, "processedItems": .integer(processedItems),
            "totalItems": .integer(totalItems), "processedBytes": .integer(processedBytes),
            "totalBytes": totalBytes.map { .integer($0) } ?? .null, "elapsedSeconds": Self.decimal(timing.elapsedSeconds),
            "rollingBytesPerSecond": .integer(Self.whole(timing.rollingBytesPerSecond)),
            "averageBytesPerSecond": .integer(Self.whole(timing.averageBytesPerSecond)),
            "peakBytesPerSecond": .integer(Self.whole(timing.peakBytesPerSecond)),
            "remainingSeconds": timing.remainingSeconds.map { .integer(Self.whole($0)) } ?? .null,
        ])
    }

    private static func whole(_ number: Double) -> UInt64 { UInt64(min(max(number.rounded(), 0), 9e18)) }

    /// With one decimal.
    private static func decimal(_ number: Double) -> OrderedJSON {
        let tenths = whole(number * 10)
        return .written(Array("\(tenths / 10).\(tenths % 10)".utf8))
    }
}

extension OperationState {
    /// Parses the document that `json` produces, which has each member on its own line.
    /// - Returns: `nil` for anything else.
    init?(recorded text: [UInt8]) {
        let values = RecordedMembers(text)
        guard let name = values.text("operation"), let startedAt = values.text("startedAt"), let phase = values.text("phase")
        else { return nil }
        self.name = name
        self.startedAt = startedAt
        // Constant texts have a translation; those that contain numbers stay as written.
        self.phase = Message(stringLiteral: phase)
        message = Message(stringLiteral: values.text("message") ?? phase)
        percent = values.number("percent").map { Int(min($0, 100)) }
        processedItems = values.number("processedItems") ?? 0
        totalItems = values.number("totalItems") ?? 0
        processedBytes = values.number("processedBytes") ?? 0
        totalBytes = values.number("totalBytes")
        timing = OperationTiming.Reading(
            elapsedSeconds: values.decimal("elapsedSeconds") ?? 0,
            rollingBytesPerSecond: values.decimal("rollingBytesPerSecond") ?? 0,
            averageBytesPerSecond: values.decimal("averageBytesPerSecond") ?? 0,
            peakBytesPerSecond: values.decimal("peakBytesPerSecond") ?? 0, remainingSeconds: values.decimal("remainingSeconds"))
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

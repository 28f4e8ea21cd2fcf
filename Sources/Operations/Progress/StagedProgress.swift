import AppData
import BackupCore
import Synchronization
import SystemIO

/// The progress of an operation in stages, as its threads report it. Percentages never decrease, reports without a change are
/// rate-limited, and 100 is not reported before everything is done.
final class StagedProgress<Stage: CaseIterable & Hashable & Sendable>: Sendable {
    /// The work in one stage.
    struct Work: Sendable {
        /// Whether the totals are known, at least as an estimate.
        var isKnown = true
        /// 0 while unknown.
        var totalBytes: UInt64 = 0
        var totalItems: UInt64 = 0
        var processedBytes: UInt64 = 0
        var processedItems: UInt64 = 0
        /// Bytes of unchanged files, which need not be read.
        var skippedBytes: UInt64 = 0

        fileprivate var doneBytes: UInt64 { processedBytes + skippedBytes }
        /// The number of bytes read at the end.
        fileprivate var bytesToRead: UInt64 { totalBytes > doneBytes ? totalBytes - skippedBytes : processedBytes }
        /// An estimate may have been too low.
        fileprivate var items: UInt64 { max(totalItems, processedItems) }
    }

    struct State: Sendable {
        var stage: Stage
        /// Replaces the message of the stage.
        var phase: Message?
        fileprivate var work: [Stage: Work]
        fileprivate var percent = 0
        fileprivate var lastReport: UInt64 = 0
        /// The number of counted items in the last report.
        fileprivate var reportedItems: UInt64 = 0

        subscript(stage: Stage) -> Work {
            get { work[stage] ?? Work() }
            set { work[stage] = newValue }
        }
    }

    /// The time between two reports of the same percentage.
    private let intervalNanoseconds: UInt64 = 50_000_000
    /// The rest is left for the end, where no later stage sets a limit.
    private let percentLimit = 99

    private let phases: [ProgressPhase<Stage>]
    private let messages: (first: Message, end: Message)
    private let byteSpan: Int
    private let countedStage: Stage?
    private let report: ProgressHandler?
    private let state: Mutex<State>

    /// - Parameters:
    ///   - phases: the stages that have a percentage of their own; if empty, percentages are based on the bytes to read.
    ///   - work: what is already known of it.
    ///   - messages: for stages without a phase, and for the last stage.
    ///   - byteSpan: the percentages that the bytes share where there are no phases.
    ///   - countedStage: the stage whose items are those of the operation.
    init(
        _ phases: [ProgressPhase<Stage>] = [], from stage: Stage, work: [Stage: Work] = [:],
        messages: (first: Message, end: Message), byteSpan: Int = 99, counting countedStage: Stage? = nil,
        _ report: ProgressHandler?
    ) {
        self.phases = phases
        self.messages = messages
        self.byteSpan = byteSpan
        self.countedStage = countedStage
        self.report = report
        state = Mutex(State(stage: stage, work: work))
    }

    /// Reports under the lock, so that reports keep their order.
    /// - Parameter always: whether to report regardless of the time passed.
    func update(always: Bool = false, _ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            reportNow(&state, always: always)
        }
    }

    /// Also reports the end of the counted stage, however short it was.
    func enter(_ stage: Stage) {
        state.withLock { state in
            if state.stage == countedStage, state.reportedItems != state[state.stage].processedItems {
                reportNow(&state, always: true)
            }
            state.stage = stage
            reportNow(&state, always: true)
        }
    }

    /// Reports that nothing was done, without a percentage.
    func refuse(_ message: Message) { report?(OperationProgress(phase: message)) }

    subscript(stage: Stage) -> Work { state.withLock { $0[stage] } }

    private func reportNow(_ state: inout State, always: Bool) {
        guard let report else { return }
        let reached = percent(state)
        let now = SystemClock.monotonicNanoseconds()
        guard always || reached > state.percent || now >= state.lastReport + intervalNanoseconds else { return }
        state.percent = max(state.percent, reached)
        state.lastReport = now
        state.reportedItems = countedStage.map { state[$0].processedItems } ?? 0
        report(progress(state))
    }

    private func progress(_ state: State) -> OperationProgress {
        let isEnd = isEnd(state.stage)
        let phase = phases.last { order($0.stage) <= order(state.stage) }
        let current = state[state.stage]
        // The first files may be done before the total is known.
        let counts = state.phase == nil && current.isKnown && current.processedItems > 0
        let counted = countedStage.map { state[$0] } ?? Work()
        let processedBytes = state.work.values.reduce(0) { $0 + $1.processedBytes }
        return OperationProgress(
            phase: state.phase ?? phase?.message ?? (isEnd ? messages.end : messages.first),
            message: counts ? phase?.message(current: current.processedItems, total: current.items) : nil,
            processedItems: counted.processedItems, totalItems: counted.items, processedBytes: processedBytes,
            totalBytes: isEnd ? processedBytes : state.work.values.reduce(0) { $0 + $1.bytesToRead }, percent: state.percent)
    }

    private func percent(_ state: State) -> Int {
        if isEnd(state.stage) { return 100 }
        if phases.isEmpty { return percentOfBytes(state) }
        guard let index = phases.lastIndex(where: { order($0.stage) <= order(state.stage) }) else { return 0 }
        let begin = phases[index].percent
        let work = state[state.stage]
        // A stage without a percentage of its own counts as the end of the previous one.
        guard phases[index].stage == state.stage, work.isKnown else { return begin }
        let span = (index + 1 < phases.count ? phases[index + 1].percent : percentLimit) - begin
        return begin
            + (work.items > 0 ? share(work.processedItems, work.items, span) : share(work.doneBytes, work.totalBytes, span))
    }

    private func percentOfBytes(_ state: State) -> Int {
        let work = Array(state.work.values)
        guard work.allSatisfy(\.isKnown) else { return 0 }
        // Items stand for bytes that are not known in advance.
        if let counted = countedStage, work.allSatisfy({ $0.totalBytes == 0 }) {
            return share(state[counted].processedItems, state[counted].items, percentLimit)
        }
        let done = work.reduce(0) { $0 + min($1.doneBytes, $1.totalBytes) }
        return min(percentLimit, share(done, work.reduce(0) { $0 + $1.totalBytes }, byteSpan))
    }

    /// The percentage for `part` of `whole` within a range of `percent`, rounded down.
    private func share(_ part: UInt64, _ whole: UInt64, _ percent: Int) -> Int {
        whole == 0 ? 0 : Int(Double(min(part, whole)) * Double(percent) / Double(whole))
    }

    private func order(_ stage: Stage) -> Int { Array(Stage.allCases).firstIndex(of: stage) ?? 0 }

    private func isEnd(_ stage: Stage) -> Bool { order(stage) == Stage.allCases.count - 1 }
}

// MARK: - The stages of operations

typealias BackupProgress = StagedProgress<BackupStage>
typealias RestoreProgress = StagedProgress<RestoreStage>
typealias ExportProgress = StagedProgress<ExportStage>

extension StagedProgress where Stage == BackupStage {
    /// For apps whose definitions name no stages: one message, and percentages based on the bytes to read.
    private static var generalMessage: Message { "Creating backup..." }

    convenience init(_ definition: AppDefinition, _ report: @escaping ProgressHandler) {
        self.init(
            definition.backupPhases, from: .start, messages: (Self.generalMessage, "Backup complete"), counting: .media, report)
    }

    /// The first message of a backup of this app.
    static func firstMessage(_ definition: AppDefinition) -> Message { definition.backupPhases.first?.message ?? generalMessage }
}

/// The stages of a restore. The file is read twice, to check it and to import it; the safety backup comes in between.
enum RestoreStage: CaseIterable { case checking, saving, importing, end }

extension StagedProgress where Stage == RestoreStage {
    static var firstMessage: Message { "Restoring data..." }

    convenience init(sizeBytes: UInt64, _ report: @escaping ProgressHandler) {
        // An empty file has been read.
        let reading = sizeBytes > 0 ? Work(totalBytes: sizeBytes) : Work(totalItems: 1, processedItems: 1)
        let beginnings: [(RestoreStage, Int)] = [(.checking, 0), (.saving, 40), (.importing, 60)]
        self.init(
            beginnings.map { ProgressPhase(stage: $0, percent: $1, message: Self.firstMessage) }, from: .checking,
            work: [.checking: reading, .saving: Work(totalItems: 100), .importing: reading],
            messages: (Self.firstMessage, "Restore completed"), report)
    }

    /// More bytes of the file have been read. A check may read parts of it repeatedly: that is not progress.
    func noteRead(_ bytes: UInt64) {
        update { state in
            let pass: RestoreStage = state.stage == .importing ? .importing : .checking
            state[pass].processedBytes = min(state[pass].processedBytes + bytes, state[pass].totalBytes)
        }
    }

    /// Takes the percentage of the safety backup, but not its message.
    func noteSaving(_ progress: OperationProgress) {
        update { state in
            state.stage = .saving
            state[.checking].processedBytes = state[.checking].totalBytes
            if let percent = progress.percent { state[.saving].processedItems = UInt64(percent) }
        }
    }

    /// Checks the file. If it is refused, reports that nothing was done.
    func checking<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        do {
            return try body()
        } catch {
            if error.code != .interrupted { refuse("Validation failed") }
            throw error
        }
    }

    /// The new data is in place.
    func end() {
        update(always: true) { state in
            state.stage = .end
            state.phase = "Restore completed"
            for pass in [RestoreStage.checking, .importing] { state[pass].processedBytes = state[pass].totalBytes }
        }
    }
}

/// The stages of an export. Records written directly from the database have no known size, and thus no percentages.
enum ExportStage: CaseIterable { case writing, end }

extension StagedProgress where Stage == ExportStage {
    convenience init(_ report: ProgressHandler?) {
        self.init(
            from: .writing, messages: ("Preparing export...", "Export completed"), byteSpan: 100, counting: .writing, report)
    }
}

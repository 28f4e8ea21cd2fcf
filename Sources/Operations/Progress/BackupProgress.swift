import AppData
import BackupCore
import Synchronization
import SystemIO

/// The progress of a backup, as its threads report it. Percentages never decrease, and 100 is not reported before everything is
/// stored.
final class BackupProgress: Sendable {
    /// The work in one of the two parts that take time.
    private struct Part {
        /// 0 while unknown.
        var totalBytes: UInt64 = 0
        var totalItems: UInt64 = 0
        var processedBytes: UInt64 = 0
        var processedItems: UInt64 = 0
        /// Bytes of unchanged files, which need not be read.
        var skippedBytes: UInt64 = 0

        var doneBytes: UInt64 { processedBytes + skippedBytes }
        /// The number of bytes read at the end.
        var bytesToRead: UInt64 { totalBytes > doneBytes ? totalBytes - skippedBytes : processedBytes }
        /// An estimate may have been too low.
        var items: UInt64 { max(totalItems, processedItems) }
    }

    private struct State {
        var stage = BackupStage.start
        var data = Part()
        var media = Part()
        /// Whether the content of the media folder is known.
        var knowsMedia = false
        var archivedItems: UInt64 = 0
        /// The number of media items in the last report.
        var reportedMediaItems: UInt64 = 0
        var pace = ProgressPace()
    }

    /// For apps whose definitions name no stages: one message, and percentages based on the bytes to read.
    static let generalMessage: Message = "Creating backup..."
    static let endMessage: Message = "Backup complete"
    /// The rest is left for the end, where the definitions name no stages.
    private static let percentLimit = 99

    private let phases: [BackupPhase]
    private let report: ProgressHandler
    private let state = Mutex(State())

    init(_ definition: AppDefinition, _ report: @escaping ProgressHandler) {
        phases = definition.backupPhases
        self.report = report
    }

    /// The first message of a backup of this app.
    static func firstMessage(_ definition: AppDefinition) -> Message { definition.backupPhases.first?.message ?? generalMessage }

    /// - Parameter hasMedia: whether there is a media folder, whose content is not yet known.
    func begin(hasMedia: Bool) {
        update(always: true) { state in state.knowsMedia = !hasMedia }
    }

    /// Also reports the end of the previous stage, however short it was.
    func enter(_ stage: BackupStage) {
        state.withLock { state in
            if state.stage == .media, state.reportedMediaItems != state.media.processedItems { reportNow(&state, always: true) }
            state.stage = stage
            reportNow(&state, always: true)
        }
    }

    /// The number of bytes to read and store for the records.
    func expectData(bytes: UInt64) { update { $0.data.totalBytes = bytes } }

    func noteData(bytes: UInt64) { update { $0.data.processedBytes += bytes } }

    /// The records are unchanged.
    func skipData() { update { $0.data.totalBytes = 0 } }

    func expectMedia(files: UInt64, bytes: UInt64) {
        update { state in
            state.knowsMedia = true
            state.media.totalItems = files
            state.media.totalBytes = bytes
        }
    }

    /// - Parameters:
    ///   - bytes: the bytes read now.
    ///   - skippedBytes: the bytes of unchanged files.
    func noteMedia(files: UInt64, bytes: UInt64, skippedBytes: UInt64 = 0) {
        update { state in
            state.media.processedItems += files
            state.media.processedBytes += bytes
            state.media.skippedBytes += skippedBytes
        }
    }

    /// The number of bytes so far.
    var mediaBytesRead: UInt64 { state.withLock { $0.media.processedBytes } }

    /// The layout of the archive is complete.
    func noteArchived(files: UInt64) { update(always: true) { $0.archivedItems = files } }

    /// Reports under the lock, so that reports keep their order.
    private func update(always: Bool = false, _ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            reportNow(&state, always: always)
        }
    }

    private func reportNow(_ state: inout State, always: Bool) {
        guard let percent = state.pace.next(percent(state), always: always) else { return }
        state.reportedMediaItems = state.media.processedItems
        report(progress(state, percent))
    }

    private func progress(_ state: State, _ percent: Int) -> OperationProgress {
        let phase = phases.last { Self.order($0.stage) <= Self.order(state.stage) }
        let text = state.stage == .end ? phase?.message ?? Self.endMessage : phase?.message ?? Self.generalMessage
        let (current, total) = items(state)
        let processed = state.data.processedBytes + state.media.processedBytes
        let expected = state.data.bytesToRead + state.media.bytesToRead
        return OperationProgress(
            phase: text, message: current > 0 ? phase?.message(current: current, total: total) : nil,
            processedItems: state.media.processedItems, totalItems: state.media.items,
            processedBytes: processed, totalBytes: state.stage == .end ? processed : expected, percent: percent)
    }

    /// The item counts of the current stage.
    private func items(_ state: State) -> (current: UInt64, total: UInt64) {
        switch state.stage {
        // The first files may be done before the total is known.
        case .media: state.knowsMedia ? (state.media.processedItems, state.media.items) : (0, 0)
        case .archive: (state.archivedItems, state.archivedItems)
        case .start, .data, .listing, .metadata, .end: (0, 0)
        }
    }
}

// MARK: - Percentages

extension BackupProgress {
    private static func order(_ stage: BackupStage) -> Int { BackupStage.allCases.firstIndex(of: stage) ?? 0 }

    private func percent(_ state: State) -> Int {
        if state.stage == .end { return 100 }
        return phases.isEmpty ? percentOfBytes(state) : percentOfStage(state)
    }

    private func percentOfBytes(_ state: State) -> Int {
        guard state.knowsMedia else { return 0 }
        let total = state.data.totalBytes + state.media.totalBytes
        let done = min(state.data.doneBytes, state.data.totalBytes) + min(state.media.doneBytes, state.media.totalBytes)
        return Self.share(done, of: total, Self.percentLimit)
    }

    private func percentOfStage(_ state: State) -> Int {
        guard let index = phases.lastIndex(where: { Self.order($0.stage) <= Self.order(state.stage) }) else { return 0 }
        let begin = phases[index].percent
        let end = index + 1 < phases.count ? phases[index + 1].percent : Self.percentLimit
        // A stage without a percentage of its own counts as the end of the previous one.
        guard phases[index].stage == state.stage else { return begin }
        switch state.stage {
        case .data: return begin + Self.share(state.data.doneBytes, of: state.data.totalBytes, end - begin)
        case .media where state.knowsMedia:
            return begin + Self.share(state.media.processedItems, of: state.media.items, end - begin)
        case .archive: return state.archivedItems > 0 ? end : begin
        case .start, .listing, .media, .metadata, .end: return begin
        }
    }

    /// The percentage for `part` of `whole` within a range of `percent`, rounded down.
    private static func share(_ part: UInt64, of whole: UInt64, _ percent: Int) -> Int {
        guard whole > 0 else { return 0 }
        return Int(Double(min(part, whole)) * Double(percent) / Double(whole))
    }
}

/// When to report progress: percentages never decrease, and reports without a change are rate-limited.
struct ProgressPace {
    private static let intervalNanoseconds: UInt64 = 50_000_000

    private var percent = 0
    private var lastReport: UInt64 = 0

    /// - Parameter always: whether to report regardless of the time passed.
    /// - Returns: the percentage to report; `nil` when it is too early for a report.
    mutating func next(_ reached: Int, always: Bool) -> Int? {
        let now = SystemClock.monotonicNanoseconds()
        guard always || reached > percent || now >= lastReport + Self.intervalNanoseconds else { return nil }
        percent = max(percent, reached)
        lastReport = now
        return percent
    }
}

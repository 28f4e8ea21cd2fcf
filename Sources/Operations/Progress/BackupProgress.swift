import AppData
import BackupCore
import Synchronization
import SystemIO

/// How far a backup is, from what its threads say they have done. Percentages never fall, and 100 is not told before
/// everything is stored.
final class BackupProgress: Sendable {
    /// What is to be done, in the two parts that take time.
    private struct Part {
        /// 0 while it is not known.
        var totalBytes: UInt64 = 0
        var totalItems: UInt64 = 0
        var processedBytes: UInt64 = 0
        var processedItems: UInt64 = 0
        /// What need not be read, since it is as it was.
        var skippedBytes: UInt64 = 0

        var doneBytes: UInt64 { processedBytes + skippedBytes }
        /// What will have been read in the end.
        var bytesToRead: UInt64 { totalBytes > doneBytes ? totalBytes - skippedBytes : processedBytes }
        /// An estimate may have been too low.
        var items: UInt64 { max(totalItems, processedItems) }
    }

    private struct State {
        var stage = BackupStage.start
        var data = Part()
        var media = Part()
        /// Whether it is known what the media folder holds.
        var knowsMedia = false
        var archivedItems: UInt64 = 0
        /// Of the media, in what was reported last.
        var reportedMediaItems: UInt64 = 0
        var pace = ProgressPace()
    }

    /// For apps whose documents say nothing of stages: one message, and percentages by what is to be read.
    static let generalMessage: Message = "Creating backup..."
    static let endMessage: Message = "Backup complete"
    /// What is left for the end, where the documents say nothing.
    private static let percentLimit = 99

    private let phases: [BackupPhase]
    private let report: ProgressHandler
    private let state = Mutex(State())

    init(_ definition: AppDefinition, _ report: @escaping ProgressHandler) {
        phases = definition.backupPhases
        self.report = report
    }

    /// What a backup of this app says first.
    static func firstMessage(_ definition: AppDefinition) -> Message { definition.backupPhases.first?.message ?? generalMessage }

    /// - Parameter hasMedia: whether there is a media folder, of which it is not known yet what it holds.
    func begin(hasMedia: Bool) {
        tell(always: true) { state in state.knowsMedia = !hasMedia }
    }

    /// The end of the stage before is reported as well, however fast it was.
    func enter(_ stage: BackupStage) {
        state.withLock { state in
            if state.stage == .media, state.reportedMediaItems != state.media.processedItems { tellNow(&state, always: true) }
            state.stage = stage
            tellNow(&state, always: true)
        }
    }

    /// What the records will take to read and to store.
    func expectData(bytes: UInt64) { tell { $0.data.totalBytes = bytes } }

    func noteData(bytes: UInt64) { tell { $0.data.processedBytes += bytes } }

    /// The records are as they were.
    func skipData() { tell { $0.data.totalBytes = 0 } }

    func expectMedia(files: UInt64, bytes: UInt64) {
        tell { state in
            state.knowsMedia = true
            state.media.totalItems = files
            state.media.totalBytes = bytes
        }
    }

    /// - Parameters:
    ///   - bytes: that were read now.
    ///   - skippedBytes: of files that are as they were.
    func noteMedia(files: UInt64, bytes: UInt64, skippedBytes: UInt64 = 0) {
        tell { state in
            state.media.processedItems += files
            state.media.processedBytes += bytes
            state.media.skippedBytes += skippedBytes
        }
    }

    /// So far.
    var mediaBytesRead: UInt64 { state.withLock { $0.media.processedBytes } }

    /// All that the archive will hold has been laid out.
    func noteArchived(files: UInt64) { tell(always: true) { $0.archivedItems = files } }

    /// In the order in which things happen: under the lock.
    private func tell(always: Bool = false, _ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            tellNow(&state, always: always)
        }
    }

    private func tellNow(_ state: inout State, always: Bool) {
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

    /// What the stage goes through one by one.
    private func items(_ state: State) -> (current: UInt64, total: UInt64) {
        switch state.stage {
        // The first files may be there before it is known how many there will be.
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
        // A stage that the documents do not name belongs to the one before, of which it is the end.
        guard phases[index].stage == state.stage else { return begin }
        switch state.stage {
        case .data: return begin + Self.share(state.data.doneBytes, of: state.data.totalBytes, end - begin)
        case .media where state.knowsMedia:
            return begin + Self.share(state.media.processedItems, of: state.media.items, end - begin)
        case .archive: return state.archivedItems > 0 ? end : begin
        case .start, .listing, .media, .metadata, .end: return begin
        }
    }

    /// `part` of `whole`, of so many percent; rounded down.
    private static func share(_ part: UInt64, of whole: UInt64, _ percent: Int) -> Int {
        guard whole > 0 else { return 0 }
        return Int(Double(min(part, whole)) * Double(percent) / Double(whole))
    }
}

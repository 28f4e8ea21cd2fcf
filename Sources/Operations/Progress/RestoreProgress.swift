import BackupCore
import Restore
import Synchronization
import SystemIO

/// The progress of a restore, by the bytes read of the file. The file is read twice, to check it and to import it; the safety
/// backup comes in between. Percentages never decrease, and 100 comes only at the end.
final class RestoreProgress: Sendable {
    private enum Stage { case checking, saving, importing }

    private struct State {
        var stage = Stage.checking
        var phase = RestoreProgress.firstMessage
        var readBytes: UInt64 = 0
        var savedPercent = 0
        var pace = ProgressPace()
    }

    static let firstMessage: Message = "Restoring data..."
    static let refusedMessage: Message = "Validation failed"
    static let endMessage: Message = "Restore completed"

    private static let savingPercent = 40
    private static let importingPercent = 60
    private static let percentLimit = 99

    private let sizeBytes: UInt64
    private let report: ProgressHandler
    private let state = Mutex(State())

    init(sizeBytes: UInt64, _ report: @escaping ProgressHandler) {
        self.sizeBytes = sizeBytes
        self.report = report
    }

    /// More bytes of the file have been read.
    func noteRead(_ bytes: UInt64) { update { $0.readBytes += bytes } }

    /// Passes on the restore's own message.
    func note(_ progress: OperationProgress) {
        update(always: true) { $0.phase = progress.phase }
    }

    /// Takes the percentage of the safety backup, but not its message.
    func noteSaving(_ progress: OperationProgress) {
        update { state in
            state.stage = .saving
            state.savedPercent = progress.percent ?? state.savedPercent
        }
    }

    /// Checks the file. If it is refused, reports that nothing was done.
    func checking<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        do {
            return try body()
        } catch {
            if error.code != .interrupted { report(OperationProgress(phase: Self.refusedMessage)) }
            throw error
        }
    }

    /// The current data is safe; the second pass begins.
    func beginImport() {
        update(always: true) { state in
            state.stage = .importing
            state.readBytes = 0
        }
    }

    /// The new data is in place.
    func end() {
        report(
            OperationProgress(
                phase: Self.endMessage, processedBytes: sizeBytes * 2, totalBytes: sizeBytes * 2, percent: 100))
    }

    private func update(always: Bool = false, _ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            guard let percent = state.pace.next(percent(state), always: always) else { return }
            report(
                OperationProgress(
                    phase: state.phase, processedBytes: processedBytes(state), totalBytes: sizeBytes * 2,
                    percent: percent))
        }
    }

    /// A check may read parts of the file repeatedly: that is not progress.
    private func processedBytes(_ state: State) -> UInt64 {
        switch state.stage {
        case .checking: min(state.readBytes, sizeBytes)
        case .saving: sizeBytes
        case .importing: sizeBytes + min(state.readBytes, sizeBytes)
        }
    }

    private func percent(_ state: State) -> Int {
        switch state.stage {
        case .checking: share(state.readBytes, Self.savingPercent)
        case .saving: Self.savingPercent + state.savedPercent * (Self.importingPercent - Self.savingPercent) / 100
        case .importing:
            Self.importingPercent
                + share(state.readBytes, Self.percentLimit - Self.importingPercent)
        }
    }

    private func share(_ part: UInt64, _ percent: Int) -> Int {
        sizeBytes == 0 ? percent : Int(Double(min(part, sizeBytes)) * Double(percent) / Double(sizeBytes))
    }
}

/// The progress of an export, by the number of bytes written. Records written directly from the database have no known size, and
/// thus no percentages.
final class ExportProgress: Sendable {
    private struct State {
        var writtenBytes: UInt64 = 0
        var totalBytes: UInt64 = 0
        var percent = 0
    }

    static let message: Message = "Preparing export..."
    static let endMessage: Message = "Export completed"
    private static let percentLimit = 99

    private let report: ProgressHandler?
    private let state = Mutex(State())

    init(_ report: ProgressHandler?) { self.report = report }

    func expect(bytes: UInt64) {
        state.withLock { state in
            state.totalBytes = bytes
            report?(OperationProgress(phase: Self.message, totalBytes: bytes, percent: 0))
        }
    }

    func note(bytes: UInt64) {
        guard let report else { return }
        state.withLock { state in
            state.writtenBytes += bytes
            guard state.totalBytes > 0 else { return }
            let share = Double(state.writtenBytes) / Double(state.totalBytes)
            let percent = min(Self.percentLimit, Int(share * 100))
            guard percent > state.percent else { return }
            state.percent = percent
            report(
                OperationProgress(
                    phase: Self.message, processedBytes: state.writtenBytes, totalBytes: state.totalBytes, percent: percent))
        }
    }

    func end() {
        let bytes = state.withLock { $0.writtenBytes }
        report?(OperationProgress(phase: Self.endMessage, processedBytes: bytes, totalBytes: bytes, percent: 100))
    }
}

/// A source that counts its bytes as they are read.
final class CountingByteSource: ByteSource {
    private let source: any ByteSource
    private let note: @Sendable (UInt64) -> Void

    init(_ source: any ByteSource, note: @escaping @Sendable (UInt64) -> Void) {
        self.source = source
        self.note = note
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let count = try source.read(at: offset, into: buffer)
        note(UInt64(count))
        return count
    }
}

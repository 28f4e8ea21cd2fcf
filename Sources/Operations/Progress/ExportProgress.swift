import BackupCore
import Synchronization

/// The progress of an export, by the number of bytes written. Records written directly from the database have no known size, and thus no percentages.
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

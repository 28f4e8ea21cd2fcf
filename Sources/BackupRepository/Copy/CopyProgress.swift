import BackupCore
import Synchronization
import SystemIO

/// The progress of a copy, as its threads report it.
final class CopyProgress: Sendable {
    private struct State {
        var name: FileName?
        /// What is waited for.
        var reason: Message?
        var doneCount: UInt64 = 0
        /// Of snapshots that were copied or given up.
        var doneBytes: UInt64 = 0
        /// Of the snapshot that is being copied.
        var bytes: UInt64 = 0
        var lastReport: UInt64 = 0
    }

    private static let intervalNanoseconds: UInt64 = 50_000_000
    private static let phase: Message = "Copying backups..."

    private let totalCount: UInt64
    private let totalBytes: UInt64
    private let report: ProgressHandler?
    private let state = Mutex(State())

    /// - Parameter snapshots: all that are to be copied.
    init(of snapshots: [Snapshot], _ report: ProgressHandler?) {
        totalCount = UInt64(snapshots.count)
        totalBytes = snapshots.reduce(0) { $0.addingSaturating($1.record.root.totals.byteCount) }
        self.report = report
    }

    /// The next snapshot is being copied.
    func begin(_ snapshot: Snapshot) {
        state.withLock { state in
            state.name = snapshot.name
            state.bytes = 0
            send(&state)
        }
    }

    /// The next snapshot waits for another operation.
    func wait(_ reason: Message) {
        state.withLock { state in
            state.reason = reason
            send(&state)
        }
    }

    /// Some of its files' bytes are in the target.
    func add(bytes: UInt64) {
        state.withLock { state in
            state.reason = nil
            state.bytes = state.bytes.addingSaturating(bytes)
            guard SystemClock.monotonicNanoseconds() >= state.lastReport + Self.intervalNanoseconds else { return }
            send(&state)
        }
    }

    /// It is copied, or given up.
    func end(_ snapshot: Snapshot) {
        state.withLock { state in
            state.doneCount += 1
            state.doneBytes = state.doneBytes.addingSaturating(snapshot.record.root.totals.byteCount)
            (state.name, state.reason, state.bytes) = (nil, nil, 0)
            send(&state)
        }
    }

    /// Reports under the lock, so that reports keep their order.
    private func send(_ state: inout State) {
        guard let report else { return }
        state.lastReport = SystemClock.monotonicNanoseconds()
        let bytes = state.doneBytes.addingSaturating(state.bytes)
        let number = min(state.doneCount + 1, totalCount)
        let copying: Message = state.name.map { "Copying \($0) (\(number)/\(totalCount))" } ?? Self.phase
        report(
            OperationProgress(
                phase: Self.phase, message: state.reason.map { "Waiting: \($0)" } ?? copying,
                processedItems: state.doneCount, totalItems: totalCount, processedBytes: min(bytes, totalBytes),
                totalBytes: totalBytes,
                percent: totalBytes > 0 ? Int(min(99, Double(bytes) / Double(totalBytes) * 100)) : nil))
    }
}

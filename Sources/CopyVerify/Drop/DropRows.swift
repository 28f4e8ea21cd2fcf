import BackupCore
import SystemIO

/// The rows of files that programs copy one by one. Each program waits for those of its file; rows of files under temporary names
/// wait for the final name.
final class DropRows: RowWatch {
    private struct Awaited: Sendable {
        let count: Int
        let isHeld: Bool
        var rows: [ResultRow] = []
    }

    private struct State: Sendable {
        var awaited: [[UInt8]: Awaited] = [:]
        /// Rows of complete copies, by the temporary names of the files.
        var held: [[UInt8]: [ResultRow]] = [:]
        var failure: BackupError?
    }

    private let state = Monitor(State())

    /// To be called before a file is copied.
    /// - Parameters:
    ///   - count: the number of destinations.
    ///   - isHeld: whether the file has a temporary name.
    func expect(_ path: [UInt8], count: Int, isHeld: Bool) {
        state.withLock { $0.awaited[path] = Awaited(count: count, isHeld: isHeld) }
    }

    /// Waits until all rows of a file are certain.
    func wait(for path: [UInt8]) throws(BackupError) -> [ResultRow] {
        let (rows, failure) = state.wait(until: { state in
            state.failure != nil || state.awaited[path].map { $0.rows.count >= $0.count } ?? true
        }) { ($0.awaited[path]?.rows ?? [], $0.failure) }
        if let failure { throw failure }
        return rows
    }

    func forget(_ path: [UInt8]) { state.withLock { $0.awaited[path] = nil } }

    func record(_ rows: [ResultRow], in journal: ResultJournal) throws(BackupError) {
        let present = state.withLock { state in
            rows.filter { row in
                guard row.status.isSuccess, state.awaited[row.path]?.isHeld == true else { return true }
                state.held[row.path, default: []].append(row)
                return false
            }
        }
        do throws(BackupError) {
            try journal.append(present)
        } catch {
            state.changeWakingAll { $0.failure = error }
            throw error
        }
        state.changeWakingAll { state in for row in rows { state.awaited[row.path]?.rows.append(row) } }
    }

    // MARK: Temporary names

    /// The held rows of a file, which go on waiting.
    func held(_ path: [UInt8]) -> [ResultRow] { state.withLock { $0.held[path] ?? [] } }

    /// The held rows of a file, which no longer wait.
    func takeHeld(_ path: [UInt8]) -> [ResultRow] { state.withLock { $0.held.removeValue(forKey: path) ?? [] } }

    /// Holds rows under another temporary name.
    func hold(_ rows: [ResultRow], as path: [UInt8]) { state.withLock { $0.held[path] = rows } }

    /// A program has set the time of a copy.
    func setTime(_ time: Timestamp, of path: [UInt8]) {
        state.withLock { state in
            state.held[path] = state.held[path].map { rows in
                rows.map { row in
                    var row = row
                    (row.modificationTime, row.targetTime) = (time, time)
                    return row
                }
            }
        }
    }

    func takeAllHeld() -> [ResultRow] {
        state.withLock { state in
            defer { state.held = [:] }
            return state.held.sorted { $0.key.lexicographicallyPrecedes($1.key) }.flatMap(\.value)
        }
    }
}

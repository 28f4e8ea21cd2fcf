import BackupCore
import Synchronization
import SystemIO

/// The views of the app's data that the tree shows: the newest, and for a moment the one before, since a file that was just found is then opened,
/// and the app may have written in between.
final class LiveViews: Sendable {
    private struct State: Sendable {
        var newest: (any LiveView)?
        var previous: (any LiveView)?
        /// When the newest became so.
        var changeNanoseconds: UInt64 = 0
    }

    /// Views take room on the disk.
    private static let previousNanoseconds: UInt64 = 2_000_000_000

    private let services: any TreeServices
    private let state = Mutex(State())

    init(services: any TreeServices) { self.services = services }

    /// What is in the folder at `path` now; `nil` when there is no such folder.
    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? { try view(for: path).children(of: path) }

    /// What is at `path` now; `nil` when nothing is.
    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? { try view(for: path).entry(at: path) }

    /// What was at `path` a moment ago, in this version.
    func recentEntry(at path: [FileName], version: UInt64) -> LiveEntry? {
        let now = SystemClock.monotonicNanoseconds()
        let previous = state.withLock { now - $0.changeNanoseconds < Self.previousNanoseconds ? $0.previous : nil }
        guard let entry = try? previous?.entry(at: path), entry.version == version else { return nil }
        return entry
    }

    private func view(for path: [FileName]) throws(BackupError) -> any LiveView {
        if path.first == "media", let media = services.liveMedia() { return media }
        let view = try services.liveView()
        let now = SystemClock.monotonicNanoseconds()
        state.withLock { state in
            if state.newest !== view {
                state.previous = state.newest
                state.newest = view
                state.changeNanoseconds = now
            } else if now - state.changeNanoseconds >= Self.previousNanoseconds {
                state.previous = nil
            }
        }
        return view
    }
}

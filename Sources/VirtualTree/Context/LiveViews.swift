import BackupCore
import Synchronization
import SystemIO

/// The views of the app's data that the tree shows: the newest, and for a moment the previous ones. A file that was just found is
/// opened next, and in between the app may have written and another process may have caused a new view.
final class LiveViews: Sendable {
    private struct Previous: Sendable {
        let view: any LiveView
        /// When it is released.
        let endNanoseconds: UInt64
    }

    private struct State: Sendable {
        var newest: (any LiveView)?
        /// The latest first.
        var previous: [Previous] = []
        /// The last access to `live/`.
        var lastLookNanoseconds: UInt64 = 0
        /// The number of open files in `live/`.
        var openCount = 0
    }

    /// Views take disk space.
    private static let previousNanoseconds: UInt64 = 2_000_000_000
    private static let previousLimit = 4

    private let services: any TreeServices
    private let state = Mutex(State())

    init(services: any TreeServices) { self.services = services }

    /// The current entries of the folder at `path`; `nil` when there is no such folder.
    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? { try view(for: path).children(of: path) }

    /// The current entry at `path`; `nil` when there is none.
    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? { try view(for: path).entry(at: path) }

    /// Counts a file of `live/` as opened or closed: while any is open, its view also serves other accesses.
    func noteOpen(_ change: Int) {
        state.withLock { state in
            state.openCount += change
            state.lastLookNanoseconds = SystemClock.monotonicNanoseconds()
        }
    }

    /// Releases the views when they have been idle for this long: they take as much space as the database and its export, where
    /// `du` does not show it.
    func letGo(idleSeconds: Double) {
        let now = SystemClock.monotonicNanoseconds()
        let isIdle = state.withLock { state in
            guard state.newest != nil, state.openCount == 0,
                Double(now - state.lastLookNanoseconds) / 1e9 >= idleSeconds
            else { return false }
            state.newest = nil
            state.previous = []
            return true
        }
        if isIdle { services.letGoOfLiveView() }
    }

    /// The entry at `path` in this version, from the newest or a recent view. The app is not queried.
    func heldEntry(at path: [FileName], version: UInt64) -> LiveEntry? {
        let now = SystemClock.monotonicNanoseconds()
        let views = state.withLock { state in
            state.lastLookNanoseconds = now
            return [state.newest].compactMap { $0 } + state.previous.filter { now < $0.endNanoseconds }.map(\.view)
        }
        for view in views {
            if let entry = try? view.entry(at: path), entry.version == version { return entry }
        }
        return nil
    }

    private func view(for path: [FileName]) throws(BackupError) -> any LiveView {
        if path.first == "media", let media = services.liveMedia() { return media }
        let view = try services.liveView()
        let now = SystemClock.monotonicNanoseconds()
        state.withLock { state in
            state.previous.removeAll { now >= $0.endNanoseconds }
            state.lastLookNanoseconds = now
            guard state.newest !== view else { return }
            if let newest = state.newest {
                state.previous.insert(Previous(view: newest, endNanoseconds: now + Self.previousNanoseconds), at: 0)
                if state.previous.count > Self.previousLimit { state.previous.removeLast() }
            }
            state.newest = view
        }
        return view
    }
}

import BackupCore
import Synchronization
import SystemIO

/// The views of the app's data that the tree shows: the newest, and for a moment those before, since a file that was just found is then opened,
/// and the app may have written in between, and others have looked.
final class LiveViews: Sendable {
    private struct Previous: Sendable {
        let view: any LiveView
        /// Until when it is kept.
        let endNanoseconds: UInt64
    }

    private struct State: Sendable {
        var newest: (any LiveView)?
        /// The latest first.
        var previous: [Previous] = []
        /// When `live/` was looked at last.
        var lastLookNanoseconds: UInt64 = 0
        /// Files of `live/` that are open.
        var openCount = 0
    }

    /// Views take room on the disk.
    private static let previousNanoseconds: UInt64 = 2_000_000_000
    private static let previousLimit = 4

    private let services: any TreeServices
    private let state = Mutex(State())

    init(services: any TreeServices) { self.services = services }

    /// What is in the folder at `path` now; `nil` when there is no such folder.
    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? { try view(for: path).children(of: path) }

    /// What is at `path` now; `nil` when nothing is.
    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? { try view(for: path).entry(at: path) }

    /// A file of `live/` has been opened, or closed: as long as one is open, its view serves the others that look, too.
    func noteOpen(_ change: Int) {
        state.withLock { state in
            state.openCount += change
            state.lastLookNanoseconds = SystemClock.monotonicNanoseconds()
        }
    }

    /// Lets go of the views when nothing looked at them for so long: they take the room of the database and of its export, where no `du` shows it.
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

    /// What was at `path` in this version when somebody looked last, or a moment before. The app is not asked.
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

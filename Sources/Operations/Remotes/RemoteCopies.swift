import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// The copies of a mounted store's repository in its remotes. Nothing asks a remote until a program looks at it; from then on,
/// each look makes a thread ask what is new, at most once in two seconds.
public final class RemoteCopies: Sendable {
    /// A new backup in a remote appears at most this long after a look, plus the time of the request.
    private static let intervalNanoseconds: UInt64 = 2_000_000_000

    /// How long a remote that could not be opened is not tried again.
    private static let failureNanoseconds: UInt64 = 2_000_000_000

    private struct Known {
        let copy: RemoteCopy
        let repository: Repository
        var lastRefresh: UInt64?
        var isRefreshing = false
    }

    private struct State {
        var known: [String: Known] = [:]
        /// Remotes that a thread opens now; others wait for it.
        var opening: Set<String> = []
        /// Remotes that could not be opened, and until when that counts for all looks: each attempt may take its time limit.
        var failures: [String: (settings: RemoteSettings, until: UInt64, error: BackupError)] = [:]
    }

    private let store: Store
    private let state = Monitor(State())

    public init(store: Store) {
        self.store = store
        if store.settings.remotes.contains(where: { $0.url.hasPrefix("s3:") }) { HTTPLibrary.loadInBackground() }
    }

    /// The names of the remotes in the settings, as last read.
    public var names: [String] { store.settings.remotes.map(\.name) }

    /// The repository in a remote, as far as this machine knows it. Only the first look at a remote may wait for the network.
    /// - Throws: `notFound` for an unknown name; else with the texts of `RemoteMessages`.
    public func repository(of name: String) throws(BackupError) -> Repository {
        let settings = try store.settings.remote(named: name)
        forgetIfRemoved(name)
        typealias Found = Result<(repository: Repository, mustRefresh: Bool), BackupError>
        let found = state.wait(until: { !$0.opening.contains(name) }) { state -> Found? in
            if let failure = state.failures[name], failure.settings == settings,
                SystemClock.monotonicNanoseconds() < failure.until
            {
                return .failure(failure.error)
            }
            if let known = state.known[name], known.copy.settings == settings {
                guard !known.isRefreshing else { return .success((known.repository, false)) }
                state.known[name]?.isRefreshing = true
                return .success((known.repository, true))
            }
            state.opening.insert(name)
            return nil
        }
        if let found {
            let (repository, mustRefresh) = try found.get()
            if mustRefresh { refreshInBackground(name) }
            return repository
        }
        defer { state.changeWakingAll { _ = $0.opening.remove(name) } }
        do throws(BackupError) {
            return try open(name, settings)
        } catch {
            if error.code != .interrupted {
                let until = SystemClock.monotonicNanoseconds() + Self.failureNanoseconds
                state.withLock { $0.failures[name] = (settings, until, error) }
            }
            throw error
        }
    }

    private func open(_ name: String, _ settings: RemoteSettings) throws(BackupError) -> Repository {
        let copy = try RemoteCopy(settings, in: store.paths)
        let isCached = copy.isCached
        if !isCached {
            try copy.refresh()
            copy.readMetadataAhead()
        }
        let repository = try copy.open(copyOf: store.repository)
        let now = SystemClock.monotonicNanoseconds()
        state.withLock { state in
            state.known[name] = Known(copy: copy, repository: repository, lastRefresh: isCached ? nil : now)
            state.failures[name] = nil
        }
        return repository
    }

    /// A cache that was removed is as one that never was: what is in memory of the repository has no files any more.
    private func forgetIfRemoved(_ name: String) {
        guard let known = state.withLock({ $0.known[name] }), !known.copy.isCached else { return }
        state.withLock { state in
            if state.known[name]?.repository === known.repository { state.known[name] = nil }
        }
    }

    private func refreshInBackground(_ name: String) {
        do throws(BackupError) {
            try SystemThread { [self] in refresh(name) }.detach()
        } catch {
            refreshed(name)
        }
    }

    private func refresh(_ name: String) {
        defer { refreshed(name) }
        guard let known = state.withLock({ $0.known[name] }) else { return }
        if let last = known.lastRefresh {
            let now = SystemClock.monotonicNanoseconds()
            let due = last + Self.intervalNanoseconds
            if now < due { _ = state.wait(until: { _ in false }, forNanoseconds: due - now) }
        }
        // While it cannot be reached, what is known is shown. The status says when the last sync was.
        guard (try? known.copy.refresh()) != nil else { return }
        _ = try? known.repository.refresh()
    }

    private func refreshed(_ name: String) {
        state.withLock { state in
            state.known[name]?.isRefreshing = false
            state.known[name]?.lastRefresh = SystemClock.monotonicNanoseconds()
        }
    }
}

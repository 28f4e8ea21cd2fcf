import BackupCore
import BackupRepository
import ObjectStorage
import SystemIO

/// The part of a sync that removes: what the rules of the remote do not keep, and the packs that no backup there needs.
///
/// A failure here is no failure of the sync: all that belongs into the remote is there by then. The next sync tries again.
final class RemoteCleaning {
    private let store: Store
    private let remote: RemoteSettings
    private let isAutomatic: Bool
    private var copy: (access: RemoteCopy, repository: Repository)?
    private var plan: RemoteRetention.Plan?
    /// Why it was not certain, before anything was uploaded, what may be removed.
    private var uncertainty: BackupError?

    init(store: Store, remote: RemoteSettings, isAutomatic: Bool) {
        self.store = store
        self.remote = remote
        self.isAutomatic = isAutomatic
    }

    private var retention: RemoteRetention { RemoteRetention(store: store, remote: remote) }

    /// What an update of the remote's copy needs to know. Decides what is removed afterwards.
    func selection(isThorough: Bool) -> MirrorSelection {
        let isPartial = !remote.retention.isEmpty || !retention.sourcesWithOwnRules().isEmpty
        return MirrorSelection(isPartial: isPartial, isThorough: isThorough, openCopy: refreshedCopy, choose: choose)
    }

    /// The remote's copy as a repository that can be changed, as it is now.
    /// - Throws: errors of the remote as they are.
    func refreshedCopy() throws(BackupError) -> Repository {
        if let copy {
            try copy.access.readNews()
            try copy.repository.refresh()
            return copy.repository
        }
        let access = try RemoteCopy(remote, in: store.paths, isWritable: true)
        try access.readNews()
        let repository = try access.openWritable(copyOf: store.repository)
        copy = (access, repository)
        return repository
    }

    private func choose(_ copy: Repository?) throws(BackupError) -> Set<SnapshotID> {
        (plan, uncertainty) = (nil, nil)
        let all = retention.meant()
        guard !remote.retention.isEmpty else { return all }
        do throws(BackupError) {
            if let copy { try retention.requireCertain(copy) }
        } catch {
            uncertainty = error
        }
        do throws(BackupError) {
            let plan = try retention.plan(copy)
            self.plan = plan
            return plan.kept
        } catch {
            guard error.code != .interrupted else { throw error }
            uncertainty = uncertainty ?? error
            // Nothing is removed, so nothing is left out either.
            return all
        }
    }

    /// Removes what the plan says, and frees space when it is time for that.
    /// - Throws: `interrupted`.
    func run(
        _ result: inout SyncOperation.Result, in storage: any ObjectStorage, _ progress: ProgressHandler?
    ) throws(BackupError) {
        do throws(BackupError) {
            if !remote.retention.isEmpty { try removeOld(&result, storage) }
            try prune(&result, progress)
        } catch {
            guard error.code != .interrupted else { throw error }
            result.notice = Self.notice(error)
        }
    }

    private static func notice(_ error: BackupError) -> BackupError {
        switch error.code {
        case .accessDenied, .notSupported:
            error.with(
                .accessDenied, "old backups stay in the remote, since the key may not remove them: \(error.message)",
                remedy: "Remove them from a machine whose key may delete, or take the keep-… rules of the remote away.")
        default: error
        }
    }

    private func removeOld(_ result: inout SyncOperation.Result, _ storage: any ObjectStorage) throws(BackupError) {
        if let uncertainty { throw uncertainty }
        guard let plan, !plan.there.removed.isEmpty, let copy else { return }
        if let doubt = retention.doubt() { throw doubt }
        if !storage.capabilities.isEmpty, !storage.capabilities.contains(.removal) {
            throw BackupError(.accessDenied, "it permits only new objects", path: storage.location)
        }
        // What was uploaded since then.
        try copy.access.readNews()
        try copy.repository.refresh()
        try RemoteRetention.requireReadable(copy.repository)
        // An upload takes time: rules, pins and backups may have changed here as well.
        try store.repository.refresh()
        let now = try retention.plan(copy.repository)
        let stillGoing = Set(now.there.removed.map(\.id))
        // Pinned there meanwhile, by another machine.
        let going = plan.there.limited {
            stillGoing.contains($0.id) && copy.repository.snapshot(id: $0.id)?.isPinned == false
        }
        guard !going.removed.isEmpty else { return }
        try RemoteRetention.requireArrived(now, in: copy.repository)
        let store = try store.with(copy.access, copy.repository)
        result.removed = try store.recorded(.forget, isAutomatic: isAutomatic) { (facts) throws(BackupError) in
            var removal = RemovalProgress(going, store)
            defer { facts.removedCount = removal.removed.count }
            try copy.repository.withdrawSnapshots(going.removed.map(\.id), at: SystemClock.now()) { (_) throws(BackupError) in
                try Cancellation.check()
            } didRemove: { (id) throws(BackupError) in
                try removal.didRemove(id)
            }
            return removal.removed
        }
        result.summary.snapshotCount -= result.removed.count
    }

    /// What is transferred for it are the lists of the backups' files, and what is still needed of packs of which much is not.
    private func prune(_ result: inout SyncOperation.Result, _ progress: ProgressHandler?) throws(BackupError) {
        guard store.settings.retention.prunes, let copy, !remote.retention.isEmpty || result.summary.waitingSnapshotCount > 0
        else { return }
        let store = try store.with(copy.access, copy.repository)
        let grace = try store.removalGraceOfSeenTime(isAutomatic: true)
        guard try copy.repository.isPruneDue(grace) else { return }
        try RemoteRetention.requireReadable(copy.repository)
        let summary = try store.recorded(.prune, isAutomatic: isAutomatic) { (facts) throws(BackupError) in
            let summary = try RepositoryPrune(copy.repository, maxUnused: remote.standardUnused, grace: grace, progress: progress)
                .run()
            facts.freedByteCount = summary.freedByteCount
            return summary
        }
        result.freedBytes = summary.freedByteCount
    }
}

import BackupCore
import BackupRepository
import SystemIO

/// Changes of the copy of a repository in a remote that a user asks for: removing backups there, bringing them back, freeing
/// their space, and pins.
public struct RemoteRemoval {
    /// The store with the copy instead of its own repository: for the operations that change one.
    public let copy: Store
    private let store: Store
    private let remote: RemoteSettings

    /// Asks the remote what is there.
    /// - Throws: `notFound` for an unknown remote; errors of the remote with the texts of `RemoteMessages`; `notPermitted` when
    ///   there is another repository.
    public init(store: Store, remote name: String, progress: ProgressHandler?) throws(BackupError) {
        remote = try store.settings.remote(named: name)
        let copy = try RemoteCopy(remote, in: store.paths, isWritable: true)
        try copy.refresh(progress: progress)
        self.store = store
        self.copy = try store.with(copy, copy.openWritable(copyOf: store.repository))
    }

    /// How much of what no backup needs a prune leaves there, unless the user says otherwise.
    public var standardUnused: UnusedLimit { remote.standardUnused }

    /// By the rules of the remote.
    /// - Throws: `usage` when it has none; why it is not certain what they would remove.
    public func planByRule() throws(BackupError) -> ForgetOperation.Plan {
        guard !remote.retention.isEmpty else {
            throw BackupError(
                .usage, "the remote “\(remote.name)” has no rule which backups are kept",
                remedy: "Give --keep-last or another --keep option, or the names of backups.")
        }
        try store.repository.refresh()
        let retention = RemoteRetention(store: store, remote: remote)
        try retention.requireCertain(copy.repository)
        let plan = try retention.plan(copy.repository)
        if !plan.there.removed.isEmpty { try RemoteRetention.requireArrived(plan, in: copy.repository) }
        return plan.there
    }

    /// By other rules. What is still here, and would be uploaded again by the next sync, stays.
    /// - Throws: as `planByRule`.
    public func plan(_ policy: RetentionPolicy) throws(BackupError) -> ForgetOperation.Plan {
        try RemoteRetention(store: store, remote: remote).requireCertain(copy.repository)
        let isHere = try isStillMeant()
        return try ForgetOperation(store: copy).plan(policy).keeping(isHere)
    }

    /// All but pinned ones, and those that are still here.
    /// - Throws: as `planByRule`.
    public func planAll() throws(BackupError) -> ForgetOperation.Plan {
        try RemoteRetention(store: store, remote: remote).requireCertain(copy.repository)
        let isHere = try isStillMeant()
        return try ForgetOperation(store: copy).planAll().keeping(isHere)
    }

    /// Only the named ones.
    /// - Throws: `notPermitted` for one that is still here, and would be uploaded again by the next sync; as
    ///   `ForgetOperation.plan`.
    public func plan(names: [String]) throws(BackupError) -> ForgetOperation.Plan {
        try RemoteRetention.requireReadable(copy.repository)
        let plan = try ForgetOperation(store: copy).plan(names: names)
        let isHere = try isStillMeant()
        for snapshot in plan.removed where isHere(snapshot) != nil {
            throw BackupError(
                .notPermitted, "the backup is still here, and the next sync would upload it again; nothing was removed",
                path: snapshot.name.description,
                remedy:
                    "Delete it here first with: backupfs delete \(snapshot.name). Or give the remote rules that do not keep it: keep-last, keep-daily, … in store.yaml"
            )
        }
        return plan
    }

    /// A backup in the remote that is not here: the label of one that is here comes from here with the next sync.
    /// - Throws: `notFound`; `notPermitted` for a backup that is here.
    public func snapshot(toLabel name: String) throws(BackupError) -> Snapshot {
        let snapshot = try copy.anySnapshot(named: name)
        try store.repository.refresh()
        guard store.repository.snapshot(id: snapshot.id) == nil else {
            throw BackupError(
                .notPermitted, "the backup is still here, and its pin comes from here with each sync; nothing was changed",
                path: name, remedy: "Leave out --remote, and then run: backupfs sync \(remote.name)")
        }
        return snapshot
    }

    /// - Returns: says why a sync would upload a backup again; `nil` for one that it would not.
    private func isStillMeant() throws(BackupError) -> (Snapshot) -> Message? {
        try store.repository.refresh()
        let repository = store.repository
        guard repository.recordDamages.isEmpty else {
            return { _ in "a backup here cannot be read, and it may be this one" }
        }
        let retention = RemoteRetention(store: store, remote: remote)
        let meant = remote.retention.isEmpty ? retention.meant() : try retention.plan(copy.repository).kept
        return { snapshot in
            guard repository.snapshot(id: snapshot.id) != nil, meant.contains(snapshot.id) else { return nil }
            return "is still here, so that a sync would upload it again"
        }
    }
}

extension RemoteSettings {
    /// How much of what no backup needs a prune leaves there. Each pack that is rewritten is read and stored over the network.
    /// And without rules, a sync would upload the packs again that were rewritten there.
    var standardUnused: UnusedLimit { retention.isEmpty ? .unlimited : .percent(20) }
}

extension Store {
    /// The same store with a copy of its repository.
    func with(_ copy: RemoteCopy, _ repository: Repository) throws(BackupError) -> Store {
        try Store(
            paths: paths, log: logOverrides,
            access: RepositoryAccess(
                remoteName: copy.settings.name, location: copy.settings.url, path: copy.repositoryPath, staleness: nil
            ) { repository })
    }
}

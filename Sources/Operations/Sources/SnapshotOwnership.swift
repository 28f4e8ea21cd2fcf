import BackupCore
import BackupRepository

/// Which snapshots of a repository belong to a store's own line of backups.
struct SnapshotOwnership: Sendable {
    let identityFile: StoreIdentityFile
    /// The name of the app's definition.
    let app: String

    func owns(_ snapshot: Snapshot) -> Bool { owns(snapshot, identityFile.identity) }

    private func owns(_ snapshot: Snapshot, _ identity: StoreIdentity) -> Bool {
        // A snapshot whose attribute is unreadable does not count as unmarked.
        if snapshot.record.attributes[Snapshot.sourceAttribute] != nil { return snapshot.source == identity.source }
        return identity.ownsUnmarked && isOfThisApp(snapshot)
    }

    func isOfThisApp(_ snapshot: Snapshot) -> Bool {
        guard let named = snapshot.record.attributes[Snapshot.appAttribute] else { return true }
        return named == app
    }

    /// In the order of creation, whatever the clock said.
    func own(_ snapshots: [Snapshot]) -> [Snapshot] { own(snapshots, identityFile.identity) }

    /// The same, by the last known identity of the store: for callers that cannot wait for its storage.
    func ownAsRemembered(_ snapshots: [Snapshot]) -> [Snapshot] { own(snapshots, identityFile.remembered) }

    private func own(_ snapshots: [Snapshot], _ identity: StoreIdentity) -> [Snapshot] {
        snapshots.filter { owns($0, identity) }.sorted(by: Snapshot.wasMadeBefore)
    }

    /// The last made one of `snapshots`.
    func newest(of snapshots: [Snapshot]) -> Snapshot? {
        let identity = identityFile.identity
        return snapshots.filter { owns($0, identity) }.max(by: Snapshot.wasMadeBefore)
    }
}

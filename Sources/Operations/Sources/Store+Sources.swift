import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Whose backups are whose: a repository may hold those of several stores, of several apps and machines. What a store does by itself looks at its
/// own only.
extension Store {
    /// The line of backups that this store makes.
    public var source: SourceID { identity.source }

    /// Whether the store waits, after it has adopted a source, for a restore or a backup that a user asks for: until then it makes no backup by
    /// itself and removes none.
    public var isQuiet: Bool { identity.isQuiet }

    /// Whether a snapshot belongs to this store's line of backups.
    public func owns(_ snapshot: Snapshot) -> Bool { ownership.owns(snapshot) }

    /// Those of `snapshots` that are this store's own, in the order in which they were made, whatever the clock said.
    public func own(_ snapshots: [Snapshot]) -> [Snapshot] { ownership.own(snapshots) }

    /// The same by what was known of the store before: for those who cannot wait for its storage.
    public func ownAsRemembered(_ snapshots: [Snapshot]) -> [Snapshot] { ownership.ownAsRemembered(snapshots) }

    /// This store's own backups in the order in which they were made, as of the last look at the repository.
    public func ownSnapshots(kind: SnapshotKind? = nil) -> [Snapshot] { own(repository.snapshots(kind: kind)) }

    /// Whether a rule may remove a snapshot: only what names this store as its source. Unmarked ones in a repository outside of the store may be
    /// another store's.
    func mayRemoveByRule(_ snapshot: Snapshot) -> Bool {
        guard owns(snapshot) else { return false }
        return snapshot.source != nil || hasRepositoryInside
    }

    /// Whether the repository lies in the store, and not only by a link or a mount: no other store has its backups there then.
    private var hasRepositoryInside: Bool {
        let path = paths.resolve(settings.repositoryPath)
        guard let root = try? FileSystem.realPath(paths.root), let repository = try? FileSystem.realPath(path),
            let outer = FileSystem.statusIfPresent(root), let inner = FileSystem.statusIfPresent(repository)
        else { return false }
        return repository.hasPrefix(root + "/") && outer.device == inner.device
    }

    /// The place of the next snapshot in this store's line. Never one that this store has used before.
    func nextSequence() throws(BackupError) -> UInt64 {
        var last = ownSnapshots().map(\.sequence).max() ?? 0
        if case .place(let place) = try lastBackup.read(), place.source == source { last = max(last, place.sequence) }
        return last == .max ? .max : last + 1
    }

    /// For the moment before a snapshot appears.
    func noteLastBackup(_ record: SnapshotRecord) throws(BackupError) {
        let sequence = record.attributes[Snapshot.sequenceAttribute].flatMap { UInt64($0) } ?? 0
        try lastBackup.write(LastBackupRecord.Place(source: source, sequence: sequence, token: record.token))
    }

    private var lastBackup: LastBackupRecord { LastBackupRecord(path: paths.lastBackup) }

    /// Whether this store is known to have made backups in its source, or to continue some.
    var hasMadeBackups: Bool {
        guard case .place(let place)? = try? lastBackup.read() else { return false }
        return place.source == source && place.sequence > 0
    }

    /// The newest backup in this store's line that this store is not known to have made: a copy of it has, or the store itself in a later state than this.
    /// Until an adopted source is claimed, the store that it was adopted from may go on.
    func backupOfCopy() throws(BackupError) -> Snapshot? {
        if identity.adoption != nil, !isClaimedHere { return nil }
        return try lastBackup.backupOfCopy(source, in: repository)
    }

    /// Whether the repository names this store, or a copy of it, as the one that makes the source's backups.
    var isClaimedHere: Bool { (try? repository.source(source))?.storeID == identity.storeID }

    /// Writes down in the repository what a new machine needs to continue this source. When another store has taken the source over, or a copy of this one
    /// makes backups in it, this one begins a source of its own: two stores must not remove each other's backups by one rule. A source that this store has
    /// adopted becomes its own here. For the holder of the operation lock.
    /// - Returns: what to say of that; `nil` when the source is still this store's.
    func claimSource() throws(BackupError) -> Message? {
        if successor == nil, let foreign = try backupOfCopy() {
            try beginSource()
            return
                "this store has not made the backup “\(foreign.name)”: a copy of the store has, the store was put back to an older state, or its file last-backup is damaged; this backup begins a line of its own"
        }
        try claimAdoptedSource()
        let document = try sourceDocument()
        // What the repository has of the settings must not be lost with what is missing of them here.
        let isCutOff = try isCutOff()
        let isWritten = try repository.write(document) { current in
            guard let current else { return true }
            return current.storeID == document.storeID && !isCutOff
        }
        if isWritten || successor == nil { return leftSourceNotice }
        let other = try repository.source(source)
        try beginSource()
        let host = other.map { MessageText.shortened($0.hostName) } ?? ""
        return
            "another store, on \(host), continues the backups that this store made before; this backup begins a line of its own"
    }

    /// Where a third store has claimed the source since it was adopted, it stays that one's.
    private func claimAdoptedSource() throws(BackupError) {
        guard let adoption = identity.adoption else { return }
        var document = try sourceDocument()
        if !isClaimedHere {
            // A removed one may come back.
            let backups = try ownSnapshots() + ownRemovedSnapshots().map(\.snapshot)
            try lastBackup.write(source, newest: backups.max(by: Snapshot.wasMadeBefore))
        }
        if try isCutOff(), let current = try? repository.source(source) { document.settings = current.settings }
        let isClaimed = try repository.write(document) { [document] current in
            current.map { $0.storeID == document.storeID || adoption.allowsClaiming($0) } ?? true
        }
        if isClaimed { try identityFile.change { $0.adoption = nil } }
    }

    /// What a backup that failed after it had begun a line has not said.
    private var leftSourceNotice: Message? {
        identity.leftSource.map {
            "the earlier backups of this store are in another line, \($0.short), which another store or a copy of this one may continue; this backup begins a line of its own"
        }
    }

    /// After a backup has said that it begins a line.
    func noteLineAnnounced() {
        // An error costs one more notice.
        try? identityFile.change { $0.leftSource = nil }
    }

    private func beginSource() throws(BackupError) {
        try identityFile.change {
            $0.leftSource = $0.source
            $0.source = .random()
            $0.storeID = RandomToken.make()
            $0.ownsUnmarked = false
            $0.adoption = nil
        }
        try lastBackup.write(source, newest: nil)
        try repository.write(try sourceDocument())
    }

    /// A store whose identity was lost goes on with the source that the repository has for this very place. It is another store from then on: if the old
    /// one is in use after all, it notices that it has a successor.
    static func findSource(
        _ identityFile: StoreIdentityFile, _ repository: Repository, app: String, store path: String
    ) throws(BackupError) {
        let documents = try repository.sources().filter {
            $0.isOfThisMachine && $0.storePath == path && $0.app == app
        }
        guard let document = documents.first, documents.count == 1 else { return }
        var continued = document
        continued.storeID = identityFile.identity.storeID
        do throws(BackupError) {
            guard try repository.write(continued, ifWanted: { $0 == document }) else { return }
        } catch {
            // On a read-only medium no store makes backups, and this one shows its own.
            continued.storeID = document.storeID
        }
        try identityFile.change {
            $0.source = continued.id
            $0.storeID = continued.storeID
        }
    }

    private func isCutOff() throws(BackupError) -> Bool { try !SettingsText.read(paths.settings).hasEnd }

    private func sourceDocument() throws(BackupError) -> SourceDocument {
        try SourceDocument(identity, settings: settings, definition: definition, paths)
    }
}

extension SourceDocument {
    init(
        _ identity: StoreIdentity, settings: StoreSettings, definition: AppDefinition, _ paths: StorePaths
    ) throws(BackupError) {
        var definitionText: String?
        if settings.app.hasSuffix(".yaml") {
            definitionText = String(decoding: try FileSystem.readFile(paths.resolve(settings.app)), as: UTF8.self)
        }
        self.init(
            id: identity.source, storeID: identity.storeID, app: definition.name, title: definition.title,
            hostName: HostIdentity.hostName, machineID: HostIdentity.machineID, storePath: paths.root, definition: definitionText,
            settings: String(decoding: try FileSystem.readFile(paths.settings), as: UTF8.self))
    }
}

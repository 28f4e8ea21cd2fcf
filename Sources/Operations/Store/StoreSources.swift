import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Ownership of backups: a repository may hold those of several stores, apps and machines. Automatic operations of a store
/// consider only its own.
extension Store {
    /// This store's own backups that can be brought back, in order of removal. Includes safety backups.
    public func ownRemovedSnapshots() throws(BackupError) -> [RemovedSnapshot] {
        try repository.removedSnapshots().filter { owns($0.snapshot) }
    }

    /// The line of backups that this store makes.
    public var source: SourceID { identity.source }

    /// Whether the store has adopted a source and waits until a user requests a restore or a backup: until then it makes and
    /// removes no backup automatically.
    public var isQuiet: Bool { identity.isQuiet }

    /// Whether a snapshot belongs to this store's line of backups.
    public func owns(_ snapshot: Snapshot) -> Bool { ownership.owns(snapshot) }

    /// The ones of `snapshots` that are this store's own, in order of creation, whatever the clock said.
    public func own(_ snapshots: [Snapshot]) -> [Snapshot] { ownership.own(snapshots) }

    /// The same, by the last known identity of the store: for callers that cannot wait for its storage.
    public func ownAsRemembered(_ snapshots: [Snapshot]) -> [Snapshot] { ownership.ownAsRemembered(snapshots) }

    /// This store's own backups in order of creation, as of the last refresh of the repository.
    public func ownSnapshots(kind: SnapshotKind? = nil) -> [Snapshot] { own(repository.snapshots(kind: kind)) }

    /// The newest of this store's own backups in a channel, as of the last refresh of the repository.
    /// - Parameter channel: `nil` for the one in the settings.
    func newestOwnSnapshot(in channel: Channel? = nil) throws(BackupError) -> Snapshot? {
        let channel = try self.channel(channel) ?? .production
        return ownSnapshots(kind: .snapshot).last { $0.channel == channel }
    }

    /// Whether a rule may remove a snapshot: only one that names this store as its source. Unmarked ones in a repository outside
    /// the store may belong to another store.
    func mayRemoveByRule(_ snapshot: Snapshot) -> Bool {
        guard owns(snapshot) else { return false }
        return snapshot.source != nil || hasRepositoryInside
    }

    /// Whether the repository is inside the store, not just through a link or a mount: then no other store has its backups there.
    private var hasRepositoryInside: Bool {
        // What is in the store of a repository on a server is only a cache.
        guard settings.primary == nil else { return false }
        let path = paths.resolve(settings.repositoryPath)
        guard let root = try? FileSystem.realPath(paths.root), let repository = try? FileSystem.realPath(path),
            let outer = FileSystem.statusIfPresent(root), let inner = FileSystem.statusIfPresent(repository)
        else { return false }
        return repository.hasPrefix(root + "/") && outer.device == inner.device
    }

    /// The position of the next snapshot in this store's line. Never one that this store has used before.
    func nextSequence() throws(BackupError) -> UInt64 {
        var last = ownSnapshots().map(\.sequence).max() ?? 0
        if case .place(let place) = try lastBackup.read(), place.source == source { last = max(last, place.sequence) }
        return last == .max ? .max : last + 1
    }

    /// Called just before a snapshot appears.
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

    /// The newest backup in this store's line that this store is not known to have made: made by a copy of it, or by the store
    /// itself in a later state than this one. Until an adopted source is claimed, the store that it was adopted from may
    /// continue.
    func backupOfCopy() throws(BackupError) -> Snapshot? {
        if identity.adoption != nil, !isClaimedHere { return nil }
        return try lastBackup.backupOfCopy(source, in: repository)
    }

    /// Whether the repository names this store, or a copy of it, as the one that makes the source's backups.
    var isClaimedHere: Bool { (try? repository.source(source))?.storeID == identity.storeID }

    /// Records in the repository what a new machine needs to continue this source. When another store has taken over the source,
    /// or a copy of this one makes backups in it, this one begins its own source: two stores must not remove each other's backups
    /// by one rule. A source that this store has adopted becomes its own here. For the holder of the operation lock.
    /// - Returns: a notice about this; `nil` when the source is still this store's.
    func claimSource() throws(BackupError) -> Message? {
        if successor == nil, let foreign = try backupOfCopy() {
            try beginSource()
            return
                "this store has not made the backup “\(foreign.name)”: a copy of the store has, the store was put back to an older state, or its file last-backup is damaged; this backup begins a line of its own"
        }
        try claimAdoptedSource()
        let document = try sourceDocument()
        // If the settings here are cut off, the copy in the repository must be preserved.
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

    /// If a third store has claimed the source since it was adopted, it remains that store's.
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

    /// The notice that an earlier backup began a line but failed before it could report that.
    private var leftSourceNotice: Message? {
        identity.leftSource.map {
            "the earlier backups of this store are in another line, \($0.short), which another store or a copy of this one may continue; this backup begins a line of its own"
        }
    }

    /// Called after a backup has reported that it begins a line.
    func noteLineAnnounced() {
        // An error causes one more notice.
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

    /// A store whose identity was lost continues the source that the repository has for this same place. From then on it is
    /// another store: if the old one is in use after all, it detects its successor.
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
            // On a read-only medium no store makes backups, and this one lists its own.
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

/// Other stores' backups, which can all be named: operations on them must be deliberate.
extension Store {
    /// The notice before another store's backup is removed; `nil` for this store's own.
    public func otherSourceNotice(of snapshot: Snapshot) -> Message? {
        guard !owns(snapshot) else { return nil }
        guard let document = snapshot.source.flatMap({ try? repository.source($0) }) else {
            return "another store made the backup “\(snapshot.name)”"
        }
        let path = MessageText.shortened(document.storePath)
        let host = MessageText.shortened(document.hostName)
        return "another store, \(path) on \(host), made the backup “\(snapshot.name)”"
    }

    /// - Parameter name: as entered by the user.
    /// - Throws: `notPermitted` for another store's backup.
    func requireOwn(_ snapshot: Snapshot, named name: String, remedy: Message) throws(BackupError) {
        guard !owns(snapshot) else { return }
        let app = MessageText.shortened(snapshot.record.attributes[Snapshot.appAttribute] ?? "")
        throw BackupError(
            .notPermitted,
            ownership.isOfThisApp(snapshot)
                ? "another store made this backup" : "another store made this backup, of the app \(app)",
            path: name, remedy: remedy)
    }
}

/// How a store behaves after another one has taken over its source: that one's backups are in the same line, so nothing here may
/// remove them by a rule or treat them as this store's own.
extension Store {
    /// The document of the store that continues this one's source; `nil` while this store does. An unreadable document does not
    /// count. Neither does that of the store that this store's source was adopted from, as it will be this store's.
    var successor: SourceDocument? {
        let identity = identity
        guard let document = try? repository.source(identity.source), document.storeID != identity.storeID,
            identity.adoption?.allowsClaiming(document) != true
        else { return nil }
        return document
    }

    /// Whether the newest backup of this store's line may be another store's.
    public var hasSuccessor: Bool { successorNotice != nil }

    /// The notice before this store's backups are used or removed; `nil` while it continues its source itself.
    public var successorNotice: Message? {
        guard let successor else {
            // If that is unknown, the newest backup may be another store's as well.
            do throws(BackupError) { return try backupOfCopy().map(Self.notice) } catch { return error.summary }
        }
        let path = MessageText.shortened(successor.storePath)
        let host = MessageText.shortened(successor.hostName)
        return repository.sourceTime(source).map {
            "another store, \(path) on \(host), continues the backups of this store; it said so at \(SystemClock.localTime($0))"
        } ?? "another store, \(path) on \(host), continues the backups of this store"
    }

    private static func notice(_ backup: Snapshot) -> Message {
        "this store has not made the backup “\(backup.name)” of \(SystemClock.localTime(backup.creationTime)): a copy of the store has, the store was put back to an older state, or its file last-backup is damaged"
    }

    /// - Throws: `notPermitted` when another store continues the source, and so determines retention and the newest backup.
    public func requireNoSuccessor() throws(BackupError) {
        guard let notice = successorNotice else { return }
        throw BackupError(
            .notPermitted, notice,
            remedy:
                "Name the backups that you mean; see: backupfs snapshots. The next backup of this store begins a line of its own. To continue these backups here, make a new store with: backupfs init --adopt \(source.short)"
        )
    }

    /// For removing this store's backups by a rule, all of them, or permanently.
    /// - Throws: `notPermitted` when another store continues the source, and while this store has adopted but not claimed it: the
    ///   store that it was adopted from may be in use.
    public func requireClaimedSource() throws(BackupError) {
        try requireNoSuccessor()
        guard identity.adoption != nil, !isClaimedHere else { return }
        let message: Message
        if let document = try? repository.source(source) {
            let path = MessageText.shortened(document.storePath)
            let host = MessageText.shortened(document.hostName)
            message =
                "this store has adopted the backups of another store, \(path) on \(host), and has not used them yet: they may still be that store's"
        } else {
            message =
                "this store has adopted the backups of another store and has not used them yet: they may still be that store's"
        }
        throw BackupError(
            .notPermitted, message,
            remedy:
                "If this store replaces that one, first make a backup or restore one: backupfs backup, or backupfs restore latest. Until then name the backups that you mean, without --now, so that they can be brought back."
        )
    }
}

/// Updates a store's settings in the repository between two backups. Other stores use them when they prune: a longer time for
/// removed backups that they learn of only with the next backup comes too late.
struct SourceUpdate {
    let paths: StorePaths
    let identity: StoreIdentity
    let repository: Repository

    /// Only a store that makes the source's backups may write, and settings that are cut off must not overwrite complete ones.
    func run(_ settings: StoreSettings, _ definition: AppDefinition) throws(BackupError) {
        guard !identity.isQuiet, identity.adoption == nil, settings.hasEnd else { return }
        // A copy of the store has made a backup: this store is about to begin its own source.
        let record = LastBackupRecord(path: paths.lastBackup)
        guard try record.backupOfCopy(identity.source, in: repository) == nil else { return }
        let document = try SourceDocument(identity, settings: settings, definition: definition, paths)
        try repository.write(document) { $0?.storeID == document.storeID }
    }
}

extension Store {
    /// Called before backups are removed: their grace period follows the current settings. A removal does not fail because of it.
    func updateSource() {
        // A copy gets it with the next upload.
        guard remoteName == nil else { return }
        try? SourceUpdate(paths: paths, identity: identity, repository: repository).run(.read(paths.settings), definition)
    }
}

import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Deleting, renaming and pinning backups: short, but recorded as operations.
extension Store {
    /// A backup by its name; `latest` is the newest one of this store.
    /// - Throws: `notFound`.
    public func snapshot(named name: String) throws(BackupError) -> Snapshot {
        try repository.refresh()
        if name == "latest" {
            guard let newest = ownSnapshots(kind: .snapshot).last else {
                throw BackupError(.notFound, "there are no backups yet", remedy: "Make one with: backupfs backup")
            }
            return newest
        }
        guard let snapshot = repository.snapshots(kind: .snapshot).first(where: { $0.name == FileName(name) }) else {
            throw BackupError(.notFound, "there is no such backup", path: name, remedy: "See: backupfs snapshots")
        }
        return snapshot
    }

    /// Removes snapshots so that they can be brought back. For the holder of the operation lock.
    /// - Throws: `notPermitted` for a pinned snapshot.
    func withdraw(_ ids: [SnapshotID]) throws(BackupError) {
        var removed: Set<SnapshotID> = []
        updateSource()
        try repository.withdrawSnapshots(ids, at: SystemClock.now()) { (id) throws(BackupError) in removed.insert(id) }
        if let kept = ids.first(where: { !removed.contains($0) }).flatMap({ repository.snapshot(id: $0) }), ids.count == 1 {
            throw BackupError(
                .notPermitted, "the backup is pinned; nothing was removed", path: kept.name.description,
                remedy: "Let it go first with: backupfs unpin \(kept.name)")
        }
    }

    /// Removes a backup. It can be brought back for a time: see `removalGrace`.
    /// - Throws: `notPermitted` for a pinned backup.
    public func removeSnapshot(_ snapshot: Snapshot) throws(BackupError) {
        try recorded(.delete) { (facts) throws(BackupError) in
            facts.snapshot = snapshot.name.description
            let lock = try lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            try withdraw([snapshot.id])
            facts.removedCount = 1
        }
    }

    /// - Throws: `alreadyExists`.
    public func renameSnapshot(_ snapshot: Snapshot, to name: FileName) throws(BackupError) {
        try recorded(.rename) { (facts) throws(BackupError) in
            // The line of the original backup has the old name.
            facts.snapshot = name.description
            let lock = try lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            try repository.renameSnapshot(snapshot.id, to: name)
        }
    }

    /// Pins a backup, or takes the pin away: retention and `prune` keep a pinned one.
    public func setPinned(_ snapshot: Snapshot, _ isPinned: Bool) throws(BackupError) {
        try repository.setPinned(snapshot.id, isPinned)
    }
}

/// Properties of a backup that can be set after it was made.
extension Store {
    /// A backup by its name, or a safety backup by its name or its file name in `safety/`; `latest` is the newest backup.
    /// - Throws: `notFound`.
    public func anySnapshot(named name: String) throws(BackupError) -> Snapshot {
        try repository.refresh()
        if name != "latest", let snapshot = repository.snapshot(named: FileName(name)) { return snapshot }
        return try snapshot(named: name, orSafetyBackupOf: repository.snapshots(kind: .safety))
    }

    /// A backup by its name, or else a safety backup by its name or its file name in `safety/`: of several, this store's own, and
    /// of those the newest.
    /// - Parameter safetyBackups: evaluated after the repository was read.
    /// - Throws: `notFound`.
    func snapshot(
        named name: String, orSafetyBackupOf safetyBackups: @autoclosure () -> [Snapshot]
    ) throws(BackupError) -> Snapshot {
        do throws(BackupError) {
            return try snapshot(named: name)
        } catch {
            guard error.code == .notFound else { throw error }
            guard let found = safetyBackup(named: name, among: safetyBackups()) else { throw error }
            return found
        }
    }

    /// Changes a backup's tags atomically.
    /// - Parameters:
    ///   - replacement: replaces all existing tags; `nil` keeps them.
    ///   - added: takes precedence over `removed`.
    /// - Returns: the changed backup.
    /// - Throws: `invalidArgument` for a word that cannot be a tag; nothing is changed then.
    @discardableResult
    public func changeTags(
        of snapshot: Snapshot, setting replacement: [String]? = nil, adding added: [String] = [], removing removed: [String] = []
    ) throws(BackupError) -> Snapshot {
        try repository.changeTags(snapshot.id) { tags in
            if let replacement { tags = Set(replacement) }
            tags.subtract(removed)
            tags.formUnion(added)
        }
        return repository.snapshot(id: snapshot.id) ?? snapshot
    }
}

extension Store {
    /// The channel of a new backup.
    /// - Parameter asked: overrides the settings.
    /// - Returns: `nil` for an app without channels.
    /// - Throws: `notSupported` when a channel is requested and the app has none.
    func channel(_ asked: Channel? = nil) throws(BackupError) -> Channel? {
        try Self.channel(asked ?? settings.channel, definition)
    }

    static func channel(_ asked: Channel?, _ definition: AppDefinition) throws(BackupError) -> Channel? {
        if definition.fileNames.hasChannels { return asked ?? .production }
        guard asked != nil else { return nil }
        throw BackupError(
            .notSupported, "\(definition.title) has no channels",
            remedy: "Leave out --channel, and remove channel from the settings.")
    }
}

extension Snapshot {
    /// The attribute with the channel. It is absent for production, which includes all backups from before there were channels.
    static let channelAttribute = "channel"

    /// The channel of the app that the backup is from.
    public var channel: Channel {
        record.attributes[Self.channelAttribute].flatMap { Channel(rawValue: $0) } ?? .production
    }
}

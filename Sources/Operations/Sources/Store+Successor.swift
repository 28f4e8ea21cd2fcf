import BackupCore
import BackupRepository
import SystemIO

/// How a store behaves after another one has taken over its source: that one's backups are in the same line, so nothing here may remove them by a rule or
/// treat them as this store's own.
extension Store {
    /// The document of the store that continues this one's source; `nil` while this store does. An unreadable document does not count. Neither does that of
    /// the store that this store's source was adopted from, as it will be this store's.
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
    /// - Throws: `notPermitted` when another store continues the source, and while this store has adopted but not claimed it: the store that it was adopted
    ///   from may be in use.
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

import BackupCore
import BackupRepository

/// Backups of other stores, of which each may be named: what is done with them must be meant.
extension Store {
    /// What to say before a backup of another store is removed; `nil` for this store's own.
    public func otherSourceNotice(of snapshot: Snapshot) -> Message? {
        guard !owns(snapshot) else { return nil }
        guard let document = snapshot.source.flatMap({ try? repository.source($0) }) else {
            return "another store made the backup “\(snapshot.name)”"
        }
        let path = MessageText.shortened(document.storePath)
        let host = MessageText.shortened(document.hostName)
        return "another store, \(path) on \(host), made the backup “\(snapshot.name)”"
    }

    /// - Parameter name: as the user has given it.
    /// - Throws: `notPermitted` for a backup of another store.
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

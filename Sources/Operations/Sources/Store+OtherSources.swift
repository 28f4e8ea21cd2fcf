import BackupCore
import BackupRepository

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

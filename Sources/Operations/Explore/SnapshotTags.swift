import BackupCore
import BackupRepository

/// What can be said of a backup after it was made.
extension Store {
    /// A backup by its name, or a safety backup, also by its file's name in `safety/`; `latest` is the newest backup.
    /// - Throws: `notFound`.
    public func anySnapshot(named name: String) throws(BackupError) -> Snapshot {
        try repository.refresh()
        if name != "latest", let snapshot = repository.snapshot(named: FileName(name)) { return snapshot }
        do {
            return try snapshot(named: name)
        } catch let error where error.code == .notFound {
            guard let found = safetyBackup(named: name, among: repository.snapshots(kind: .safety)) else { throw error }
            return found
        }
    }

    /// A safety backup by its own name, or its file's in `safety/`: of several this store's own, and of those the newest.
    func safetyBackup(named name: String, among backups: [Snapshot]) -> Snapshot? {
        let named = backups.filter { $0.name == FileName(name) || safetyFile(of: $0).name == name }
        return named.last(where: owns) ?? named.last
    }

    /// Changes a backup's tags in one step.
    /// - Parameters:
    ///   - replacement: what replaces all tags that are there; `nil` leaves them.
    ///   - added: wins over `removed`.
    /// - Returns: the backup as it is now.
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

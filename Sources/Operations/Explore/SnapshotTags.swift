import BackupCore
import BackupRepository

/// Properties of a backup that can be set after it was made.
extension Store {
    /// A backup by its name, or a safety backup by its name or its file name in `safety/`; `latest` is the newest backup.
    /// - Throws: `notFound`.
    public func anySnapshot(named name: String) throws(BackupError) -> Snapshot {
        try repository.refresh()
        if name != "latest", let snapshot = repository.snapshot(named: FileName(name)) { return snapshot }
        return try snapshot(named: name, orSafetyBackupOf: repository.snapshots(kind: .safety))
    }

    /// A backup by its name, or else a safety backup by its name or its file name in `safety/`: of several, this store's own, and of those the newest.
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

import BackupCore
import BackupRepository

/// Whether a backup would hold exactly what another one holds.
struct SameContent {
    let repository: Repository

    /// Compares records and files. The export is not compared, since it contains its creation time. Anything unreadable counts as different.
    func isSame(_ root: Directory, as snapshot: Snapshot) -> Bool {
        guard let earlier = try? repository.rootDirectory(of: snapshot) else { return false }
        let names: [FileName] = ["data", "database.sqlite", "media"]
        return names.allSatisfy { name in
            guard let now = root.entry(named: name), let then = earlier.entry(named: name) else {
                return root.entry(named: name) == nil && earlier.entry(named: name) == nil
            }
            return name == "data" ? isSameData(now, then) : isSameEntry(now, then)
        }
    }

    /// The folder's own content includes the times of its files.
    private func isSameData(_ now: TreeEntry, _ then: TreeEntry) -> Bool {
        guard let now = try? repository.directory(of: now), let then = try? repository.directory(of: then) else { return false }
        return now.entries.map(\.name) == then.entries.map(\.name)
            && now.entries.map(\.content) == then.entries.map(\.content)
    }

    /// A file that changed just before the earlier backup was stored without its identity, since a second change might have left no trace. A newly known
    /// identity is not a change.
    private func isSameEntry(_ now: TreeEntry, _ then: TreeEntry) -> Bool {
        guard now.kind == then.kind else { return false }
        if now.metadata != then.metadata { return false }
        if now.content == then.content { return true }
        guard let now = try? repository.directory(of: now), let then = try? repository.directory(of: then),
            now.entries.count == then.entries.count
        else { return false }
        return zip(now.entries, then.entries).allSatisfy { now, then in
            now.name == then.name && now.mode == then.mode && now.modificationTime == then.modificationTime
                && isSameEntry(now, then)
        }
    }
}

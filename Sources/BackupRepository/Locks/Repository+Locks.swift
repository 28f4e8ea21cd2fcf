import BackupCore
import SystemIO

extension Repository {
    /// The current holders of locks of the repository, and the holders whose notes are stale.
    public func lockHolders() throws(BackupError) -> (present: [LockHolder], stale: [LockHolder]) {
        try sortNotes { _ in }
    }

    /// Removes stale notes; others stay. Stale notes would expire by themselves.
    /// - Returns: the holders that stay, and those whose notes were removed.
    public func unlock() throws(BackupError) -> (present: [LockHolder], stale: [LockHolder]) {
        try sortNotes { (note) throws(BackupError) in try FileSystem.removeFile(note.path) }
    }

    private func sortNotes(
        _ onStale: (LockFolder.Note) throws(BackupError) -> Void
    ) throws(BackupError) -> (present: [LockHolder], stale: [LockHolder]) {
        let folder = LockFolder(layout: layout)
        let notes = try folder.notes()
        var present: [LockHolder] = []
        var stale: [LockHolder] = []
        guard !notes.isEmpty else { return (present, stale) }
        let now = try StorageClock.now(layout)
        for note in notes {
            if try folder.isStale(note, now: now) {
                try onStale(note)
                if let holder = note.holder { stale.append(holder) }
            } else if let holder = note.holder {
                present.append(holder)
            }
        }
        return (present, stale)
    }
}

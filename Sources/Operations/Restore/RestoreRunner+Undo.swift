import BackupCore
import BackupRepository
import Restore
import SystemIO

/// Undoes the last restore by restoring the safety backup that it made. That is a restore like any other with its own safety backup, so the next undo brings
/// back what the first one took away.
extension RestoreRunner {
    public struct Undo: Sendable {
        public let source: ImportSource
        /// What was restored, and when.
        public let name: String
        public let time: Timestamp
    }

    /// - Throws: `notFound` when there is no restore to undo, or its safety backup is gone; `notSupported` when the app cannot replace its data.
    public func undo() throws(BackupError) -> Undo {
        guard strategies.contains(.replace) else {
            throw BackupError(
                .notSupported, "\(store.definition.title) has no strategy replace, so a restore cannot be taken back",
                path: store.paths.root,
                remedy: "Write the safety backup into a folder with: backupfs restore NAME --target DIR")
        }
        guard let last = try LastRestoreRecord(path: store.paths.lastRestore).read() else {
            throw BackupError(
                .notFound, "no restore is known that could be taken back", path: store.paths.root,
                remedy: "See the safety backups with: backupfs snapshots --safety")
        }
        try store.repository.refresh()
        if let snapshot = store.repository.snapshot(id: last.safetySnapshot) {
            return Undo(source: try source(of: snapshot, named: store.nameInSafety(snapshot)), name: last.name, time: last.time)
        }
        let digits = last.safetySnapshot.hexadecimal.prefix(12)
        let isRemoved = try store.ownRemovedSnapshots().contains { $0.snapshot.id == last.safetySnapshot }
        throw BackupError(
            .notFound, "the safety backup of the last restore, of \(MessageText.shortened(last.name)), was removed",
            path: store.paths.root,
            remedy: isRemoved
                ? "Bring it back with: backupfs undelete \(digits)"
                : "See the other safety backups with: backupfs snapshots --safety")
    }
}

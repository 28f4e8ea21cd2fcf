import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// `snapshots/NAME/` of an unfinished backup. Its name, its state and the names in it are available immediately. Any further access waits until the backup has
/// ended: the bridge holds back such requests (`TreeOperations.isPending`), and requests that it does not hold back wait here.
final class PendingFolder: FolderNode {
    static let stateName = "user.backupfs.state"
    static let pendingState = "pending"
    static let finishedState = "finished"

    let inode: InodeNumber
    private let backup: PendingBackup
    private let context: TreeContext

    init(_ backup: PendingBackup, context: TreeContext) {
        self.backup = backup
        inode = backup.inode
        self.context = context
    }

    var isPending: Bool { backup.result == nil }
    var startedAt: Timestamp { backup.startedAt }
    var looksAtTheRepository: Bool { !isPending }

    /// The folder of the finished backup.
    private func finished() throws(BackupError) -> SnapshotFolder {
        switch backup.wait(atMostSeconds: nil) {
        case .success(let made):
            guard let snapshot = context.repository.snapshot(id: made.id) else { throw .notFound(backup.name) }
            return SnapshotFolder(snapshot, inode: inode, context: context)
        case .failure(let error):
            // It was cancelled on request and does not exist.
            throw error.code == .interrupted ? .notFound(backup.name) : error
        case nil: throw .notFound(backup.name)
        }
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        guard isPending else { return try finished().attributes() }
        var attributes = context.folderAttributes(inode, time: backup.startedAt)
        attributes.entryTimeoutSeconds = 0
        attributes.attributeTimeoutSeconds = 0
        return attributes
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard isPending else { return try finished().child(named: name) }
        if PendingEntry.files.contains(name) { return PendingFile(PendingEntry(name, in: self)) }
        if PendingEntry.folders.contains(name) { return PendingSubfolder(PendingEntry(name, in: self)) }
        throw .notFound(name)
    }

    /// A program that has waited gets the error here: it reads later, or not at all.
    func requireOpenable() throws(BackupError) { _ = try finished() }

    func listing() throws(BackupError) -> FolderListing { try finished().listing() }

    var isImmutable: Bool { !isPending }

    func absenceTimeoutSeconds(of name: FileName) -> Double { isPending ? 0 : TreeContext.immutableTimeoutSeconds }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        guard isPending else { return try finished().ownExtendedAttributes() }
        return [(SnapshotFolder.pinnedName, backup.isPinned ? "1" : "0"), (Self.stateName, Self.pendingState)]
    }

    /// A pin takes effect from the moment the backup exists.
    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        if name == SnapshotFolder.pinnedName {
            let isPinned = try SnapshotFolder.isPin(value, of: backup.name)
            if try backup.pin(isPinned) { return }
            if try setPinnedWhereVisible(isPinned) { return }
        }
        guard !isPending else { throw .readOnlyHere }
        try finished().setExtendedAttribute(name, to: value)
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        if name == SnapshotFolder.pinnedName {
            if try backup.pin(false) { return }
            if try setPinnedWhereVisible(false) { return }
        }
        guard !isPending else { throw .readOnlyHere }
        try finished().removeExtendedAttribute(name)
    }

    /// How long to wait for the backup to appear after its pin was settled.
    private static let appearanceNanoseconds: UInt64 = 2_000_000_000

    /// For a backup that exists already while follow-up work, such as retention, still runs. Waiting for that would keep `snapshots/` locked.
    /// - Returns: false when it has ended meanwhile.
    private func setPinnedWhereVisible(_ isPinned: Bool) throws(BackupError) -> Bool {
        let deadline = SystemClock.monotonicNanoseconds() + Self.appearanceNanoseconds
        while isPending {
            _ = try context.repository.refresh()
            // No other snapshot can have its name: the name was free when the backup got it.
            if let snapshot = context.repository.snapshot(named: backup.name), snapshot.kind == .snapshot,
                !context.services.own([snapshot]).isEmpty
            {
                try context.services.setPinned(snapshot, isPinned)
                backup.notePinned(isPinned)
                return true
            }
            guard SystemClock.monotonicNanoseconds() < deadline else {
                throw BackupError(
                    .busy, "the backup is not finished yet", path: backup.name.description,
                    remedy: "Wait a moment, and look again.")
            }
            usleep(5_000)
        }
        return false
    }
}

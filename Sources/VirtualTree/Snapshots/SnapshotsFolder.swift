import BackupCore
import BackupRepository
import SystemIO

/// `snapshots/`: `mkdir` makes a backup, `rmdir` deletes or cancels one, `rename` renames
/// it. It shows all backups of the repository; `latest` is the newest that this store made.
final class SnapshotsFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        context.folderAttributes(inode, time: context.newestTime(.snapshot, ofOwn: false))
    }

    /// Includes changes by other processes.
    private func snapshots() throws(BackupError) -> [Snapshot] { try context.refreshedSnapshots(.snapshot) }

    /// The same for changes, which must not rely on cached data.
    private func currentSnapshots() throws(BackupError) -> [Snapshot] {
        try context.requireRepository(lockedAfter: context.pending.readLooks)
        return context.repository.snapshots(kind: .snapshot)
    }

    /// Reading it waits until the kernel has received all notifications about the repository so far.
    private static let generationName = "user.backupfs.generation"

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        try context.requireRepository()
        return [(Self.generationName, String(context.announcer.settledGeneration()))]
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.hiddenNameTimeoutSeconds(name) }

    func child(named name: FileName) throws(BackupError) -> any Node {
        // File managers and shells probe for dozens of hidden names; none of them can be a snapshot.
        if name.bytes.first == UInt8(ascii: ".") { throw .notFound(name) }
        if name == LatestLinks.name {
            guard let link = try context.latestLink() else { throw .notFound(name) }
            return LatestLink(link, context: context)
        }
        if let backup = context.pending.shown(name) { return PendingFolder(backup, context: context) }
        let looks = context.pending.readLooks
        let isAnswering = try context.isRepositoryAnswering()
        if let snapshot = context.repository.snapshot(named: name), snapshot.kind == .snapshot { return folder(of: snapshot) }
        if let failure = context.pending.failures.first(where: { $0.fileName == name }) { return file(of: failure) }
        // Only a responding repository can prove that. The request may be a change that first checks whether the name is free.
        if !isAnswering {
            try context.requireRepository(lockedAfter: looks)
            return try child(named: name)
        }
        throw .notFound(name)
    }

    private func folder(of snapshot: Snapshot) -> SnapshotFolder {
        SnapshotFolder(snapshot, inode: context.pending.inode(of: snapshot.id, in: inode), context: context)
    }

    private func file(of failure: BackupFailure) -> TextFile {
        TextFile(failure.fileName, in: inode, context: context, time: failure.time) { [context] in
            Array("\(context.services.text(failure.text))\n".utf8)
        }
    }

    func requireOpenable() { context.pending.noteLook() }

    func listing() throws(BackupError) -> FolderListing {
        let snapshots = try snapshots()
        let pending = context.pending.shown
        let failures = context.pending.failures
        let taken = Set(pending.map(\.name))
        // A backup is in the repository a moment before it is finished.
        var nodes: [(name: FileName, node: any Node)] = snapshots.filter { !taken.contains($0.name) }.map {
            ($0.name, folder(of: $0))
        }
        nodes += pending.map { ($0.name, PendingFolder($0, context: context)) }
        let names = Set(nodes.map(\.name))
        nodes += failures.filter { !names.contains($0.fileName) }.map { ($0.fileName, file(of: $0)) }
        let listing = FolderListing(nodes)
        guard let link = try context.latestLink() else { return listing }
        let latest = LatestLink(link, context: context)
        return listing.followed(
            by: FolderListing(count: 1) { _ in
                // It may have changed since the listing was taken.
                (LatestLinks.name, (try? latest.attributes()) ?? .unread(LatestLinks.shownInode, .symbolicLink))
            } node: { _ in
                latest
            })
    }

    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        let label = try Self.label(name)
        defer { context.settleLatest() }
        let looks = context.pending.looks
        guard try isFree(name) else { throw Self.taken(label) }
        let backup = try context.pending.begin(name, in: inode, onEnd: context.pendingEnded) {
            [context] (backup) throws(BackupError) in
            let milestones = BackupMilestones(hasBegun: backup.noteBegun) { name in
                if name != backup.name {
                    context.pending.rename(backup, to: name)
                    context.noteLatest()
                }
                return backup.settlePin()
            }
            let made = try context.services.createSnapshot(named: label, milestones)
            // It must be listed before it counts as finished. Its pin was written with it, if there was space for that.
            _ = try? context.repository.refresh()
            guard backup.settlePin(), let snapshot = context.repository.snapshot(id: made.id), !snapshot.isPinned else {
                return made
            }
            do throws(BackupError) {
                try context.services.setPinned(snapshot, true)
                return made
            } catch {
                // The backup exists all the same.
                let others = made.incompleteness.map { [$0.message] + $0.findings } ?? []
                return MadeSnapshot(
                    id: made.id,
                    incompleteness: error.with(
                        nil, "the backup is not pinned: \(error.message)", findings: error.findings + others))
            }
        }
        return try answer(backup, looks: looks, unless: isCancelled)
    }

    /// After a cancellation, a backup may have to undo something.
    private static let cancellationSeconds = 2.0

    /// How long `mkdir` waits at least for the backup to start, so that it can itself report that another operation runs. The
    /// kernel keeps `snapshots/` locked meanwhile, so it is not longer: an automatic backup may take ten seconds to give way.
    private static let beginningSeconds = 2.0
    /// Errors right at the start occur within less.
    private static let shortestWaitNanoseconds: UInt64 = 100_000_000

    /// The result of `mkdir`, when it has waited for the backup as long as it may, or another program wants to list the folder.
    /// - Parameter looks: how often the folder was listed before the `mkdir`.
    private func answer(_ backup: PendingBackup, looks: Int, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        let started = SystemClock.monotonicNanoseconds()
        backup.waitUntilBegun(atMostSeconds: Self.beginningSeconds, unless: isCancelled)
        let limit = context.services.makeDirectoryWaitSeconds
        let waitedSeconds = Double(SystemClock.monotonicNanoseconds() - started) / 1e9
        var outcome = backup.wait(atMostSeconds: limit.map { $0 - waitedSeconds }) {
            let isWaitedFor = limit != nil && context.pending.looks != looks
            return isCancelled() || isWaitedFor && SystemClock.monotonicNanoseconds() >= started + Self.shortestWaitNanoseconds
        }
        if outcome == nil, isCancelled() {
            backup.cancel()
            outcome = backup.wait(atMostSeconds: Self.cancellationSeconds)
            guard outcome != nil else { throw BackupError(.interrupted, "cancelled") }
        }
        guard let outcome = outcome ?? context.pending.show(backup) else { return PendingFolder(backup, context: context) }
        if let incompleteness = try outcome.get().incompleteness { throw incompleteness }
        return try child(named: backup.name)
    }

    private static func taken(_ name: String) -> BackupError {
        BackupError(.alreadyExists, "there is a backup of that name already", path: name, remedy: "Choose another name.")
    }

    private func isFree(_ name: FileName) throws(BackupError) -> Bool {
        guard context.pending.shown(name) == nil else { return false }
        return try !currentSnapshots().contains { $0.name == name }
    }

    func removeDirectory(_ name: FileName) throws(BackupError) {
        defer { context.settleLatest() }
        let snapshot: Snapshot
        if let backup = context.pending.shown(name) {
            guard let made = try finishedMeanwhile(backup) else { return }
            // By its identity: another backup may have the name by now.
            guard let itself = try currentSnapshots().first(where: { $0.id == made.id }), itself.name == name else {
                throw BackupError(
                    .busy, "the backup was finished meanwhile, under another name: \(backup.name)", path: name.description,
                    remedy: "Remove that one.")
            }
            snapshot = itself
        } else {
            snapshot = try self.snapshot(name)
        }
        guard !snapshot.isPinned else { throw Self.pinned(name) }
        try context.services.removeSnapshot(snapshot)
    }

    /// Programs that delete folder trees (`find -delete`) call rmdir after every error.
    private static func pinned(_ name: FileName) -> BackupError {
        BackupError(
            .notPermitted, "the backup is pinned", path: name.description,
            remedy: "Unpin it first: setfattr -x user.backupfs.pinned, or backupfs unpin.")
    }

    /// Cancels an unfinished backup.
    /// - Returns: `nil` when it is gone, or the backup if it was finished meanwhile.
    /// - Throws: `notPermitted` when it is to be pinned: it continues.
    private func finishedMeanwhile(_ backup: PendingBackup) throws(BackupError) -> MadeSnapshot? {
        guard backup.cancelUnlessPinned() else { throw Self.pinned(backup.name) }
        switch backup.wait(atMostSeconds: Self.cancellationSeconds) {
        case .success(let made): return made
        case .failure: return nil
        case nil: throw backup.endsAlready
        }
    }

    func removeFile(_ name: FileName) throws(BackupError) {
        if name == LatestLinks.name { throw .readOnlyHere }
        if context.pending.removeFailure(name) { return }
        if context.pending.shown(name) == nil { _ = try snapshot(name) }
        throw BackupError(.isADirectory, "a backup is a folder", path: name.description, remedy: "Use rmdir to delete a backup.")
    }

    func createFile(_ name: FileName) throws(BackupError) -> any FileNode {
        throw BackupError(
            .notPermitted, "only folders can be made here", path: name.description,
            remedy: "Make a folder to back up; copy files into restore/ to restore.")
    }

    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        guard newParent.inode == inode else {
            throw BackupError(.crossDevice, "a backup stays in snapshots/", path: name.description)
        }
        if context.pending.shown(name) != nil {
            throw BackupError(
                .busy, "the backup is not finished yet", path: name.description, remedy: "Rename it when it is finished.")
        }
        let snapshot = try snapshot(name)
        _ = try Self.label(newName)
        if newName == snapshot.name { return }
        guard try isFree(newName) else { throw Self.taken(newName.description) }
        defer { context.settleLatest() }
        try context.services.renameSnapshot(snapshot, to: newName)
    }

    private func snapshot(_ name: FileName) throws(BackupError) -> Snapshot {
        if name == LatestLinks.name {
            throw BackupError(.notADirectory, "latest is a link to the newest backup", path: "latest")
        }
        guard let snapshot = try currentSnapshots().first(where: { $0.name == name }) else { throw .notFound(name) }
        return snapshot
    }

    private static func label(_ name: FileName) throws(BackupError) -> String {
        guard name != LatestLinks.name else {
            throw BackupError(.alreadyExists, "latest always names the newest backup", path: "latest")
        }
        guard name.isSnapshotName else {
            throw BackupError(
                .notPermitted, "this cannot be the name of a backup", path: name.description,
                remedy: "Use a name that does not start with a dot and has no control characters.")
        }
        return name.description
    }
}

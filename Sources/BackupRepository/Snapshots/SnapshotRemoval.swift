import BackupCore
import Glibc
import SystemIO

/// Removing snapshots so that they can be undeleted: the record moves to `removed/`, with the time of the removal as its
/// modification time. The label stays in place. A snapshot that also has a record in `snapshots/`, as after copying a repository,
/// counts as not removed. The register names it until it is removed permanently: a copy of the repository without `removed/` is
/// incomplete.
extension SnapshotStore {
    /// The number of snapshots to remove under one lock.
    private static let batchCount = 500
    /// The modification time of a record in `removed/` whose time of removal is unknown, because the clock was wrong.
    static let unknownRemovalTime = Timestamp(seconds: 0)

    /// Moves the records of snapshots to `removed/`, in the given order, each durably before `didRemove` is called for it. Pinned
    /// and missing snapshots are skipped. If the clock is behind the newest snapshot, it is wrong: the time of the removal is
    /// then recorded as unknown, and a later prune sets it. Otherwise the grace period could end immediately.
    /// - Parameter willRemove: called before each; an error it throws ends the removal.
    func withdraw(
        _ ids: [SnapshotID], at time: Timestamp, willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try PrivateFile.makeFolder(layout.removed)
        try scan()
        let time = snapshotAhead(of: time) == nil ? time : Self.unknownRemovalTime
        try takeOut(ids, isForGood: false, willRemove, didRemove) { (id, lock) throws(BackupError) in
            try move(id, layout.snapshotPath(of: id), layout.removedPath(of: id), time, lock)
        }
    }

    /// The snapshot with the latest date, if that is later than the current time.
    private func snapshotAhead(of time: Timestamp) -> Snapshot? {
        list.snapshots.last.flatMap { time < $0.creationTime ? $0 : nil }
    }

    /// The number of removed snapshots that stay because their time of removal is unknown and cannot be set, and the snapshot
    /// that shows that the clock is behind.
    func untimedRemovals(among removed: [RemovedSnapshot], at now: Timestamp) -> UntimedRemovals? {
        let count = removed.count { $0.removalTime == nil }
        guard count > 0, let latest = snapshotAhead(of: now) else { return nil }
        return UntimedRemovals(count: count, latest: latest)
    }

    /// Removes snapshots and their labels permanently, in the given order, each durably
    /// before `didRemove` is called for it. Pinned and missing snapshots are skipped.
    func removeForGood(
        _ ids: [SnapshotID], willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try synchronizeRemoved()
        try takeOut(ids, isForGood: true, willRemove, didRemove) { (id, lock) throws(BackupError) in
            try lock.requireHeld()
            // Such a copy exists after an interrupted removal.
            try layout.remove(layout.removedPath(of: id))
            try layout.remove(layout.snapshotPath(of: id))
            noteRemovedForGood(id)
            try layout.synchronize(layout.snapshots)
            try layout.remove(layout.labelPath(of: id))
        }
    }

    /// - Parameters:
    ///   - isForGood: whether to delete them from the register.
    ///   - remove: removes one snapshot, durably.
    private func takeOut(
        _ ids: [SnapshotID], isForGood: Bool, _ willRemove: (SnapshotID) throws(BackupError) -> Void,
        _ didRemove: (SnapshotID) throws(BackupError) -> Void,
        remove: (SnapshotID, borrowing NamesLock) throws(BackupError) -> Void
    ) throws(BackupError) {
        var rest = ids[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.batchCount)
            rest = rest.dropFirst(Self.batchCount)
            // Pins and names are written under the same lock, so the result of the scan stays valid.
            let lock = try NamesLock(layout)
            defer { withExtendedLifetime(lock) {} }
            try scan()
            let going = batch.filter { list[$0]?.isPinned == false }
            // This also adds the snapshots of older programs.
            changeRegister { if isForGood { $0.strikeOut(going) } }
            // Removed snapshots must disappear from the list even if a later removal fails; and those that stayed are added
            // again.
            defer {
                _ = try? scan()
                changeRegister { register in
                    if isForGood { register.strikeOut(going.filter { list[$0] == nil } + perhapsGone(going)) }
                    for id in going where list[id] != nil && (try? FileSystem.exists(layout.labelPath(of: id))) == true {
                        register.enterLabel(of: id)
                    }
                }
            }
            for id in batch {
                guard let snapshot = list[id], !snapshot.isPinned else { continue }
                try willRemove(id)
                try remove(id, lock)
                try didRemove(id)
            }
        }
    }

    /// Those of removed snapshots that the register must not name after an error. In an object storage, a removal may have taken
    /// effect though it has failed, and the cache shows the record all the same: named again, it would count as lost for ever.
    /// One that is still there is no finding without an entry, and gets it with the next change.
    func perhapsGone(_ ids: [SnapshotID]) -> [SnapshotID] { layout.upstream == nil ? [] : ids }

    /// Moves a record to the other folder by a copy: a power cut may tear a rename between folders and leave the record without a
    /// name. A record in both folders counts as not removed. On a full disk, a rename is the only way.
    private func move(
        _ id: SnapshotID, _ old: String, _ new: String, _ time: Timestamp, _ lock: borrowing NamesLock
    ) throws(BackupError) {
        let bytes = try FileSystem.readFile(old, limitBytes: SnapshotRecord.byteCountLimit)
        do throws(BackupError) {
            try layout.publish(bytes, to: new, modificationTime: time) { () throws(BackupError) in try lock.requireHeld() }
            try lock.requireHeld()
            try layout.remove(old)
        } catch {
            guard error.code == .noSpace, layout.upstream == nil else { throw error }
            // The time is set first: a record in `removed/` must not look as if it had been removed when it was created.
            let descriptor = try OwnedDescriptor.open(old, O_RDONLY)
            try descriptor.setModificationTime(time)
            try lock.requireHeld()
            try FileSystem.rename(old, to: new)
            try FileSystem.synchronizeDirectory(FileSystem.parentPath(new))
        }
        try layout.synchronize(FileSystem.parentPath(old))
    }

    /// Makes the names in `removed/` durable. Call it before `snapshots/` is synchronized: a process that moved a record may have
    /// died before doing so, and after a power cut the record would have no name left.
    func synchronizeRemoved() throws(BackupError) {
        // Without it, nothing was ever removed.
        _ = try FileSystem.ifPresent { () throws(BackupError) in try layout.synchronize(layout.removed) }
    }

    /// Moves a record back to `snapshots/`, durably.
    /// - Parameters:
    ///   - name: its new name; `nil` to keep the old one.
    ///   - isPinned: whether it is pinned, before it appears: otherwise a retention rule could remove it again.
    /// - Throws: `notFound`; `alreadyExists` when another snapshot has its name; `invalidArgument` for an invalid name.
    func bringBack(_ id: SnapshotID, as name: FileName?, pinned isPinned: Bool) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        guard let removed = try readRemoved().snapshots.first(where: { $0.snapshot.id == id })?.snapshot else {
            throw BackupError(.notFound, "there is no such removed snapshot", path: layout.removedPath(of: id))
        }
        try requireFree(name ?? removed.name, in: list)
        var label = removed.label
        if let name { label.name = name }
        if isPinned { label.isPinned = true }
        if label != removed.label { try write(label, of: id, lock) }
        try move(id, layout.removedPath(of: id), layout.snapshotPath(of: id), removed.record.creationTime, lock)
        try scan()
        let isLabelled = (try? FileSystem.exists(layout.labelPath(of: id))) == true
        changeRegister(published: id) { if isLabelled { $0.enterLabel(of: id) } }
    }

    /// Permanently removes records of removed snapshots and their labels. Damaged records are set aside.
    /// - Parameters:
    ///   - grace: snapshots whose grace period is over are given up.
    ///   - requireHeld: called before each file is unlinked or moved.
    func giveUpRemoved(
        _ grace: RemovalGrace, requireHeld: @escaping () throws(BackupError) -> Void
    ) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        try sweepRemoved(requireHeld, lock)
        let all = try readRemoved()
        let ids = all.snapshots.filter { grace.isOver(for: $0) }.map(\.snapshot.id)
        let damaged = all.damages.filter { grace.isOver(for: $0) }.map(\.id)
        if !(ids + damaged).isEmpty { changeRegister { $0.strikeOut(ids + damaged) } }
        // On a full disk there may be space for the register only afterwards.
        defer { changeRegister { $0.strikeOut(perhapsGone(ids + damaged)) } }
        for id in ids {
            try requireHeld()
            try unlinkRemoved(id, lock)
        }
        let damagedFolder = DamagedFolder(layout: layout, requireHeld: requireHeld)
        for id in damaged {
            try lock.requireHeld()
            try damagedFolder.setAside(layout.removedPath(of: id))
        }
        let known = Set(ids + damaged)
        let undated =
            all.snapshots.filter { $0.removalTime == nil }.map(\.snapshot.id)
            + all.damages.filter { $0.removalTime == nil }.map(\.id)
        try setRemovalTime(of: undated.filter { !known.contains($0) }, to: grace.now)
    }

    /// Starts the grace period of snapshots that were removed with a wrong clock, unless the clock is still wrong.
    private func setRemovalTime(of ids: [SnapshotID], to now: Timestamp) throws(BackupError) {
        guard !ids.isEmpty, snapshotAhead(of: now) == nil else { return }
        for id in ids {
            let descriptor = try OwnedDescriptor.open(layout.removedPath(of: id), O_RDONLY)
            try descriptor.setModificationTime(now)
        }
        // Makes every process read the times again. If this fails, they show old times, nothing worse.
        try? OwnedDescriptor.open(layout.removed, O_RDONLY | O_DIRECTORY).setModificationTime(SystemClock.now())
    }

    /// Removes records from `removed/` that are in `snapshots/` as well: a removal or an undelete was interrupted between the
    /// two.
    private func sweepRemoved(
        _ requireHeld: () throws(BackupError) -> Void, _ lock: borrowing NamesLock
    ) throws(BackupError) {
        for snapshot in list.recorded {
            let path = layout.removedPath(of: snapshot.id)
            guard try FileSystem.exists(path) else { continue }
            try requireHeld()
            try lock.requireHeld()
            // The record's other name must be durable first.
            try layout.synchronize(layout.snapshots)
            try layout.remove(path)
        }
    }

    /// Permanently removes records of removed snapshots, in the given order, each durably before `didRemove` is called for it.
    /// Missing ones are skipped.
    func giveUpRemoved(
        _ ids: [SnapshotID], willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        guard !ids.isEmpty else { return }
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        let present = Set(try readRemoved().snapshots.map(\.snapshot.id))
        changeRegister { $0.strikeOut(ids.filter(present.contains)) }
        for id in ids where present.contains(id) {
            try willRemove(id)
            try unlinkRemoved(id, lock)
            try didRemove(id)
        }
    }

    private func unlinkRemoved(_ id: SnapshotID, _ lock: borrowing NamesLock) throws(BackupError) {
        try lock.requireHeld()
        try layout.remove(layout.removedPath(of: id))
        // This process may have been suspended before the unlink, and another host may have undeleted the snapshot: the label is
        // in use again then.
        try lock.requireHeld()
        guard try !FileSystem.exists(layout.snapshotPath(of: id)) else { return }
        noteRemovedForGood(id)
        try layout.synchronize(layout.removed)
        try layout.remove(layout.labelPath(of: id))
    }
}

/// While a snapshot is dated later than the current time, one of the two is wrong, and no grace period can begin.
public struct UntimedRemovals: Sendable {
    /// Number of removed snapshots whose grace period cannot begin.
    public let count: Int
    /// The snapshot with the latest date.
    public let latest: Snapshot
}

import BackupCore
import Glibc
import SystemIO

/// Removing snapshots so that they can be brought back: the record moves to `removed/`, with the time of the removal as its modification time. The
/// label stays where it is. A snapshot that has a record in `snapshots/` as well, as after copying a repository, counts as not removed. The register
/// names it until it is removed for good: a copy of the repository without `removed/` is not whole.
extension SnapshotStore {
    /// How many are removed under one lock.
    private static let batchCount = 500
    /// The modification time of a record in `removed/` whose removal was made by a clock that was wrong.
    static let unknownRemovalTime = Timestamp(seconds: 0)

    /// Moves the records of snapshots to `removed/`, in the order given, each durably before `didRemove` is called for it. Those that are pinned, or
    /// not there any more, are passed over. A clock that is behind the newest snapshot is wrong: the time of the removal is not known then, and a later
    /// prune sets it. It would end the time of grace at once otherwise.
    /// - Parameter willRemove: called before each; what it throws ends the removal.
    func withdraw(
        _ ids: [SnapshotID], at time: Timestamp, willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try OwnerOnly.makeFolder(layout.removed)
        try scan()
        let time = snapshotAhead(of: time) == nil ? time : Self.unknownRemovalTime
        try takeOut(ids, isForGood: false, willRemove, didRemove) { (id, lock) throws(BackupError) in
            try move(id, layout.snapshotPath(of: id), layout.removedPath(of: id), time, lock)
        }
    }

    /// The snapshot with the latest date, if the clock is behind that.
    private func snapshotAhead(of time: Timestamp) -> Snapshot? {
        list.snapshots.last.flatMap { time < $0.creationTime ? $0 : nil }
    }

    /// How many of the removed snapshots stay since the time of their removal is not known and cannot be set, and the snapshot that says that the clock is
    /// behind.
    func untimedRemovals(among removed: [RemovedSnapshot], at now: Timestamp) -> PruneSummary.UntimedRemovals? {
        let count = removed.count { $0.removalTime == nil }
        guard count > 0, let latest = snapshotAhead(of: now) else { return nil }
        return PruneSummary.UntimedRemovals(count: count, latest: latest)
    }

    /// Removes snapshots and their labels for good, in the order given, each durably before `didRemove` is called for it. Those that are pinned, or not
    /// there any more, are passed over.
    func removeForGood(
        _ ids: [SnapshotID], willRemove: (SnapshotID) throws(BackupError) -> Void,
        didRemove: (SnapshotID) throws(BackupError) -> Void
    ) throws(BackupError) {
        try synchronizeRemoved()
        try takeOut(ids, isForGood: true, willRemove, didRemove) { (id, lock) throws(BackupError) in
            try lock.requireHeld()
            // There is such a copy when a removal was interrupted.
            try FileSystem.removeFile(layout.removedPath(of: id))
            try FileSystem.removeFile(layout.snapshotPath(of: id))
            noteRemovedForGood(id)
            try FileSystem.synchronizeDirectory(layout.snapshots)
            try FileSystem.removeFile(layout.labelPath(of: id))
        }
    }

    /// - Parameters:
    ///   - isForGood: whether the register must not name them any more.
    ///   - remove: takes one out, durably.
    private func takeOut(
        _ ids: [SnapshotID], isForGood: Bool, _ willRemove: (SnapshotID) throws(BackupError) -> Void,
        _ didRemove: (SnapshotID) throws(BackupError) -> Void,
        remove: (SnapshotID, borrowing NamesLock) throws(BackupError) -> Void
    ) throws(BackupError) {
        var rest = ids[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.batchCount)
            rest = rest.dropFirst(Self.batchCount)
            // Pins and names are written under the same lock: what the scan finds stays true.
            let lock = try NamesLock(layout)
            defer { withExtendedLifetime(lock) {} }
            try scan()
            let going = batch.filter { list[$0]?.isPinned == false }
            // Those that an older program made are entered.
            changeRegister { if isForGood { $0.strikeOut(going) } }
            // What is gone must be seen to be gone, also when a later one fails; and what stayed is entered again.
            defer {
                _ = try? scan()
                changeRegister { register in
                    if isForGood { register.strikeOut(going.filter { list[$0] == nil }) }
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

    /// Moves a record from one folder to the other by a copy: a rename between folders may be torn by a power cut, and the record would have no name at
    /// all. One that is in both folders counts as not removed. A full disk leaves no way but the rename.
    private func move(
        _ id: SnapshotID, _ old: String, _ new: String, _ time: Timestamp, _ lock: borrowing NamesLock
    ) throws(BackupError) {
        let bytes = try FileSystem.readFile(old, limitBytes: SnapshotRecord.byteCountLimit)
        do throws(BackupError) {
            try OwnerOnly.publish(bytes, to: new, temporaryFolder: layout.temporary, modificationTime: time) {
                () throws(BackupError) in try lock.requireHeld()
            }
            try lock.requireHeld()
            try FileSystem.removeFile(old)
        } catch {
            guard error.code == .noSpace else { throw error }
            // The time comes first: a record in `removed/` must not look as if it had been removed when it was made.
            let descriptor = try OwnedDescriptor.open(old, O_RDONLY)
            try descriptor.setModificationTime(time)
            try lock.requireHeld()
            try FileSystem.rename(old, to: new)
            try FileSystem.synchronizeDirectory(FileSystem.parentPath(new))
        }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(old))
    }

    /// Makes the names in `removed/` durable. To be called before `snapshots/` is synchronized: a process that moved a record may have died before it
    /// did that, and then the record would have no name left after a power cut.
    func synchronizeRemoved() throws(BackupError) {
        do {
            try FileSystem.synchronizeDirectory(layout.removed)
        } catch {
            // Nothing was ever removed.
            guard error.code == .notFound else { throw error }
        }
    }

    /// Moves a record back to `snapshots/`, durably.
    /// - Parameters:
    ///   - name: what it is called from now on; `nil` for what it was called.
    ///   - isPinned: whether it is pinned, which it is before it is back: a rule would remove it again otherwise.
    /// - Throws: `notFound`; `alreadyExists` when another snapshot has its name; `invalidArgument` for a name that cannot be one.
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

    /// Removes records of removed snapshots, and their labels, for good. Those that are damaged are set aside.
    /// - Parameters:
    ///   - grace: those for which it is over are given up.
    ///   - requireHeld: asked before each file is unlinked or moved.
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
        // On a full disk there may be room for the register only afterwards.
        defer { changeRegister { _ in } }
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

    /// Begins the time of grace of what was removed by a clock that was wrong; not while it still is.
    private func setRemovalTime(of ids: [SnapshotID], to now: Timestamp) throws(BackupError) {
        guard !ids.isEmpty, snapshotAhead(of: now) == nil else { return }
        for id in ids {
            let descriptor = try OwnedDescriptor.open(layout.removedPath(of: id), O_RDONLY)
            try descriptor.setModificationTime(now)
        }
        // So that each process reads the times again. It would show old ones otherwise, no more.
        try? OwnedDescriptor.open(layout.removed, O_RDONLY | O_DIRECTORY).setModificationTime(SystemClock.now())
    }

    /// Removes from `removed/` what is in `snapshots/` as well: a removal, or bringing back, was interrupted between both.
    private func sweepRemoved(
        _ requireHeld: () throws(BackupError) -> Void, _ lock: borrowing NamesLock
    ) throws(BackupError) {
        for snapshot in list.recorded {
            let path = layout.removedPath(of: snapshot.id)
            guard try FileSystem.exists(path) else { continue }
            try requireHeld()
            try lock.requireHeld()
            // Its other name must be durable first.
            try FileSystem.synchronizeDirectory(layout.snapshots)
            try FileSystem.removeFile(path)
        }
    }

    /// Removes records of removed snapshots for good, in the order given, each durably before `didRemove` is called for it. Those that are not there are
    /// passed over.
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
        try FileSystem.removeFile(layout.removedPath(of: id))
        // This process may have slept before the unlink, and another host may have brought the snapshot back: the label is in use again then.
        try lock.requireHeld()
        guard try !FileSystem.exists(layout.snapshotPath(of: id)) else { return }
        noteRemovedForGood(id)
        try FileSystem.synchronizeDirectory(layout.removed)
        try FileSystem.removeFile(layout.labelPath(of: id))
    }
}

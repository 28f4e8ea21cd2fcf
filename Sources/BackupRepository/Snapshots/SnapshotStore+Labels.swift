import BackupCore
import Synchronization
import SystemIO

/// Labels that are missing, or cannot be read: a pin or a name that a user has given must not get lost by that.
extension SnapshotStore {
    /// Which labels there should be, by the register's file of that status.
    struct ExpectedLabels: Sendable {
        let file: FileStatus
        let snapshots: Set<SnapshotID>
    }

    /// The snapshots whose labels the register names; `nil` where there is no register.
    /// - Throws: when the register is there and cannot be read.
    func readExpectedLabels() throws(BackupError) -> Set<SnapshotID>? {
        let file = FileSystem.statusIfPresent(layout.register)
        if let known = lastExpectedLabels.withLock({ $0 }), known.file == file { return known.snapshots }
        guard let register = try readRegister() else { return nil }
        let snapshots = Set(register.isLabelled.lazy.filter(\.value).map(\.key))
        // One that has just changed may change again without a trace.
        lastExpectedLabels.withLock { known in
            known = file.flatMap { $0.isSettled ? ExpectedLabels(file: $0, snapshots: snapshots) : nil }
        }
        return snapshots
    }

    /// Whether a snapshot's label is there and can be read, or there is none and none is expected.
    func hasReadableLabel(_ id: SnapshotID) -> Bool {
        guard let record = list[id]?.record, !list.missingLabels.contains(id) else { return false }
        var damages: [BackupError] = []
        do {
            _ = try readLabel(id, record, &damages)
            return damages.isEmpty
        } catch {
            return false
        }
    }

    /// Whether a snapshot's label is there and can be read, or it is certain that it has none. Without the register it may be one that is still to be copied.
    func hasKnownLabel(_ id: SnapshotID) -> Bool {
        guard hasReadableLabel(id) else { return false }
        return list.registerError == nil || (try? FileSystem.exists(layout.labelPath(of: id))) == true
    }

    /// The label that is there, put right by turning back one flipped bit; `nil` where that does not do it.
    func repairedLabel(_ id: SnapshotID, _ bytes: [UInt8]) -> [UInt8]? {
        SingleBitRepair.repaired(bytes) { [protection] bytes in
            (try? SnapshotLabel(decoding: protection.open(bytes, as: .snapshotLabel(id)), for: id)) != nil
        }
    }

    /// Writes for labels that are missing what is shown in their place: the first name, and pinned, since the snapshot may have been.
    /// - Returns: those that were written. A label that was copied back meanwhile stays, and one whose record cannot be read is expected as before.
    func replaceMissingLabels(_ ids: [SnapshotID]) throws(BackupError) -> [SnapshotID] {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        var written: [SnapshotID] = []
        for id in ids where try !FileSystem.exists(layout.labelPath(of: id)) {
            guard let label = substituteForMissing(id) else { continue }
            try write(label, of: id, lock)
            written.append(id)
        }
        if !written.isEmpty { try scan() }
        return written
    }

    /// - Returns: `nil` where the record cannot be read, or no label is missing any more.
    private func substituteForMissing(_ id: SnapshotID) -> SnapshotLabel? {
        if let snapshot = list[id] { return list.missingLabels.contains(id) ? snapshot.label : nil }
        return (try? readRecord(id, at: layout.removedPath(of: id))).map { Self.substitute(for: $0) }
    }

    /// Before a label is replaced: keeps what can be had of one that is damaged. For the holder of the lock on names.
    /// - Returns: whether it was repaired.
    /// - Throws: for one that is not damaged, but cannot be read: a later version wrote it, or the disk fails.
    func saveLabel(_ id: SnapshotID, _ lock: borrowing NamesLock) throws(BackupError) -> Bool {
        let path = layout.labelPath(of: id)
        let bytes: [UInt8]
        do throws(BackupError) {
            bytes = try FileSystem.readFile(path, limitBytes: SnapshotLabel.byteCountLimit)
        } catch {
            if error.code == .notFound { return false }
            throw error
        }
        do throws(BackupError) {
            _ = try SnapshotLabel(decoding: protection.open(bytes, as: .snapshotLabel(id)), for: id)
            return false
        } catch {
            guard error.code == .repositoryDamaged else { throw error.at(path) }
        }
        try lock.requireHeld()
        let damaged = DamagedFolder(layout: layout) {}
        try damaged.keepCopy(bytes, of: path)
        guard let right = repairedLabel(id, bytes) else { return false }
        try lock.requireHeld()
        try damaged.publish(right, to: path)
        return true
    }
}

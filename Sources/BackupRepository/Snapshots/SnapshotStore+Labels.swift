import BackupCore
import Synchronization
import SystemIO

/// Missing and unreadable labels: they must not cost the user a pin or a name.
extension SnapshotStore {
    /// The labels that should exist, according to the register file with this status.
    struct ExpectedLabels: Sendable {
        let file: FileStatus
        let snapshots: Set<SnapshotID>
    }

    /// The snapshots whose labels the register names; `nil` if there is no register.
    /// - Throws: when the register exists but cannot be read.
    func readExpectedLabels() throws(BackupError) -> Set<SnapshotID>? {
        let file = FileSystem.statusIfPresent(layout.register)
        if let known = lastExpectedLabels.withLock({ $0 }), known.file == file { return known.snapshots }
        guard let register = try readRegister() else { return nil }
        let snapshots = Set(register.isLabelled.lazy.filter(\.value).map(\.key))
        // A file that has just changed may change again without a visible difference.
        lastExpectedLabels.withLock { known in
            known = file.flatMap { $0.isSettled ? ExpectedLabels(file: $0, snapshots: snapshots) : nil }
        }
        return snapshots
    }

    /// Whether a snapshot's label exists and is readable, or does not exist and is not expected.
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

    /// Whether a snapshot's label exists and is readable, or certainly does not exist.
    /// Without the register, the label may still be on its way, in a copy of the repository.
    func hasKnownLabel(_ id: SnapshotID) -> Bool {
        guard hasReadableLabel(id) else { return false }
        return list.registerError == nil || (try? FileSystem.exists(layout.labelPath(of: id))) == true
    }

    /// The label with one flipped bit corrected; `nil` if that does not repair it.
    func repairedLabel(_ id: SnapshotID, _ bytes: [UInt8]) -> [UInt8]? {
        SingleBitRepair.repaired(bytes) { [protection] bytes in
            (try? SnapshotLabel(decoding: protection.open(bytes, as: .snapshotLabel(id)), for: id)) != nil
        }
    }

    /// Replaces missing labels by the defaults: the first name, and pinned, since the snapshot may have been pinned.
    /// - Returns: the snapshots whose labels were written. A label that was copied back meanwhile is kept; one whose record cannot be read is still expected.
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

    /// - Returns: `nil` if the record cannot be read, or the label is no longer missing.
    private func substituteForMissing(_ id: SnapshotID) -> SnapshotLabel? {
        if let snapshot = list[id] { return list.missingLabels.contains(id) ? snapshot.label : nil }
        return (try? readRecord(id, at: layout.removedPath(of: id))).map { Self.substitute(for: $0) }
    }

    /// Before a label is replaced: saves what is left of a damaged one. The caller holds the lock on names.
    /// - Returns: whether it was repaired.
    /// - Throws: for a label that is not damaged but cannot be read: a later version wrote it, or the disk fails.
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

import BackupCore
import SystemIO

/// Repairs the register, and the records and labels of snapshots. A lost record stays in the register until the user has a prune
/// give its backup up; the check after the repair reports it as missing.
struct RecordRepair {
    private let repository: Repository
    private let store: SnapshotStore
    private let damaged: DamagedFolder
    private let report: (CheckEvent) -> Void
    /// The number of lost labels, which a later check does not find.
    private(set) var lostLabelCount = 0

    init(_ repository: Repository, _ damaged: DamagedFolder, report: @escaping (CheckEvent) -> Void) {
        self.repository = repository
        store = repository.snapshotStore
        self.damaged = damaged
        self.report = report
    }

    mutating func run() throws(BackupError) {
        try repairRegister()
        // The repository may have been opened hours ago. Since then a file may have been restored by a copy, or the first read
        // may have failed.
        try store.rescan()
        for damage in store.list.damages where damage.code == .repositoryDamaged {
            guard let path = damage.path else { continue }
            let name = FileName(FileSystem.lastComponent(path))
            if let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.snapshotExtension) {
                try repairRecord(SnapshotID(digest), at: path, damage)
            } else if let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.labelExtension) {
                try repairLabel(SnapshotID(digest), damage)
            } else if path.hasPrefix(repository.layout.path) {
                report(.finding(CheckFinding(.record, damage)))
            }
        }
        for removed in try store.readRemoved().damages where removed.error.code == .repositoryDamaged {
            let path = repository.layout.removedPath(of: removed.id)
            try repairRecord(removed.id, at: path, removed.error, modificationTime: FileSystem.status(path).modificationTime)
        }
        // Includes the repaired records.
        try replaceMissingLabels()
    }

    private func repairRegister() throws(BackupError) {
        do throws(BackupError) {
            if try store.isRegisterMissing() { throw SnapshotRegister.missing(repository.layout) }
            _ = try store.readRegister()
        } catch {
            if error.code == .unsupportedVersion { return }
            guard error.code == .repositoryDamaged else { throw error }
            let isAsBefore = try store.repairRegister(damaged)
            report(.finding(CheckFinding(.record, error, isRepaired: true)))
            report(
                .repaired(
                    isAsBefore
                        ? "The register of snapshots: a flipped bit was turned back."
                        : "The register of snapshots was rebuilt from those that are there. What else there was, backups, names and pins, is not missed any more: if the repository may be only half copied, copy the rest before the next backup or prune, and pin again what must stay."
                ))
        }
    }

    // MARK: Records

    /// - Parameter modificationTime: of a removed snapshot, the time of the removal, which is kept.
    private func repairRecord(
        _ id: SnapshotID, at path: String, _ damage: BackupError, modificationTime: Timestamp? = nil
    ) throws(BackupError) {
        guard let bytes = try damagedBytes(of: id, at: path) else { return }
        if let right = SingleBitRepair.repaired(bytes, sha256: id.digest) {
            try damaged.keepCopy(bytes, of: path)
            try damaged.publish(right, to: path, modificationTime: modificationTime)
            report(.finding(CheckFinding(.record, damage, isRepaired: true)))
            report(.repaired("Snapshot record \(id): a flipped bit was turned back."))
            return
        }
        report(.finding(CheckFinding(.record, damage)))
        do throws(BackupError) {
            try store.expect(id)
        } catch {
            // No prune runs while the file stays where it is. With the register of a later version, this program could not report
            // the record as missing.
            if error.code == .unsupportedVersion { return }
            throw error
        }
        try damaged.setAside(path)
        // The right record may have been copied back at that moment.
        guard try damagedBytes(of: id, at: damaged.path(of: path)) != nil else { return try damaged.putBack(path) }
        report(.repaired("Snapshot record \(id): lost; it is in damaged/ now. The backup's data stays."))
    }

    /// - Returns: `nil` when the record is valid or no longer exists.
    private func damagedBytes(of id: SnapshotID, at path: String) throws(BackupError) -> [UInt8]? {
        do throws(BackupError) {
            _ = try store.readRecord(id, at: path)
            return nil
        } catch {
            if error.code == .notFound { return nil }
            guard error.code == .repositoryDamaged else { throw error }
            return try FileSystem.readFile(path, limitBytes: SnapshotRecord.byteCountLimit)
        }
    }

    // MARK: Labels

    private mutating func repairLabel(_ id: SnapshotID, _ damage: BackupError) throws(BackupError) {
        let path = repository.layout.labelPath(of: id)
        if store.hasReadableLabel(id) { return }
        let bytes = try FileSystem.readFile(path, limitBytes: SnapshotLabel.byteCountLimit)
        try damaged.keepCopy(bytes, of: path)
        let right = store.repairedLabel(id, bytes)
        if let right {
            try damaged.publish(right, to: path)
            report(.repaired("Label of snapshot \(id): a flipped bit was turned back."))
        } else {
            // Writes the default: its first name, and pinned, since it may have been.
            try store.changeLabel(id) { _ in }
            lostLabelCount += 1
            report(.repaired("Label of snapshot \(id): rewritten; its name is its first one, and it is pinned."))
        }
        report(.finding(CheckFinding(.label, damage, isRepaired: right != nil)))
    }

    /// A missing label is reported once: afterwards it exists again and pins its backup.
    private mutating func replaceMissingLabels() throws(BackupError) {
        let missing: [SnapshotID]
        do throws(BackupError) {
            missing = try store.missingSnapshots().labels
        } catch {
            // This program cannot read a later version's register.
            if error.code == .unsupportedVersion { return }
            throw error
        }
        guard !missing.isEmpty else { return }
        let written = try store.replaceMissingLabels(missing)
        lostLabelCount += written.count
        for finding in CheckFinding.missing(SnapshotStore.MissingSnapshots(labels: written), repository.layout) {
            report(.finding(finding))
        }
        for id in written {
            report(.repaired("Label of snapshot \(id): rewritten; its name is its first one, and it is pinned."))
        }
    }
}

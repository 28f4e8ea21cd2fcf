import BackupCore
import SystemIO

/// Keeping the register, and asking it what is missing. It is changed under `names.lock`.
extension SnapshotStore {
    /// - Returns: `nil` where there is none: older programs made none.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion`; what reading throws.
    func readRegister() throws(BackupError) -> SnapshotRegister? {
        do throws(BackupError) {
            guard let bytes = try registerBytes() else { return nil }
            return try SnapshotRegister(decoding: try protection.open(bytes, as: .register))
        } catch {
            throw error.at(layout.register)
        }
    }

    /// Changes the register. An error is passed over: a register that is behind costs a finding at worst, and must not keep a snapshot from being
    /// made, or from being removed on a full disk. One that is damaged is left to a repair, and one of a later version as it is.
    /// - Parameter published: a snapshot that has just appeared: it may be the first one, before which there was no register.
    func changeRegister(published: SnapshotID? = nil, _ change: (inout SnapshotRegister) -> Void) {
        try? writeRegister(published: published, change)
    }

    /// Whether the register is missing: programs that name the source of a snapshot keep one. A copy of the repository may not be complete then, and a
    /// register of what is there would say that it is.
    func isRegisterMissing() throws(BackupError) -> Bool {
        guard try readRegister() == nil else { return false }
        return Self.haveRegister(list.recorded)
    }

    /// Makes the register of a repository that has no snapshot yet: another process that saw the first one without it would take the register for
    /// missing. One that is damaged is left as it is.
    /// - Parameter isNew: asked where there are neither records nor a register, whether there have never been any: in a copy that is not complete they
    ///   may come later, and a register of what is there would let a prune take their data.
    /// - Throws: `locked`, `noSpace`, …: without a register there must be no first snapshot.
    func makeFirstRegister(isNew: () throws(BackupError) -> Bool) throws(BackupError) {
        guard list.recorded.isEmpty, FileSystem.statusIfPresent(layout.register) == nil, try isNew() else { return }
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        guard list.recorded.isEmpty, try !FileSystem.exists(layout.register) else { return }
        try writeRegister { _ in }
    }

    /// Whether there must be a register with these snapshots.
    static func haveRegister(_ snapshots: [Snapshot]) -> Bool { snapshots.contains { $0.source != nil } }

    /// Writes nothing where the register is missing.
    /// - Throws: `repositoryDamaged` and `unsupportedVersion` for the register that is there; what writing throws.
    private func writeRegister(
        published: SnapshotID? = nil, _ change: (inout SnapshotRegister) -> Void
    ) throws(BackupError) {
        let register = try readRegister()
        if register == nil {
            let others = list.recorded.filter { $0.id != published }
            // A new repository has had one from the start. Without one, this may be the first snapshot in a copy that is not complete.
            if Self.haveRegister(others) || others.isEmpty && published != nil { return }
        }
        var changed: SnapshotRegister
        if let register { changed = register } else { changed = try registerOfWhatIsThere() }
        // Those of older programs are entered with the first of this one; and what they removed, which they struck out.
        changed.enter(list.recorded.map(\.id))
        changed.enter(try ids(in: layout.removed, RepositoryLayout.snapshotExtension))
        // There may have been no room for the register when they were removed.
        changed.strikeOut(removedForGood.filter { list[$0] == nil })
        change(&changed)
        guard changed != register else { return }
        try OwnerOnly.publish(
            protection.seal(changed.encode(), as: .register), to: layout.register, temporaryFolder: layout.temporary)
    }

    /// Names every snapshot of which there is a trace: a record that can be read or not, a label, or a record that a repair has set aside. A snapshot
    /// whose record was not copied yet, or was lost, may have left a label.
    private func registerOfWhatIsThere() throws(BackupError) -> SnapshotRegister {
        var register = SnapshotRegister()
        for folder in [layout.snapshots, layout.removed, layout.damaged] {
            register.enter(try ids(in: folder, RepositoryLayout.snapshotExtension))
        }
        for snapshot in try ids(in: layout.labels, RepositoryLayout.labelExtension) { register.enterLabel(of: snapshot) }
        return register
    }

    /// Puts right a register that is damaged or missing: turns back a flipped bit, or else makes one of what is there. For a repair.
    /// - Returns: whether it is as it was before the damage. Where it is not, what left no trace is not expected any more.
    func repairRegister(_ damaged: DamagedFolder) throws(BackupError) -> Bool {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        if let bytes = try registerBytes() {
            try damaged.keepCopy(bytes, of: layout.register)
            if let right = repairedRegister(bytes) {
                try damaged.publish(right, to: layout.register)
                return true
            }
        }
        try damaged.publish(protection.seal(registerOfWhatIsThere().encode(), as: .register), to: layout.register)
        return false
    }

    private func registerBytes() throws(BackupError) -> [UInt8]? {
        do throws(BackupError) {
            return try FileSystem.readFile(layout.register, limitBytes: SnapshotRegister.byteCountLimit)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    /// The register that is there, put right by turning back one flipped bit; `nil` where that does not do it.
    private func repairedRegister(_ bytes: [UInt8]) -> [UInt8]? {
        func isRight(_ bytes: [UInt8]) -> Bool { (try? SnapshotRegister(decoding: protection.open(bytes, as: .register))) != nil }
        if isRight(bytes) { return bytes }
        // In a sealed one the checksum is that of bytes which cannot be had: each bit is tried.
        if protection.isSealing { return SingleBitRepair.repaired(bytes, isRight) }
        return SingleBitRepair.repaired(endingInCRC32: bytes).flatMap { isRight($0) ? $0 : nil }
    }

    /// Enters a snapshot whose record is about to be set aside: what it needs must stay until the user gives it up.
    /// - Throws: `repositoryDamaged` and `unsupportedVersion` for the register that is there; what writing throws.
    func expect(_ id: SnapshotID) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        try writeRegister { $0.enter([id]) }
    }

    /// Strikes out what was removed for good when there was no room for the register.
    func strikeOutRemoved() {
        guard !removedForGood.isEmpty, let lock = try? NamesLock(layout) else { return }
        defer { withExtendedLifetime(lock) {} }
        // Another store may have removed one since the last look: it must not be entered again.
        guard (try? scan()) != nil else { return }
        changeRegister { _ in }
    }

    /// What is missing of what the register names.
    struct MissingSnapshots: Equatable {
        var records: [SnapshotID] = []
        var labels: [SnapshotID] = []

        var isEmpty: Bool { records.isEmpty && labels.isEmpty }
    }

    /// - Throws: what reading register and folders throws.
    func missingSnapshots() throws(BackupError) -> MissingSnapshots {
        let found = try compareWithRegister()
        guard !found.isEmpty else { return found }
        // A snapshot may just have been removed: looked at once more while nothing is. Where nothing can be locked, nothing is removed either.
        guard let lock = try? WaitingLock.acquire(path: layout.namesLock) else { return found }
        defer { withExtendedLifetime(lock) {} }
        return try compareWithRegister()
    }

    /// Whether there is a register, and no snapshot of those that it names is missing.
    func isComplete() throws(BackupError) -> Bool {
        do throws(BackupError) {
            guard try readRegister() != nil else { return false }
            return try missingSnapshots().records.isEmpty
        } catch {
            guard [.repositoryDamaged, .unsupportedVersion].contains(error.code) else { throw error }
            return false
        }
    }

    /// A file that is there but cannot be read is another finding.
    private func compareWithRegister() throws(BackupError) -> MissingSnapshots {
        guard let register = try readRegister() else { return MissingSnapshots() }
        var records = try ids(in: layout.snapshots, RepositoryLayout.snapshotExtension)
        records.formUnion(try ids(in: layout.removed, RepositoryLayout.snapshotExtension))
        // There may have been no room for the register when they were.
        records.formUnion(removedForGood)
        let labels = try ids(in: layout.labels, RepositoryLayout.labelExtension)
        var missing = MissingSnapshots()
        for (snapshot, isLabelled) in register.isLabelled.sorted(by: { $0.key < $1.key }) {
            if !records.contains(snapshot) {
                missing.records.append(snapshot)
            } else if isLabelled, !labels.contains(snapshot), !removedForGood.contains(snapshot) {
                missing.labels.append(snapshot)
            }
        }
        return missing
    }

    /// - Returns: nothing for a folder that is not there: some are made when they are needed.
    private func ids(in folder: String, _ suffix: String) throws(BackupError) -> Set<SnapshotID> {
        do throws(BackupError) {
            return Set(
                try DirectoryReader(path: folder).names().compactMap {
                    RepositoryLayout.digest(in: $0, extension: suffix).map(SnapshotID.init)
                })
        } catch {
            if error.code == .notFound { return [] }
            throw error
        }
    }

    /// No longer expects records that are missing.
    func forgetMissing(_ records: [SnapshotID]) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        changeRegister { $0.strikeOut(records) }
    }
}

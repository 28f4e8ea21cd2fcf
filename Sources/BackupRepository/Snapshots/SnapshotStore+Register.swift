import BackupCore
import SystemIO

/// Keeping the register, and asking it what is missing. Whoever changes it holds `names.lock`.
extension SnapshotStore {
    /// - Returns: `nil` where there is none: older programs made none.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion`; what reading throws.
    func readRegister() throws(BackupError) -> SnapshotRegister? {
        do throws(BackupError) {
            let bytes = try FileSystem.readFile(layout.register, limitBytes: SnapshotRegister.byteCountLimit)
            return try SnapshotRegister(decoding: try protection.open(bytes, as: .register))
        } catch {
            if error.code == .notFound { return nil }
            throw error.at(layout.register)
        }
    }

    /// Changes the register. An error is passed over: a register that is behind costs a finding at worst, and must not keep a snapshot from being
    /// made, or from being removed on a full disk. One of a later version is left as it is; in the place of a damaged one comes one of what is there.
    func changeRegister(_ change: (inout SnapshotRegister) -> Void) {
        do throws(BackupError) {
            var register: SnapshotRegister?
            do throws(BackupError) {
                register = try readRegister()
            } catch {
                guard error.code == .repositoryDamaged else { throw error }
            }
            var changed = register ?? SnapshotRegister()
            // Those of older programs are entered with the first of this one.
            changed.enter(list.recorded.map(\.id))
            change(&changed)
            guard changed != register else { return }
            try OwnerOnly.publish(
                protection.seal(changed.encode(), as: .register), to: layout.register, temporaryFolder: layout.temporary)
        } catch {
            return
        }
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

    /// A file that is there but cannot be read is another finding.
    private func compareWithRegister() throws(BackupError) -> MissingSnapshots {
        guard let register = try readRegister() else { return MissingSnapshots() }
        var records = try ids(in: layout.snapshots, RepositoryLayout.snapshotExtension)
        // Removed on purpose, when there was no room for the register perhaps.
        do throws(BackupError) {
            records.formUnion(try ids(in: layout.removed, RepositoryLayout.snapshotExtension))
        } catch {
            if error.code != .notFound { throw error }
        }
        let labels = try ids(in: layout.labels, RepositoryLayout.labelExtension)
        var missing = MissingSnapshots()
        for (snapshot, isLabelled) in register.isLabelled.sorted(by: { $0.key < $1.key }) {
            if !records.contains(snapshot) {
                missing.records.append(snapshot)
            } else if isLabelled, !labels.contains(snapshot) {
                missing.labels.append(snapshot)
            }
        }
        return missing
    }

    private func ids(in folder: String, _ suffix: String) throws(BackupError) -> Set<SnapshotID> {
        Set(
            try DirectoryReader(path: folder).names().compactMap {
                RepositoryLayout.digest(in: $0, extension: suffix).map(SnapshotID.init)
            })
    }

    /// No longer expects what is missing: for a repair, which has told of it.
    func forgetMissing(_ missing: MissingSnapshots) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        changeRegister { register in
            register.strikeOut(missing.records)
            for snapshot in missing.labels { register.strikeOutLabel(of: snapshot) }
        }
    }
}

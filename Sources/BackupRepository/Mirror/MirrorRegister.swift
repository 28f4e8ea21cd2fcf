import BackupCore
import ObjectStorage
import SystemIO

/// The register in a mirror.
extension RepositoryMirror {
    /// A register as it was read.
    private struct StoredRegister {
        /// `nil` for a damaged one.
        let register: SnapshotRegister?
        let version: ObjectVersion
    }

    /// As many new entries are looked at one by one; for more, the mirror is listed.
    private static let lookLimit = 4
    private static let registerAttemptCount = 8

    /// The mirror's register lists what the mirror should have: all that it had, and what was added.
    func uploadRegister(_ ids: [SnapshotID], _ present: [MirrorObject: ObjectFacts]) throws(BackupError) {
        let found: StoredRegister?
        do throws(BackupError) {
            found = present[.register] == nil ? nil : try readRegister()
        } catch {
            // One of a later version belongs to a later program.
            guard error.code == .unsupportedVersion else { throw error }
            return
        }
        // A damaged one is made again from what is there.
        guard let found, let before = found.register else {
            return try updateRegister(replacingDamaged: true, read: found)
        }
        var register = before
        for object in present.keys {
            switch object {
            case .snapshot(let id): register.enter([id])
            // A removal that was interrupted may have left the label of a snapshot that is gone for good.
            case .label(let id) where present[.snapshot(id)] != nil: register.enterLabel(of: id)
            default: break
            }
        }
        for id in ids where try FileSystem.exists(layout.labelPath(of: id)) { register.enterLabel(of: id) }
        let new = register.isLabelled.filter { before.isLabelled[$0.key] != $0.value }.map(\.key)
        guard !new.isEmpty else { return }
        guard new.count <= Self.lookLimit else { return try updateRegister(replacingDamaged: true, read: found) }
        // After the register was read, for the reason that `updateRegister` has for its listing.
        register = before
        for id in new where try storage.look(MirrorObject.snapshot(id).name) != nil {
            register.enter([id])
            if try storage.look(MirrorObject.label(id).name) != nil { register.enterLabel(of: id) }
        }
        if register == before { return }
        if try !replace(found, by: register) { try updateRegister(replacingDamaged: true) }
    }

    /// - Returns: `nil` if there is none.
    /// - Throws: `unsupportedVersion`; errors of the storage.
    private func readRegister() throws(BackupError) -> StoredRegister? {
        guard
            let (bytes, version) = try storage.contents(
                of: MirrorObject.register.name, limitBytes: SnapshotRegister.byteCountLimit)
        else { return nil }
        do throws(BackupError) {
            let register = try SnapshotRegister(decoding: repository.protection.open(bytes, as: .register))
            return StoredRegister(register: register, version: version)
        } catch {
            guard error.code != .unsupportedVersion else { throw error }
            return StoredRegister(register: nil, version: version)
        }
    }

    /// The same by what there is now. Where backups are removed from the mirror, another machine may strike one out meanwhile,
    /// and it must not be entered again: a later prune would take it for lost.
    func updateRegister() throws(BackupError) { try updateRegister(replacingDamaged: false) }

    /// - Parameter replacingDamaged: whether a damaged one is made again from what is there. Otherwise it stays: what is missing
    ///   in the mirror would not be known any more.
    /// - Parameter read: the register, if it was read before: it is replaced only if it has not changed since.
    /// - Throws: `conflict` when other machines change it all the time.
    private func updateRegister(replacingDamaged: Bool, read: StoredRegister? = nil) throws(BackupError) {
        var read = read
        for _ in 0..<Self.registerAttemptCount {
            let found: StoredRegister?
            do throws(BackupError) {
                if let known = read { found = known } else { found = try readRegister() }
            } catch {
                guard error.code == .unsupportedVersion else { throw error }
                return
            }
            read = nil
            if let found, found.register == nil, !replacingDamaged { return }
            // After the register was read: what is struck out of it since then makes its replacement fail.
            let present = try MirrorListing(storage: storage, isKnown: { _ in true }).records()
            let before = found?.register ?? SnapshotRegister()
            var register = before
            for object in present.keys {
                switch object {
                case .snapshot(let id), .removed(let id):
                    register.enter([id])
                    if present[.label(id)] != nil { register.enterLabel(of: id) }
                default: break
                }
            }
            guard found == nil || register != before else { return }
            if try replace(found, by: register) { return }
        }
        throw BackupError(
            .conflict, "other machines change the register of backups all the time", path: storage.location, remedy: "Try again.")
    }

    /// - Returns: false when another machine has changed the register since.
    private func replace(_ found: StoredRegister?, by register: SnapshotRegister) throws(BackupError) -> Bool {
        let draft = try ObjectDraft(repository.protection.seal(register.encode(), as: .register))
        let name = MirrorObject.register.name
        do throws(BackupError) {
            if let found {
                _ = try storage.replace(name, version: found.version, draft)
            } else {
                _ = try storage.create(name, draft)
            }
            summary.withLock { $0.uploadedBytes += draft.sizeBytes }
            return true
        } catch {
            guard [.conflict, .alreadyExists, .notFound].contains(error.code) else { throw error }
            return false
        }
    }
}

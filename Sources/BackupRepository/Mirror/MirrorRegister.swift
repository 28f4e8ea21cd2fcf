import BackupCore
import ObjectStorage
import SystemIO

/// The register in a mirror.
extension RepositoryMirror {
    /// The mirror's register lists what the mirror should have: all that it had, and what was added.
    func uploadRegister(
        _ ids: [SnapshotID], _ present: [MirrorObject: ObjectFacts]
    ) throws(BackupError) {
        var register = SnapshotRegister()
        let found = present[.register] == nil ? nil : try readRegister()
        if let found {
            do throws(BackupError) {
                register = try SnapshotRegister(decoding: repository.protection.open(found.bytes, as: .register))
            } catch {
                // A damaged one is made again from what is there; one of a later version belongs to a later program.
                guard error.code != .unsupportedVersion else { return }
            }
        }
        let before = register
        for object in present.keys {
            switch object {
            case .snapshot(let id): register.enter([id])
            // A removal that was interrupted may have left the label of a snapshot that is gone for good.
            case .label(let id) where present[.snapshot(id)] != nil: register.enterLabel(of: id)
            default: break
            }
        }
        for id in ids where try FileSystem.exists(layout.labelPath(of: id)) { register.enterLabel(of: id) }
        guard found == nil || register != before else { return }
        try updateRegister(replacingDamaged: true, read: found)
    }

    private func readRegister() throws(BackupError) -> StoredBytes? {
        try storage.contents(of: MirrorObject.register.name, limitBytes: SnapshotRegister.byteCountLimit)
    }

    typealias StoredBytes = (bytes: [UInt8], version: ObjectVersion)

    /// The same by what there is now. Where backups are removed from the mirror, another machine may strike one out meanwhile,
    /// and it must not be entered again: a later prune would take it for lost.
    /// - Parameter replacingDamaged: whether a damaged one is made again from what is there. Otherwise it stays: what is missing
    ///   in the mirror would not be known any more.
    /// - Parameter read: the register, if it was read before: it is replaced only if it has not changed since.
    /// - Throws: `conflict` when other machines change it all the time.
    func updateRegister(replacingDamaged: Bool = false, read: StoredBytes? = nil) throws(BackupError) {
        var read = read
        for _ in 0..<Self.registerAttemptCount {
            let found: StoredBytes?
            if let known = read { found = known } else { found = try readRegister() }
            read = nil
            // After the register was read: what is struck out of it since then makes its replacement fail.
            let present = try MirrorListing(storage: storage, isKnown: { _ in true }).records()
            var register = SnapshotRegister()
            if let found {
                do throws(BackupError) {
                    register = try SnapshotRegister(decoding: repository.protection.open(found.bytes, as: .register))
                } catch {
                    guard replacingDamaged, error.code != .unsupportedVersion else { return }
                }
            }
            let before = register
            for object in present.keys {
                switch object {
                case .snapshot(let id), .removed(let id):
                    register.enter([id])
                    if present[.label(id)] != nil { register.enterLabel(of: id) }
                default: break
                }
            }
            guard found == nil || register != before else { return }
            let draft = try ObjectDraft(repository.protection.seal(register.encode(), as: .register))
            do throws(BackupError) {
                if let found {
                    _ = try storage.replace(MirrorObject.register.name, version: found.version, draft)
                } else {
                    _ = try storage.create(MirrorObject.register.name, draft)
                }
                summary.withLock { $0.uploadedBytes += draft.sizeBytes }
                return
            } catch {
                guard [.conflict, .alreadyExists, .notFound].contains(error.code) else { throw error }
            }
        }
        throw BackupError(
            .conflict, "other machines change the register of backups all the time", path: storage.location, remedy: "Try again.")
    }

    private static let registerAttemptCount = 8
}

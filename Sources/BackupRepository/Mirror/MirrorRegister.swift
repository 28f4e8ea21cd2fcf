import BackupCore
import ObjectStorage
import SystemIO

/// The register in a mirror.
extension RepositoryMirror {
    /// A register as it was read.
    struct StoredRegister: Sendable {
        /// `nil` for a damaged one.
        let register: SnapshotRegister?
        let version: ObjectVersion
    }

    /// What an update knows of the register before it stores records.
    enum RegisterReading: Sendable {
        /// There was none, or it is not asked for.
        case unknown
        case read(StoredRegister)
        /// One of a later version belongs to a later program, and stays.
        case newer
    }

    /// As many new entries are looked at one by one; for more, the mirror is listed.
    private static let lookLimit = 4
    private static let registerAttemptCount = 8

    /// The same on another thread.
    func readRegisterInBackground(_ present: [MirrorObject: ObjectFacts]) -> BackgroundStep<RegisterReading> {
        BackgroundStep { [self] () throws(BackupError) in try readRegister(present) }
    }

    /// Reads the register if there is one.
    /// - Throws: errors of the storage.
    func readRegister(_ present: [MirrorObject: ObjectFacts]) throws(BackupError) -> RegisterReading {
        guard present[.register] != nil else { return .unknown }
        do throws(BackupError) {
            guard let found = try readRegister() else { return .unknown }
            return .read(found)
        } catch {
            guard error.code == .unsupportedVersion else { throw error }
            return .newer
        }
    }

    /// The mirror's register lists what the mirror should have: all that it had, and what was added.
    /// - Parameters:
    ///   - reading: the register before the update stored records.
    ///   - stored: what the update has stored since, or found by reading it.
    func uploadRegister(
        _ ids: [SnapshotID], _ present: [MirrorObject: ObjectFacts], read reading: RegisterReading, stored: Set<MirrorObject>
    ) throws(BackupError) {
        var known: StoredRegister?
        switch reading {
        case .newer: return
        case .unknown: break
        case .read(let found): known = found
        }
        // A damaged one is made again from what is there.
        guard let found = known, let before = found.register else {
            return try updateRegister(replacingDamaged: true, read: known)
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
        let new = register.isLabelled.filter { before.isLabelled[$0.key] != $0.value }
        guard !new.isEmpty else { return }
        // What is found, or was stored, after the register was read, for the reason that `updateRegister` has for its listing.
        func mustLook(_ object: MirrorObject) -> Bool { !stored.contains(object) }
        let looks = new.filter { mustLook(.snapshot($0.key)) || ($0.value && mustLook(.label($0.key))) }
        guard looks.count <= Self.lookLimit else { return try updateRegister(replacingDamaged: true, read: found) }
        func isThere(_ object: MirrorObject) throws(BackupError) -> Bool {
            if !mustLook(object) { return true }
            return try storage.look(object.name) != nil
        }
        register = before
        // Another machine that labels it meanwhile enters that itself, which makes the replacement below fail. Without such
        // replacements, its entry would be overwritten.
        let looksForLabels = !storage.capabilities.contains(.compareAndSwap)
        for (id, hasLabel) in new where try isThere(.snapshot(id)) {
            register.enter([id])
            if hasLabel || looksForLabels, try isThere(.label(id)) { register.enterLabel(of: id) }
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

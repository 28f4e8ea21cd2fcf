import BackupCore
import ObjectStorage
import SystemIO

/// Comparing the packs of a mirror with their checksums.
extension RepositoryMirror {
    /// What was found.
    public struct Verification: Sendable {
        /// Packs that were read.
        public internal(set) var packCount = 0
        /// Bytes that were read.
        public internal(set) var byteCount: UInt64 = 0
        /// Damaged packs that were replaced by the sound ones of this repository.
        public internal(set) var repairedPackCount = 0
        /// Damaged packs that this repository cannot replace, and why.
        public internal(set) var damages: [BackupError] = []
    }

    /// Reads packs of the mirror, and uploads again from here each one that is damaged. A pack that cannot be read because of the
    /// connection is an error, and no damage.
    /// - Parameter copy: the mirror as a repository, brought up to date.
    /// - Throws: errors of the storage; `interrupted`. What was replaced by then stays replaced.
    public func verify(
        _ copy: Repository, _ subset: DataSubset, progress: ProgressHandler? = nil
    ) throws(BackupError) -> Verification {
        var facts: [PackID: ObjectFacts] = [:]
        try storage.forEachObject(prefix: MirrorObject.packsPrefix) { (object) throws(BackupError) in
            if case .pack(let id)? = MirrorObject(object.name) { facts[id] = object }
        }
        let packs = subset.select(facts.keys.sorted()) { $0 }
        let outcomes = LockedArray<PackDataCheck.Outcome>()
        PackDataCheck(repository: copy).run(packs, progress: progress) { outcome in
            outcomes.append(outcome)
        }
        try Cancellation.check()
        var verification = Verification()
        for outcome in outcomes.values.sorted(by: { $0.pack < $1.pack }) {
            try Cancellation.check()
            guard let known = facts[outcome.pack] else { continue }
            verification.byteCount += outcome.byteCount
            guard let damage = try Self.damage(outcome) else {
                verification.packCount += 1
                continue
            }
            // Removed by a prune meanwhile.
            guard damage.code != .notFound else { continue }
            verification.packCount += 1
            do throws(BackupError) {
                guard damage.code != .unsupportedVersion else { throw damage }
                try replace(outcome.pack, known)
                try copy.layout.packSource?.discard(outcome.pack)
                verification.repairedPackCount += 1
            } catch {
                switch error.code {
                case .repositoryDamaged, .unsupportedVersion, .notFound:
                    verification.damages.append(damage.with(path: "\(storage.location)/\(known.name)"))
                default: throw error
                }
            }
        }
        return verification
    }

    /// - Returns: `nil` for a sound pack; `notFound` for one that is gone.
    /// - Throws: when it is not known how the pack is.
    private static func damage(_ outcome: PackDataCheck.Outcome) throws(BackupError) -> BackupError? {
        if let failure = outcome.failure {
            switch failure.code {
            case .damagedContent: return failure.with(.repositoryDamaged)
            case .repositoryDamaged, .unsupportedVersion, .notFound: return failure
            default: throw failure
            }
        }
        return outcome.damaged.first?.error
    }

    /// - Throws: `notFound` when this repository does not have the pack, `repositoryDamaged` when it is damaged here as well.
    private func replace(_ pack: PackID, _ known: ObjectFacts) throws(BackupError) {
        let lock = try RepositoryLock(layout, .keepingPacks, operation: "sync")
        defer { withExtendedLifetime(lock) {} }
        let file = try layout.openPack(pack)
        try requireSound(pack, file)
        let draft = try ObjectDraft(file)
        _ = try storage.replace(known.name, version: known.version, draft)
        summary.withLock { summary in
            summary.uploadedPackCount += 1
            summary.uploadedBytes += draft.sizeBytes
        }
        try FaultInjection.reached("sync.pack-replaced")
    }
}

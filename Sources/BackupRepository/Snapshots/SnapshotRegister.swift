import BackupCore
import SystemIO

/// Lists the snapshots that a repository should have, and which of them have a label, so that a lost record or label is noticed.
/// It does not decide what may be removed, and nothing is ever removed because of it.
///
/// A snapshot is added after it appeared, and deleted before it is removed permanently. A crash in between leaves a snapshot that
/// is not in the register, which is not a finding, and never one that is missing.
struct SnapshotRegister: Equatable, Sendable {
    private static let magic: [UInt8] = Array("bfsregi\n".utf8)
    private static let version: UInt16 = 1
    private static let labelledFlag: UInt8 = 1
    static let byteCountLimit = 256 << 20

    /// The snapshots, and whether each has a label.
    private(set) var isLabelled: [SnapshotID: Bool] = [:]

    init() {}

    mutating func enter(_ snapshots: some Sequence<SnapshotID>) {
        for snapshot in snapshots where isLabelled[snapshot] == nil { isLabelled[snapshot] = false }
    }

    mutating func enterLabel(of snapshot: SnapshotID) { isLabelled[snapshot] = true }

    mutating func strikeOut(_ snapshots: some Sequence<SnapshotID>) {
        for snapshot in snapshots { isLabelled[snapshot] = nil }
    }

    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.version)
        writer.append(UInt16(0))
        writer.append(UInt32(isLabelled.count))
        for (snapshot, isLabelled) in isLabelled.sorted(by: { $0.key < $1.key }) {
            writer.append(snapshot.digest)
            writer.append(isLabelled ? Self.labelledFlag : 0)
        }
        writer.append(CRC32.of(writer.bytes))
        return writer.bytes
    }

    /// - Throws: `repositoryDamaged`; `unsupportedVersion`.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        var reader = ByteReader(bytes)
        try StructureHeader.read(&reader, magic: Self.magic, version: Self.version, name: "register of snapshots")
        let count = Int(try reader.read(UInt32.self))
        guard reader.remainingCount == count * (SHA256Digest.byteCount + 1) + 4 else { throw Self.damaged }
        var last: SnapshotID?
        for _ in 0..<count {
            let snapshot = SnapshotID(try reader.readDigest())
            let flags = try reader.read(UInt8.self)
            if flags & ~Self.labelledFlag != 0, StructureHeader.endsWithChecksum(bytes) {
                throw StructureHeader.unknown("the register of snapshots has flags that this program does not know")
            }
            guard flags & ~Self.labelledFlag == 0, last.map({ $0 < snapshot }) ?? true else { throw Self.damaged }
            isLabelled[snapshot] = flags & Self.labelledFlag != 0
            last = snapshot
        }
        let checkedCount = bytes.count - reader.remainingCount
        guard try reader.read(UInt32.self) == CRC32.of(Array(bytes[..<checkedCount])), reader.isAtEnd else { throw Self.damaged }
    }

    private static var damaged: BackupError { BackupError(.repositoryDamaged, "the register of snapshots is damaged") }
}

extension SnapshotRegister {
    /// The error for a repository without a register that should have one.
    static func missing(_ layout: RepositoryLayout) -> BackupError {
        BackupError(
            .repositoryDamaged, "the register of backups is missing: the repository may be only half copied",
            path: layout.register,
            remedy:
                "Copy the rest of the repository. If there is no more of it, make a register of the backups that are there with: backupfs check --repair"
        )
    }
}

/// Maintaining the register, and finding what is missing according to it. It is changed under `names.lock`.
extension SnapshotStore {
    /// - Returns: `nil` if there is none: older programs did not create one.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion`; errors of reading.
    func readRegister() throws(BackupError) -> SnapshotRegister? {
        do throws(BackupError) {
            guard let bytes = try registerBytes() else { return nil }
            return try SnapshotRegister(decoding: try protection.open(bytes, as: .register))
        } catch {
            throw error.at(layout.register)
        }
    }

    /// Changes the register. Errors are ignored: an outdated register causes a finding at worst, and must not prevent making a
    /// snapshot, or removing one on a full disk. A damaged register is left to a repair, and one of a later version is left
    /// alone.
    /// - Parameter published: a snapshot that has just appeared; it may be the first one, without a register before it.
    func changeRegister(published: SnapshotID? = nil, _ change: (inout SnapshotRegister) -> Void) {
        try? writeRegister(published: published, change)
    }

    /// Whether the register is missing: programs that record the source of a snapshot keep one. The repository may then be an
    /// incomplete copy, and a register of the existing files would claim that it is complete.
    func isRegisterMissing() throws(BackupError) -> Bool {
        guard try readRegister() == nil else { return false }
        return Self.haveRegister(list.recorded)
    }

    /// Creates the register of a repository that has no snapshot yet: otherwise another process that sees the first snapshot
    /// would consider the register missing. A damaged register is left alone.
    /// - Parameter isNew: called when there are neither records nor a register; returns whether there have never been any. In an
    ///   incomplete copy they may arrive later, and a register of the existing files would let a prune remove their data.
    /// - Throws: `locked`, `noSpace`, …: without a register there must not be a first snapshot.
    func makeFirstRegister(isNew: () throws(BackupError) -> Bool) throws(BackupError) {
        guard list.recorded.isEmpty, FileSystem.statusIfPresent(layout.register) == nil, try isNew() else { return }
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        guard list.recorded.isEmpty, try !FileSystem.exists(layout.register) else { return }
        try writeRegister { _ in }
    }

    /// Whether a register must exist, given these snapshots.
    static func haveRegister(_ snapshots: [Snapshot]) -> Bool { snapshots.contains { $0.source != nil } }

    /// A no-op where the register is missing.
    /// - Throws: `repositoryDamaged` and `unsupportedVersion` for the existing register; errors of writing.
    private func writeRegister(
        published: SnapshotID? = nil, _ change: (inout SnapshotRegister) -> Void
    ) throws(BackupError) {
        let register = try readRegister()
        if register == nil {
            let others = list.recorded.filter { $0.id != published }
            // A new repository has a register from the start. Without one, this may be the first snapshot in an incomplete copy.
            if Self.haveRegister(others) || others.isEmpty && published != nil { return }
        }
        var changed: SnapshotRegister
        if let register { changed = register } else { changed = try registerOfWhatIsThere() }
        // The snapshots of older programs are added at the first write of this one, including removed ones, which older programs
        // deleted from the register.
        changed.enter(list.recorded.map(\.id))
        changed.enter(try ids(in: layout.removed, RepositoryLayout.snapshotExtension))
        // There may have been no space to write the register when they were removed.
        changed.strikeOut(removedForGood.filter { list[$0] == nil })
        change(&changed)
        guard changed != register else { return }
        try layout.publish(protection.seal(changed.encode(), as: .register), to: layout.register)
    }

    /// Lists every snapshot with a trace: a record, readable or not, a label, or a record that a repair has set aside. A snapshot
    /// whose record is lost or not copied yet may have left a label.
    private func registerOfWhatIsThere() throws(BackupError) -> SnapshotRegister {
        var register = SnapshotRegister()
        for folder in [layout.snapshots, layout.removed, layout.damaged] {
            register.enter(try ids(in: folder, RepositoryLayout.snapshotExtension))
        }
        for snapshot in try ids(in: layout.labels, RepositoryLayout.labelExtension) { register.enterLabel(of: snapshot) }
        return register
    }

    /// Repairs a damaged or missing register: corrects a flipped bit, or else rebuilds it from the existing files. For a repair.
    /// - Returns: whether it is the same as before the damage. If not, snapshots without a trace are not expected any more.
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
        try FileSystem.readFileIfPresent(layout.register, limitBytes: SnapshotRegister.byteCountLimit)
    }

    /// The register with one flipped bit corrected; `nil` if that does not repair it.
    private func repairedRegister(_ bytes: [UInt8]) -> [UInt8]? {
        func isRight(_ bytes: [UInt8]) -> Bool { (try? SnapshotRegister(decoding: protection.open(bytes, as: .register))) != nil }
        if isRight(bytes) { return bytes }
        // In a sealed register the checksum is that of unavailable bytes, so each bit is tried.
        if protection.isSealing { return SingleBitRepair.repaired(bytes, isRight) }
        return SingleBitRepair.repaired(endingInCRC32: bytes).flatMap { isRight($0) ? $0 : nil }
    }

    /// Adds a snapshot whose record is about to be set aside: its data must stay until the user gives it up.
    /// - Throws: `repositoryDamaged` and `unsupportedVersion` for the existing register; errors of writing.
    func expect(_ id: SnapshotID) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        try writeRegister { $0.enter([id]) }
    }

    /// Deletes snapshots from the register that were permanently removed when there was no space to write it.
    func strikeOutRemoved() {
        guard !removedForGood.isEmpty, let lock = try? NamesLock(layout) else { return }
        defer { withExtendedLifetime(lock) {} }
        // Another store may have removed a snapshot since the last scan: it must not be added again.
        guard (try? scan()) != nil else { return }
        changeRegister { _ in }
    }

    /// What the register names but does not exist.
    struct MissingSnapshots: Equatable {
        var records: [SnapshotID] = []
        var labels: [SnapshotID] = []

        var isEmpty: Bool { records.isEmpty && labels.isEmpty }
    }

    /// - Throws: errors of reading the register and the folders.
    func missingSnapshots() throws(BackupError) -> MissingSnapshots {
        let found = try compareWithRegister()
        guard !found.isEmpty else { return found }
        // A snapshot may just have been removed, so compare again under the lock. Where nothing can be locked, nothing is removed
        // either.
        guard let lock = try? WaitingLock.acquire(path: layout.namesLock) else { return found }
        defer { withExtendedLifetime(lock) {} }
        return try compareWithRegister()
    }

    /// Whether there is a register, and none of the snapshots that it names is missing.
    func isComplete() throws(BackupError) -> Bool {
        do throws(BackupError) {
            guard try readRegister() != nil else { return false }
            return try missingSnapshots().records.isEmpty
        } catch {
            guard [.repositoryDamaged, .unsupportedVersion].contains(error.code) else { throw error }
            return false
        }
    }

    /// A file that exists but is unreadable is another finding.
    private func compareWithRegister() throws(BackupError) -> MissingSnapshots {
        guard let register = try readRegister() else { return MissingSnapshots() }
        var records = try ids(in: layout.snapshots, RepositoryLayout.snapshotExtension)
        records.formUnion(try ids(in: layout.removed, RepositoryLayout.snapshotExtension))
        // There may have been no space to write the register when they were removed.
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

    /// - Returns: an empty set for a missing folder: some are created only when needed.
    private func ids(in folder: String, _ suffix: String) throws(BackupError) -> Set<SnapshotID> {
        Set(
            try FileSystem.names(in: folder).compactMap {
                RepositoryLayout.digest(in: $0, extension: suffix).map(SnapshotID.init)
            })
    }

    /// Deletes missing records from the register.
    func forgetMissing(_ records: [SnapshotID]) throws(BackupError) {
        let lock = try NamesLock(layout)
        defer { withExtendedLifetime(lock) {} }
        try scan()
        changeRegister { $0.strikeOut(records) }
    }
}

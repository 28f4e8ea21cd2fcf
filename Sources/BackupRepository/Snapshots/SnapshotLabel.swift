import BackupCore
import Synchronization
import SystemIO

/// The changeable properties of a snapshot. A snapshot without a label file has its record's name and nothing else.
struct SnapshotLabel: Hashable, Sendable {
    private static let magic: [UInt8] = Array("bfslabl\n".utf8)
    /// Version 2 has tags after the time of verification. A label without tags is written as version 1, which older programs
    /// read.
    private static let plainVersion: UInt16 = 1
    private static let taggedVersion: UInt16 = 2
    private enum Flag {
        static let pinned: UInt8 = 1
        static let verified: UInt8 = 2
        static let known: UInt8 = 3
    }
    static let byteCountLimit = 64 << 10

    var name: FileName
    var isPinned: Bool
    var verifiedAt: Timestamp?
    /// `nil` until the tags are changed: the snapshot then has the tag it was created with.
    var tags: [String]?

    func encode(for snapshot: SnapshotID) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(tags == nil ? Self.plainVersion : Self.taggedVersion)
        writer.append(UInt16(0))
        writer.append(snapshot.digest)
        writer.append((isPinned ? Flag.pinned : 0) | (verifiedAt == nil ? 0 : Flag.verified))
        writer.append(lengthPrefixed: name.bytes)
        if let verifiedAt { writer.append(verifiedAt) }
        if let tags {
            writer.append(UInt32(tags.count))
            for tag in tags { writer.append(tag) }
        }
        writer.append(CRC32.of(writer.bytes))
        return writer.bytes
    }
}

/// What a snapshot that is copied from another repository has from its first moment, besides its name.
struct FirstLabel {
    let isPinned: Bool
    /// `nil` if they were never changed.
    let tags: [String]?

    /// Whether the record alone does not say it.
    var isNeeded: Bool { isPinned || tags != nil }

    func label(named name: FileName) -> SnapshotLabel {
        SnapshotLabel(name: name, isPinned: isPinned, verifiedAt: nil, tags: tags)
    }
}

extension SnapshotLabel {
    /// - Throws: `repositoryDamaged`, also for the label of another snapshot; `unsupportedVersion`.
    init(decoding bytes: [UInt8], for snapshot: SnapshotID) throws(BackupError) {
        var reader = ByteReader(bytes)
        let version = try StructureHeader.read(
            &reader, magic: Self.magic, versions: Self.plainVersion...Self.taggedVersion, name: "snapshot label")
        let named = SnapshotID(try reader.readDigest())
        let flags = try reader.read(UInt8.self)
        if flags & ~Flag.known != 0, StructureHeader.endsWithChecksum(bytes) {
            throw StructureHeader.unknown("a snapshot label has flags that this program does not know")
        }
        let name = FileName(bytes: Array(try reader.readLengthPrefixed()))
        let verifiedAt = flags & Flag.verified == 0 ? nil : try reader.readTimestamp()
        let tags = version < Self.taggedVersion ? nil : try Self.readTags(&reader)
        let checkedCount = bytes.count - reader.remainingCount
        guard try reader.read(UInt32.self) == CRC32.of(Array(bytes[..<checkedCount])), reader.isAtEnd, named == snapshot,
            flags & ~Flag.known == 0, name.isSafeComponent, verifiedAt?.isWithinCalendar != false
        else { throw BackupError(.repositoryDamaged, "a snapshot label is damaged") }
        self.init(name: name, isPinned: flags & Flag.pinned != 0, verifiedAt: verifiedAt, tags: tags)
    }

    private static func readTags(_ reader: inout ByteReader) throws(BackupError) -> [String] {
        let count = Int(try reader.read(UInt32.self))
        guard count <= SnapshotTag.countLimit else { throw BackupError(.repositoryDamaged, "a snapshot label is damaged") }
        var tags: [String] = []
        for _ in 0..<count { tags.append(try reader.readText()) }
        return tags
    }
}

/// Validates tags: a tag is a word that can be part of a comma-separated list and of an extended attribute.
public enum SnapshotTag {
    /// The maximum number of tags of a snapshot.
    public static let countLimit = 64
    /// In bytes.
    public static let lengthLimit = 255

    /// - Throws: `invalidArgument` for an invalid tag.
    public static func check(_ tag: String) throws(BackupError) {
        let isClean = !tag.utf8.contains { $0 < 32 || $0 == 127 || $0 == UInt8(ascii: ",") }
        guard !tag.isEmpty, tag.utf8.count <= lengthLimit, isClean else {
            throw BackupError(
                .invalidArgument, "this cannot be a tag", path: tag,
                remedy: "A tag is 1 to \(lengthLimit) bytes without commas and control characters.")
        }
    }
}

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
    /// - Returns: the snapshots whose labels were written. A label that was copied back meanwhile is kept; one whose record
    ///   cannot be read is still expected.
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
        guard let bytes = try FileSystem.readFileIfPresent(path, limitBytes: SnapshotLabel.byteCountLimit) else { return false }
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

import BackupCore
import SystemIO

/// What may change about a snapshot. A snapshot without a label file has its record's name and nothing else.
struct SnapshotLabel: Hashable, Sendable {
    private static let magic: [UInt8] = Array("bfslabl\n".utf8)
    private static let version: UInt16 = 1
    private enum Flag {
        static let pinned: UInt8 = 1
        static let verified: UInt8 = 2
        static let known: UInt8 = 3
    }
    static let byteCountLimit = 4096

    var name: FileName
    var isPinned: Bool
    var verifiedAt: Timestamp?

    func encode(for snapshot: SnapshotID) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.version)
        writer.append(UInt16(0))
        writer.append(snapshot.digest)
        writer.append((isPinned ? Flag.pinned : 0) | (verifiedAt == nil ? 0 : Flag.verified))
        writer.append(lengthPrefixed: name.bytes)
        if let verifiedAt { writer.append(verifiedAt) }
        writer.append(CRC32.of(writer.bytes))
        return writer.bytes
    }

    init(name: FileName, isPinned: Bool, verifiedAt: Timestamp?) {
        self.name = name
        self.isPinned = isPinned
        self.verifiedAt = verifiedAt
    }

    /// - Throws: `repositoryDamaged`, also for the label of another snapshot; `unsupportedVersion`.
    init(decoding bytes: [UInt8], for snapshot: SnapshotID) throws(BackupError) {
        var reader = ByteReader(bytes)
        try StructureHeader.read(&reader, magic: Self.magic, version: Self.version, name: "snapshot label")
        let named = SnapshotID(try reader.readDigest())
        let flags = try reader.read(UInt8.self)
        let name = FileName(bytes: Array(try reader.readLengthPrefixed()))
        let verifiedAt = flags & Flag.verified == 0 ? nil : try reader.readTimestamp()
        let checkedCount = bytes.count - reader.remainingCount
        guard try reader.read(UInt32.self) == CRC32.of(Array(bytes[..<checkedCount])), reader.isAtEnd, named == snapshot,
            flags & ~Flag.known == 0, name.isSafeComponent
        else { throw BackupError(.repositoryDamaged, "a snapshot label is damaged") }
        self.init(name: name, isPinned: flags & Flag.pinned != 0, verifiedAt: verifiedAt)
    }
}

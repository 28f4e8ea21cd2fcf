import BackupCore
import SystemIO

/// The changeable properties of a snapshot. A snapshot without a label file has its record's name and nothing else.
struct SnapshotLabel: Hashable, Sendable {
    private static let magic: [UInt8] = Array("bfslabl\n".utf8)
    /// Version 2 has tags after the time of verification. A label without tags is written as version 1, which older programs read.
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

    init(name: FileName, isPinned: Bool, verifiedAt: Timestamp?, tags: [String]? = nil) {
        self.name = name
        self.isPinned = isPinned
        self.verifiedAt = verifiedAt
        self.tags = tags
    }

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

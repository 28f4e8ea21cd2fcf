import BackupCore
import SystemIO

/// The immutable part of a snapshot: written once, never changed. Its SHA-256 is the snapshot's name in the repository.
public struct SnapshotRecord: Hashable, Sendable {
    public let kind: SnapshotKind
    /// Its name at creation; `Snapshot.name` is the current one.
    public let name: FileName
    /// By the clock of the host that made it.
    public let creationTime: Timestamp
    /// The previous snapshot, with which it may share most of its data.
    public let parent: SnapshotID?
    /// The tree: its root's directory object and the totals over it.
    public let root: StoredDirectory
    /// Exact size of archive.zip in bytes.
    public let archiveSizeBytes: UInt64
    /// The layout of archive.zip. The repository only stores it; the archive code interprets it. It is part of the record so that
    /// an old snapshot's archive keeps its bytes when an app's layout changes.
    public let archiveLayout: ArchivePathMap
    /// Further information: app, versions, device, counts.
    public let attributes: [String: String]
    /// 16 random bytes that make each snapshot unique, even with the same data, name and time.
    public let token: [UInt8]
}

extension SnapshotRecord {
    public init(
        kind: SnapshotKind, name: FileName, creationTime: Timestamp, parent: SnapshotID?, root: StoredDirectory,
        archiveSizeBytes: UInt64, archiveLayout: ArchivePathMap, attributes: [String: String]
    ) {
        self.init(
            kind: kind, name: name, creationTime: creationTime, parent: parent, root: root, archiveSizeBytes: archiveSizeBytes,
            archiveLayout: archiveLayout, attributes: attributes,
            token: Hexadecimal.decode(RandomToken.make().utf8) ?? [])
    }

    /// The same snapshot with another name.
    func renamed(_ name: FileName) -> SnapshotRecord {
        SnapshotRecord(
            kind: kind, name: name, creationTime: creationTime, parent: parent, root: root, archiveSizeBytes: archiveSizeBytes,
            archiveLayout: archiveLayout, attributes: attributes, token: token)
    }
}

/// The encoding of a record (format document, "Snapshot record").
extension SnapshotRecord {
    private static let magic: [UInt8] = Array("bfssnap\n".utf8)
    private static let version: UInt16 = 1
    private static let tokenByteCount = 16
    static let byteCountLimit = 16 << 20

    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.magic)
        writer.append(Self.version)
        writer.append(UInt16(0))
        writer.append(kind.rawValue)
        writer.append(raw: token)
        writer.append(lengthPrefixed: name.bytes)
        writer.append(creationTime)
        writer.append(UInt8(parent == nil ? 0 : 1))
        if let parent { writer.append(parent.digest) }
        root.totals.encode(into: &writer)
        root.content.encode(into: &writer)
        writer.append(archiveSizeBytes)
        Self.encode(archiveLayout.prefixes, into: &writer)
        Self.encode(attributes, into: &writer)
        return writer.bytes
    }

    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    init(decoding bytes: [UInt8]) throws(BackupError) {
        var reader = ByteReader(bytes)
        try StructureHeader.read(&reader, magic: Self.magic, version: Self.version, name: "snapshot record")
        guard let kind = SnapshotKind(rawValue: try reader.read()) else {
            throw StructureHeader.unknown("a snapshot record is of a kind that this program does not know")
        }
        let token = Array(try reader.readRaw(count: Self.tokenByteCount))
        let name = FileName(bytes: Array(try reader.readLengthPrefixed()))
        guard name.isSafeComponent else { throw BackupError(.repositoryDamaged, "a snapshot has an unsafe name") }
        let creationTime = try reader.readTimestamp()
        // The writer never stores any other time, and retention and the schedule depend on it.
        guard creationTime.isWithinCalendar else {
            throw BackupError(.repositoryDamaged, "a snapshot record has an invalid time")
        }
        let parentFlag = try reader.read(UInt8.self)
        guard parentFlag <= 1 else { throw BackupError(.repositoryDamaged, "a snapshot record's parent is damaged") }
        let parent = parentFlag == 1 ? SnapshotID(try reader.readDigest()) : nil
        let totals = try DirectoryTotals(decoding: &reader)
        let content = try FileContent(decoding: &reader)
        let archiveSizeBytes = try reader.read(UInt64.self)
        let archiveLayout = ArchivePathMap(prefixes: try Self.decodeMap(&reader))
        let attributes = try Self.decodeMap(&reader)
        guard reader.isAtEnd else { throw BackupError(.repositoryDamaged, "a snapshot record has bytes after its end") }
        self.init(
            kind: kind, name: name, creationTime: creationTime, parent: parent,
            root: StoredDirectory(content: content, totals: totals), archiveSizeBytes: archiveSizeBytes,
            archiveLayout: archiveLayout, attributes: attributes, token: token)
    }

    /// Keys in the order of their bytes.
    private static func encode(_ map: [String: String], into writer: inout ByteWriter) {
        writer.append(UInt32(map.count))
        for (key, value) in map.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            writer.append(key)
            writer.append(value)
        }
    }

    private static func decodeMap(_ reader: inout ByteReader) throws(BackupError) -> [String: String] {
        let count = Int(try reader.read(UInt32.self))
        guard count <= reader.remainingCount / 8 else {
            throw BackupError(.repositoryDamaged, "a snapshot record has more attributes than bytes")
        }
        var map: [String: String] = [:]
        for _ in 0..<count {
            let key = try reader.readText()
            guard map.updateValue(try reader.readText(), forKey: key) == nil else {
                throw BackupError(.repositoryDamaged, "a snapshot record has the attribute “\(MessageText.shortened(key))” twice")
            }
        }
        return map
    }
}

extension SnapshotRecord {
    /// The tag it was created with.
    var tags: [String] { attributes[Snapshot.tagAttribute].map { [$0] } ?? [] }
}

/// Why a snapshot was made. The raw values are part of the repository format.
public enum SnapshotKind: UInt8, Sendable, CaseIterable {
    /// A backup on request or by schedule.
    case snapshot = 0
    /// Made by a restore, of the data it was about to replace.
    case safety = 1
}

extension RepositoryLayout {
    /// The bytes of a record; `nil` if there is none, or it is damaged.
    func recordBytes(of id: SnapshotID) throws(BackupError) -> [UInt8]? {
        guard let bytes = try FileSystem.readFileIfPresent(snapshotPath(of: id), limitBytes: SnapshotRecord.byteCountLimit),
            SnapshotID(SHA256Hasher.hash(bytes)) == id
        else { return nil }
        return bytes
    }
}

import BackupCore
import SystemIO

/// The contents of a batch: copies of the indexes of many packs, and of snapshot records, in one object of a storage.
///
/// A machine that sees a repository for the first time would otherwise read each pack's end and each record with a request of
/// its own. A batch is only a copy: without it, or with a part of one, everything is still found by listing the packs. Each
/// pack's index and each record proves itself by its name, and a batch's own name is the SHA-256 of its bytes. A batch may name
/// packs and records that are gone.
///
/// Format: Docs/reference/repository-format.md, "Batches of indexes".
struct IndexBatch: Sendable {
    /// A pack's header and its stored index.
    struct PackPart: Sendable {
        let id: PackID
        /// Length of the pack.
        let packSizeBytes: UInt64
        /// In the batch.
        let range: Range<Int>
    }

    struct RecordPart: Sendable {
        let id: SnapshotID
        /// In the batch.
        let range: Range<Int>
    }

    /// Larger objects are ignored.
    static let sizeLimitBytes = 64 << 20

    fileprivate static let magic: [UInt8] = Array("bfsbatc\n".utf8)
    fileprivate static let version: UInt16 = 1
    /// Of the magic number, the version and the three counts.
    static let startByteCount = 24
    private static let replacedByteCount = 32
    private static let packByteCount = 44
    private static let recordByteCount = 36

    /// Earlier batches whose contents are in this one, as far as they are still needed.
    let replaced: [IndexBatchID]
    let packs: [PackPart]
    let records: [RecordPart]
    /// Of the whole batch.
    let sizeBytes: Int

    /// Length of the part before the copies.
    /// - Parameter start: the first `startByteCount` bytes.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    static func headByteCount(_ start: [UInt8]) throws(BackupError) -> Int {
        let (replaced, packs, records) = try counts(start)
        return startByteCount + replaced * replacedByteCount + packs * packByteCount + records * recordByteCount
    }

    private static func counts(_ start: [UInt8]) throws(BackupError) -> (replaced: Int, packs: Int, records: Int) {
        var reader = ByteReader(start)
        try StructureHeader.read(&reader, magic: magic, version: version, name: "batch of indexes")
        return (Int(try reader.read(UInt32.self)), Int(try reader.read(UInt32.self)), Int(try reader.read(UInt32.self)))
    }

    /// - Parameters:
    ///   - head: at least the part before the copies.
    ///   - sizeBytes: of the whole batch.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    init(decodingHead head: [UInt8], sizeBytes: Int) throws(BackupError) {
        let (replacedCount, packCount, recordCount) = try Self.counts(head)
        let headByteCount = try Self.headByteCount(head)
        guard headByteCount <= head.count, head.count <= sizeBytes else { throw Self.damaged }
        var reader = ByteReader(head[Self.startByteCount..<headByteCount])
        var replaced: [IndexBatchID] = []
        for _ in 0..<replacedCount { replaced.append(IndexBatchID(try reader.readDigest())) }
        var position = headByteCount
        func next(_ byteCount: UInt32) throws(BackupError) -> Range<Int> {
            guard Int(byteCount) <= sizeBytes - position else { throw Self.damaged }
            defer { position += Int(byteCount) }
            return position..<position + Int(byteCount)
        }
        var packs: [PackPart] = []
        packs.reserveCapacity(packCount)
        for _ in 0..<packCount {
            let id = PackID(try reader.readDigest())
            let packSizeBytes = try reader.read(UInt64.self)
            packs.append(PackPart(id: id, packSizeBytes: packSizeBytes, range: try next(try reader.read(UInt32.self))))
        }
        var records: [RecordPart] = []
        for _ in 0..<recordCount {
            let id = SnapshotID(try reader.readDigest())
            records.append(RecordPart(id: id, range: try next(try reader.read(UInt32.self))))
        }
        guard position == sizeBytes else { throw Self.damaged }
        self.replaced = replaced
        self.packs = packs
        self.records = records
        self.sizeBytes = sizeBytes
    }

    private static let damaged = BackupError(.repositoryDamaged, "a batch of indexes does not have the length that it should")

    /// The bytes of a part, as a pack's index.
    /// - Returns: `nil` if they are not the index of the pack.
    static func storedIndex(_ bytes: [UInt8], of part: PackPart) -> StoredPackIndex? {
        guard bytes.count >= StoredPackIndex.headerByteCount else { return nil }
        return StoredPackIndex(
            headerBytes: Array(bytes[..<StoredPackIndex.headerByteCount]),
            indexBytes: Array(bytes[StoredPackIndex.headerByteCount...]), pack: part.id, packSizeBytes: part.packSizeBytes)
    }
}

/// A batch that is being made.
struct IndexBatchDraft {
    private var packs: [(id: PackID, packSizeBytes: UInt64, bytes: [UInt8])] = []
    private var records: [(id: SnapshotID, bytes: [UInt8])] = []
    /// Of the copies.
    private(set) var sizeBytes = 0

    var isEmpty: Bool { packs.isEmpty && records.isEmpty }

    mutating func add(_ id: PackID, _ index: StoredPackIndex) {
        let bytes = index.headerBytes + index.indexBytes
        packs.append((id, index.packSizeBytes, bytes))
        sizeBytes += bytes.count
    }

    mutating func add(_ id: SnapshotID, _ record: [UInt8]) {
        records.append((id, record))
        sizeBytes += record.count
    }

    func encoded(replacing replaced: [IndexBatchID]) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: IndexBatch.magic)
        writer.append(IndexBatch.version)
        writer.append(UInt16(0))
        writer.append(UInt32(replaced.count))
        writer.append(UInt32(packs.count))
        writer.append(UInt32(records.count))
        for id in replaced { writer.append(id.digest) }
        for pack in packs {
            writer.append(pack.id.digest)
            writer.append(pack.packSizeBytes)
            writer.append(UInt32(pack.bytes.count))
        }
        for record in records {
            writer.append(record.id.digest)
            writer.append(UInt32(record.bytes.count))
        }
        for pack in packs { writer.append(raw: pack.bytes) }
        for record in records { writer.append(raw: record.bytes) }
        return writer.bytes
    }
}

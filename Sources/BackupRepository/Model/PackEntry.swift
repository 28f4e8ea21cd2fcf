import BackupCore
import SystemIO

/// One chunk in a pack's index. Its offset follows from the lengths of the chunks before it.
struct PackEntry: Hashable, Sendable {
    let id: ChunkID
    let codec: ChunkCodec
    let storedLength: UInt32
    let plainLength: UInt32
    let plainCRC32: UInt32
    let storedCRC32: UInt32
    /// For a codec that needs one (`ChunkCodec.needsBase`).
    let base: ChunkID?

    func encode(into writer: inout ByteWriter) {
        writer.append(id.digest)
        writer.append(codec.rawValue)
        writer.append(storedLength)
        writer.append(plainLength)
        writer.append(plainCRC32)
        writer.append(storedCRC32)
        if let base { writer.append(base.digest) }
    }
}

extension PackEntry {
    /// The index entry of a chunk.
    init(_ chunk: StoredChunk) {
        self.init(
            id: chunk.id, codec: chunk.codec, storedLength: chunk.storedLength, plainLength: chunk.plainLength,
            plainCRC32: chunk.plainCRC32, storedCRC32: chunk.storedCRC32, base: chunk.base)
    }

    /// - Throws: `repositoryDamaged`; `unsupportedVersion` for a codec of a later version.
    init(decoding reader: inout ByteReader) throws(BackupError) {
        id = ChunkID(try reader.readDigest())
        let codecNumber = try reader.read(UInt8.self)
        guard let codec = ChunkCodec(rawValue: codecNumber) else {
            throw BackupError(
                .unsupportedVersion, "chunk \(id) is stored with codec \(codecNumber), which this program does not know",
                remedy: "Use a newer version of backupfs.")
        }
        self.codec = codec
        storedLength = try reader.read()
        plainLength = try reader.read()
        plainCRC32 = try reader.read()
        storedCRC32 = try reader.read()
        base = codec.needsBase ? ChunkID(try reader.readDigest()) : nil
        guard plainLength > 0, storedLength > 0, Int(plainLength) <= ChunkLimits.plainLengthBytes,
            Int(storedLength) <= ChunkLimits.storedLengthBytes,
            codec != .raw || (storedLength == plainLength && storedCRC32 == plainCRC32)
        else { throw BackupError(.repositoryDamaged, "the index entry of chunk \(id) does not fit together") }
    }

    func stored(in pack: PackID, at offset: UInt64) -> StoredChunk {
        StoredChunk(
            id: id, pack: pack, packOffset: offset, storedLength: storedLength, plainLength: plainLength, codec: codec,
            plainCRC32: plainCRC32, storedCRC32: storedCRC32, base: base)
    }
}

/// What a pack holds. Files' chunks and the repository's own structures go to separate packs: walking snapshots then reads few
/// packs, and losing a photo's pack loses no folder. The raw values are part of the repository format.
enum PackKind: UInt8, Sendable {
    case data = 0
    case metadata = 1
}

/// Bounds that every reader checks before it allocates anything.
enum ChunkLimits {
    /// Plain bytes of one chunk.
    static let plainLengthBytes = 16 << 20
    /// Stored bytes of one chunk: DEFLATE grows incompressible data by far less than this margin.
    static let storedLengthBytes = plainLengthBytes + (64 << 10)
}

extension PackEntry {
    /// A chunk that nothing refers to, for a pack that must get a name of its own. A prune removes it.
    static func filler() -> (entry: PackEntry, bytes: [UInt8]) {
        let bytes = Array(RandomToken.make().utf8)
        let checksum = CRC32.of(bytes)
        let entry = PackEntry(
            id: ChunkID(SHA256Hasher.hash(bytes)), codec: .raw, storedLength: UInt32(bytes.count),
            plainLength: UInt32(bytes.count), plainCRC32: checksum, storedCRC32: checksum, base: nil)
        return (entry, bytes)
    }
}

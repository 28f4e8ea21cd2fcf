import BackupCore
import SystemIO

/// A pack's index as it is stored, with the pack's header: everything about a pack but its chunks. In an encrypted repository, it
/// is sealed. Its SHA-256 is the pack's name, so it proves itself, wherever it was read from.
struct StoredPackIndex: Equatable, Sendable {
    static let headerMagic: [UInt8] = Array("bfspack\n".utf8)
    static let footerMagic: [UInt8] = Array("bfsindex".utf8)
    static let version: UInt16 = 1
    static let headerByteCount = 16
    static let footerByteCount = 24
    /// No pack gets near it: it limits the memory that reading a damaged one takes.
    static let indexByteCountLimit = 256 << 20

    /// The pack's first bytes.
    let headerBytes: [UInt8]
    /// The bytes after the chunks.
    let indexBytes: [UInt8]
    /// Length of all chunks in the pack, in bytes.
    let chunkByteCount: UInt64

    /// - Returns: `nil` if the index is not that of the pack, or does not fit its length.
    init?(headerBytes: [UInt8], indexBytes: [UInt8], pack: PackID, packSizeBytes: UInt64) {
        let frameByteCount = UInt64(Self.headerByteCount + Self.footerByteCount)
        guard headerBytes.count == Self.headerByteCount, indexBytes.count <= Self.indexByteCountLimit,
            packSizeBytes >= frameByteCount, packSizeBytes - frameByteCount >= UInt64(indexBytes.count),
            PackID(SHA256Hasher.hash(indexBytes)) == pack
        else { return nil }
        self.headerBytes = headerBytes
        self.indexBytes = indexBytes
        chunkByteCount = packSizeBytes - frameByteCount - UInt64(indexBytes.count)
    }

    /// Reads the index from a pack, and compares it with the pack's name and length, which needs no key.
    /// - Throws: `repositoryDamaged`; `damagedContent` for a file that is shorter than it was.
    init(in file: SharedFile, pack: PackID) throws(BackupError) {
        let size = file.size
        guard size >= UInt64(Self.headerByteCount + Self.footerByteCount) else {
            throw BackupError(.repositoryDamaged, "the pack is cut off")
        }
        let headerBytes = try file.readExactly(at: 0, count: Self.headerByteCount)
        let footerBytes = try file.readExactly(at: size - UInt64(Self.footerByteCount), count: Self.footerByteCount)
        var footer = ByteReader(footerBytes)
        let chunkByteCount = try footer.read(UInt64.self)
        let indexByteCount = try footer.read(UInt32.self)
        guard try footer.read(UInt32.self) == CRC32.of(Array(footerBytes[..<12])),
            try footer.readRaw(count: Self.footerMagic.count).elementsEqual(Self.footerMagic)
        else { throw BackupError(.repositoryDamaged, "the pack's end is damaged or missing") }
        let rest = size - UInt64(Self.headerByteCount + Self.footerByteCount)
        guard chunkByteCount <= rest, rest - chunkByteCount == UInt64(indexByteCount),
            indexByteCount <= Self.indexByteCountLimit
        else { throw BackupError(.repositoryDamaged, "the pack's length does not fit its end") }
        let indexBytes = try file.readExactly(at: UInt64(Self.headerByteCount) + chunkByteCount, count: Int(indexByteCount))
        guard
            let stored = StoredPackIndex(headerBytes: headerBytes, indexBytes: indexBytes, pack: pack, packSizeBytes: size)
        else { throw BackupError(.repositoryDamaged, "the pack's index does not fit its name") }
        self = stored
    }

    /// Length of the pack, in bytes.
    var packSizeBytes: UInt64 {
        UInt64(Self.headerByteCount + Self.footerByteCount) + chunkByteCount + UInt64(indexBytes.count)
    }

    static func header(kind: PackKind, isSealed: Bool) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: headerMagic)
        writer.append(version)
        writer.append(kind.rawValue)
        writer.append(UInt8(isSealed ? 1 : 0))
        writer.append(raw: [0, 0, 0, 0])
        return writer.bytes
    }

    /// Whether a pack's first bytes say that it has metadata.
    static func isMetadata(_ header: [UInt8]) -> Bool {
        header == self.header(kind: .metadata, isSealed: false) || header == self.header(kind: .metadata, isSealed: true)
    }

    /// The bytes that follow the index at the end of the file.
    static func footer(chunkByteCount: UInt64, indexByteCount: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(chunkByteCount)
        writer.append(UInt32(indexByteCount))
        writer.append(CRC32.of(writer.bytes))
        writer.append(raw: footerMagic)
        return writer.bytes
    }
}

/// The name of a batch of indexes: the SHA-256 of its bytes.
struct IndexBatchID: ContentID {
    let digest: SHA256Digest

    init(_ digest: SHA256Digest) { self.digest = digest }
}

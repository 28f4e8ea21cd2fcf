import BackupCore
import SystemIO

/// A pack's own index: every chunk in it, in storage order. Its SHA-256 is the pack's name.
struct PackIndex: Sendable {
    static let headerMagic: [UInt8] = Array("bfspack\n".utf8)
    static let footerMagic: [UInt8] = Array("bfsindex".utf8)
    static let version: UInt16 = 1
    static let headerByteCount = 16
    static let footerByteCount = 24
    private static let shortestEntryByteCount = 49
    /// No pack gets near it: it limits the memory that reading a damaged one takes.
    private static let indexByteCountLimit = 256 << 20

    let kind: PackKind
    let entries: [PackEntry]
    /// Whether the chunks are sealed, and take more space in the pack than their stored bytes.
    let isSealed: Bool

    static func header(kind: PackKind, isSealed: Bool) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: headerMagic)
        writer.append(version)
        writer.append(kind.rawValue)
        writer.append(UInt8(isSealed ? 1 : 0))
        writer.append(raw: [0, 0, 0, 0])
        return writer.bytes
    }

    /// The bytes whose hash names the pack, if it is not sealed.
    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(kind.rawValue)
        writer.append(raw: [0, 0, 0])
        writer.append(UInt32(entries.count))
        for entry in entries { entry.encode(into: &writer) }
        return writer.bytes
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

extension PackIndex {
    /// - Parameter isSealed: whether the bytes come from a sealed index.
    init(decoding bytes: [UInt8], isSealed: Bool) throws(BackupError) {
        var reader = ByteReader(bytes)
        let kindNumber = try reader.read(UInt8.self)
        guard try reader.readRaw(count: 3).allSatisfy({ $0 == 0 }) else {
            throw BackupError(.repositoryDamaged, "a pack's index does not start as one")
        }
        guard let kind = PackKind(rawValue: kindNumber) else {
            throw StructureHeader.unknown("a pack is of a kind that this program does not know")
        }
        let count = Int(try reader.read(UInt32.self))
        guard count <= reader.remainingCount / Self.shortestEntryByteCount else {
            throw BackupError(.repositoryDamaged, "a pack's index has more entries than bytes")
        }
        var entries: [PackEntry] = []
        entries.reserveCapacity(count)
        for _ in 0..<count { entries.append(try PackEntry(decoding: &reader)) }
        guard reader.isAtEnd else { throw BackupError(.repositoryDamaged, "a pack's index has bytes after its end") }
        self.init(kind: kind, entries: entries, isSealed: isSealed)
    }

    /// Reads the index of a pack of a repository.
    /// - Throws: as below; errors of opening the pack.
    static func read(
        _ pack: PackID, in layout: RepositoryLayout, _ protection: RepositoryProtection
    ) throws(BackupError) -> PackIndex {
        try open(pack, in: layout, protection).index
    }

    /// The same, and the open pack.
    static func open(
        _ pack: PackID, in layout: RepositoryLayout, _ protection: RepositoryProtection
    ) throws(BackupError) -> (index: PackIndex, file: SharedFile) {
        let file = try layout.openPack(pack)
        do throws(BackupError) {
            return (try read(file, pack: pack, protection: protection), file)
        } catch {
            guard error.code == .repositoryDamaged, let file = try layout.reopenPack(pack) else { throw error }
            return (try read(file, pack: pack, protection: protection), file)
        }
    }

    /// Reads the index of a pack file and verifies it against the pack's name and length.
    /// - Throws: `repositoryDamaged` naming the pack, `unsupportedVersion`.
    static func read(
        _ file: SharedFile, pack: PackID, protection: RepositoryProtection
    ) throws(BackupError) -> PackIndex {
        do {
            return try readUnnamed(file, pack: pack, protection)
        } catch {
            // A file that is too short is a damaged pack here.
            let code: BackupError.Code = error.code == .damagedContent ? .repositoryDamaged : error.code
            throw error.with(
                code, path: error.path ?? file.path,
                remedy: error.remedy ?? "Copy this pack back from another copy of the repository, if there is one.")
        }
    }

    /// The index as it is stored.
    private struct Stored {
        let headerBytes: [UInt8]
        let indexBytes: [UInt8]
        let chunkByteCount: UInt64
    }

    /// Verifies the index and the length of a pack without the repository's key.
    /// - Throws: `repositoryDamaged`.
    static func verifyIndex(_ file: SharedFile, pack: PackID) throws(BackupError) { _ = try readStored(file, pack: pack) }

    /// Reads the stored index and compares it with the pack's name and length, which needs no key.
    private static func readStored(_ file: SharedFile, pack: PackID) throws(BackupError) -> Stored {
        let size = file.size
        guard size >= UInt64(headerByteCount + footerByteCount) else {
            throw BackupError(.repositoryDamaged, "the pack is cut off")
        }
        let headerBytes = try file.readExactly(at: 0, count: headerByteCount)
        let footerBytes = try file.readExactly(at: size - UInt64(footerByteCount), count: footerByteCount)
        var footer = ByteReader(footerBytes)
        let chunkByteCount = try footer.read(UInt64.self)
        let indexByteCount = try footer.read(UInt32.self)
        guard try footer.read(UInt32.self) == CRC32.of(Array(footerBytes[..<12])),
            try footer.readRaw(count: footerMagic.count).elementsEqual(footerMagic)
        else { throw BackupError(.repositoryDamaged, "the pack's end is damaged or missing") }
        let rest = size - UInt64(headerByteCount + footerByteCount)
        guard chunkByteCount <= rest, rest - chunkByteCount == UInt64(indexByteCount), indexByteCount <= indexByteCountLimit
        else { throw BackupError(.repositoryDamaged, "the pack's length does not fit its end") }
        let indexBytes = try file.readExactly(at: UInt64(headerByteCount) + chunkByteCount, count: Int(indexByteCount))
        guard PackID(SHA256Hasher.hash(indexBytes)) == pack else {
            throw BackupError(.repositoryDamaged, "the pack's index does not fit its name")
        }
        return Stored(headerBytes: headerBytes, indexBytes: indexBytes, chunkByteCount: chunkByteCount)
    }

    /// Verifies a pack without the repository's key: its index, its length and, unless it is sealed, the CRC-32 of each chunk.
    /// - Throws: `repositoryDamaged`; `unsupportedVersion`.
    static func verify(_ file: SharedFile, pack: PackID) throws(BackupError) {
        do throws(BackupError) {
            let stored = try readStored(file, pack: pack)
            // A sealed pack says so in its header, which only the key proves.
            guard
                stored.headerBytes == header(kind: .data, isSealed: false)
                    || stored.headerBytes == header(kind: .metadata, isSealed: false)
            else { return try checkVersion(stored.headerBytes) }
            let index = try PackIndex(decoding: stored.indexBytes, isSealed: false)
            var offset = UInt64(headerByteCount)
            for entry in index.entries {
                let bytes = try file.readExactly(at: offset, count: Int(entry.storedLength))
                guard CRC32.of(bytes) == entry.storedCRC32 else {
                    throw BackupError(.repositoryDamaged, "the chunk \(entry.id) is damaged: its CRC-32 is wrong")
                }
                offset += UInt64(entry.storedLength)
            }
            guard offset == UInt64(headerByteCount) + stored.chunkByteCount else {
                throw BackupError(.repositoryDamaged, "the pack's chunks do not fill it")
            }
        } catch {
            // A file that is too short is a damaged pack here.
            throw error.with(error.code == .damagedContent ? .repositoryDamaged : error.code, path: error.path ?? file.path)
        }
    }

    private static func readUnnamed(
        _ file: SharedFile, pack: PackID, _ protection: RepositoryProtection
    ) throws(BackupError) -> PackIndex {
        let stored = try readStored(file, pack: pack)
        let (headerBytes, indexBytes, chunkByteCount) = (stored.headerBytes, stored.indexBytes, stored.chunkByteCount)
        let plainBytes = try protection.open(indexBytes, as: .packIndex(header: headerBytes))
        let index: PackIndex
        do throws(BackupError) {
            index = try PackIndex(decoding: plainBytes, isSealed: protection.isSealing)
        } catch {
            // The index of a later version may have another form; its name proves it.
            try checkVersion(headerBytes)
            throw error
        }
        try checkHeader(headerBytes, index)
        let total = index.entries.reduce(UInt64(0)) { $0 + UInt64(index.packedLength(of: $1)) }
        guard total == chunkByteCount else {
            throw BackupError(.repositoryDamaged, "the pack's chunks do not fill it")
        }
        return index
    }

    private static func checkHeader(_ bytes: [UInt8], _ index: PackIndex) throws(BackupError) {
        guard bytes != header(kind: index.kind, isSealed: index.isSealed) else { return }
        try checkVersion(bytes)
        throw BackupError(.repositoryDamaged, "the pack's header is damaged")
    }

    private static func checkVersion(_ header: [UInt8]) throws(BackupError) {
        var reader = ByteReader(header)
        guard try reader.readRaw(count: headerMagic.count).elementsEqual(headerMagic) else { return }
        let found = try reader.read(UInt16.self)
        if found != version { throw StructureHeader.unsupported(found, name: "pack") }
    }

    /// The number of bytes that a chunk takes in the pack.
    func packedLength(of entry: PackEntry) -> Int {
        Int(entry.storedLength) + RepositoryProtection.overheadByteCount(isSealed: isSealed)
    }

    /// The place of each chunk, in the order of `entries`.
    func storedChunks(in pack: PackID) -> [StoredChunk] {
        var offset = UInt64(Self.headerByteCount)
        return entries.map { entry in
            defer { offset += UInt64(packedLength(of: entry)) }
            return entry.stored(in: pack, at: offset)
        }
    }
}

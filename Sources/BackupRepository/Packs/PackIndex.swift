import BackupCore
import SystemIO

/// A pack's own index: every chunk in it, in storage order. Its SHA-256 is the pack's name.
struct PackIndex: Sendable {
    private static let shortestEntryByteCount = 49

    let kind: PackKind
    let entries: [PackEntry]
    /// Whether the chunks are sealed, and take more space in the pack than their stored bytes.
    let isSealed: Bool

    /// The bytes whose hash names the pack, if it is not sealed.
    func encode() -> [UInt8] {
        var writer = ByteWriter()
        writer.append(kind.rawValue)
        writer.append(raw: [0, 0, 0])
        writer.append(UInt32(entries.count))
        for entry in entries { entry.encode(into: &writer) }
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

    /// Reads the index of a pack of a repository: from the pack, or from a copy of the index that its name proves.
    /// - Throws: as below; errors of opening the pack.
    static func read(
        _ pack: PackID, in layout: RepositoryLayout, _ protection: RepositoryProtection
    ) throws(BackupError) -> PackIndex {
        try readWithSize(pack, in: layout, protection).index
    }

    /// The same, and the length of the pack in bytes.
    static func readWithSize(
        _ pack: PackID, in layout: RepositoryLayout, _ protection: RepositoryProtection
    ) throws(BackupError) -> (index: PackIndex, packSizeBytes: UInt64) {
        if let stored = layout.packSource?.storedIndex(of: pack),
            try FileSystem.look(layout.packPath(of: pack))?.size == stored.packSizeBytes,
            let index = try? PackIndex(opening: stored, protection)
        {
            return (index, stored.packSizeBytes)
        }
        let file = try layout.openPack(pack)
        do throws(BackupError) {
            return (try read(file, pack: pack, protection: protection), file.size)
        } catch {
            guard error.code == .repositoryDamaged, let file = try layout.reopenPack(pack) else { throw error }
            return (try read(file, pack: pack, protection: protection), file.size)
        }
    }

    /// Reads the index of a pack file and verifies it against the pack's name and length.
    /// - Throws: `repositoryDamaged` naming the pack, `unsupportedVersion`.
    static func read(
        _ file: SharedFile, pack: PackID, protection: RepositoryProtection
    ) throws(BackupError) -> PackIndex {
        do {
            return try PackIndex(opening: StoredPackIndex(in: file, pack: pack), protection)
        } catch {
            // A file that is too short is a damaged pack here.
            let code: BackupError.Code = error.code == .damagedContent ? .repositoryDamaged : error.code
            throw error.with(
                code, path: error.path ?? file.path,
                remedy: error.remedy ?? "Copy this pack back from another copy of the repository, if there is one.")
        }
    }

    /// Verifies the index and the length of a pack without the repository's key.
    /// - Throws: `repositoryDamaged`.
    static func verifyIndex(_ file: SharedFile, pack: PackID) throws(BackupError) {
        _ = try StoredPackIndex(in: file, pack: pack)
    }

    /// Verifies a pack without the repository's key: its index, its length and, unless it is sealed, the CRC-32 of each chunk.
    /// - Throws: `repositoryDamaged`; `unsupportedVersion`.
    static func verify(_ file: SharedFile, pack: PackID) throws(BackupError) {
        do throws(BackupError) {
            let stored = try StoredPackIndex(in: file, pack: pack)
            // A sealed pack says so in its header, which only the key proves.
            guard
                stored.headerBytes == StoredPackIndex.header(kind: .data, isSealed: false)
                    || stored.headerBytes == StoredPackIndex.header(kind: .metadata, isSealed: false)
            else { return try checkVersion(stored.headerBytes) }
            let index = try PackIndex(decoding: stored.indexBytes, isSealed: false)
            var offset = UInt64(StoredPackIndex.headerByteCount)
            for entry in index.entries {
                let bytes = try file.readExactly(at: offset, count: Int(entry.storedLength))
                guard CRC32.of(bytes) == entry.storedCRC32 else {
                    throw BackupError(.repositoryDamaged, "the chunk \(entry.id) is damaged: its CRC-32 is wrong")
                }
                offset += UInt64(entry.storedLength)
            }
            guard offset == UInt64(StoredPackIndex.headerByteCount) + stored.chunkByteCount else {
                throw BackupError(.repositoryDamaged, "the pack's chunks do not fill it")
            }
        } catch {
            // A file that is too short is a damaged pack here.
            throw error.with(error.code == .damagedContent ? .repositoryDamaged : error.code, path: error.path ?? file.path)
        }
    }

    /// - Throws: `repositoryDamaged`, `unsupportedVersion`.
    init(opening stored: StoredPackIndex, _ protection: RepositoryProtection) throws(BackupError) {
        let plainBytes = try protection.open(stored.indexBytes, as: .packIndex(header: stored.headerBytes))
        do throws(BackupError) {
            try self.init(decoding: plainBytes, isSealed: protection.isSealing)
        } catch {
            // The index of a later version may have another form; its name proves it.
            try Self.checkVersion(stored.headerBytes)
            throw error
        }
        try Self.checkHeader(stored.headerBytes, self)
        let total = entries.reduce(UInt64(0)) { $0 + UInt64(packedLength(of: $1)) }
        guard total == stored.chunkByteCount else {
            throw BackupError(.repositoryDamaged, "the pack's chunks do not fill it")
        }
    }

    private static func checkHeader(_ bytes: [UInt8], _ index: PackIndex) throws(BackupError) {
        guard bytes != StoredPackIndex.header(kind: index.kind, isSealed: index.isSealed) else { return }
        try checkVersion(bytes)
        throw BackupError(.repositoryDamaged, "the pack's header is damaged")
    }

    private static func checkVersion(_ header: [UInt8]) throws(BackupError) {
        var reader = ByteReader(header)
        let magic = StoredPackIndex.headerMagic
        guard try reader.readRaw(count: magic.count).elementsEqual(magic) else { return }
        let found = try reader.read(UInt16.self)
        if found != StoredPackIndex.version { throw StructureHeader.unsupported(found, name: "pack") }
    }

    /// The number of bytes that a chunk takes in the pack.
    func packedLength(of entry: PackEntry) -> Int {
        Int(entry.storedLength) + RepositoryProtection.overheadByteCount(isSealed: isSealed)
    }

    /// The place of each chunk, in the order of `entries`.
    func storedChunks(in pack: PackID) -> [StoredChunk] {
        var offset = UInt64(StoredPackIndex.headerByteCount)
        return entries.map { entry in
            defer { offset += UInt64(packedLength(of: entry)) }
            return entry.stored(in: pack, at: offset)
        }
    }
}

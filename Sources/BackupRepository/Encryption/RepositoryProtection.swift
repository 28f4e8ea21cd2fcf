import BackupCore
import SystemIO

/// How a repository names its chunks and encodes their stored bytes and its structures: in a plain repository SHA-256 and the
/// bytes themselves, in an encrypted one keyed names and sealed bytes. Everything written to or read from packs, records and
/// labels passes through here. Any number of threads may use it.
struct RepositoryProtection: Sendable {
    let keys: RepositoryKeys?

    /// For a plain repository.
    static let none = RepositoryProtection(keys: nil)

    init(keys: RepositoryKeys?) { self.keys = keys }

    var isSealing: Bool { keys != nil }
    var masterKey: SecretBytes? { keys?.master }

    /// A chunk's name, from its plain bytes.
    func chunkID(of plain: UnsafeRawBufferPointer) -> ChunkID {
        guard let keys else { return ChunkID(SHA256Hasher.hash(plain)) }
        return ChunkID(HMACSHA256.authenticate(plain, key: keys.names))
    }

    func chunkID(of plain: [UInt8]) -> ChunkID { plain.withUnsafeBytes { chunkID(of: $0) } }
}

// MARK: - Chunks

extension RepositoryProtection {
    /// How many bytes a chunk takes in a pack beyond its stored bytes.
    static func overheadByteCount(isSealed: Bool) -> Int { isSealed ? AESGCM.overheadByteCount : 0 }

    /// The chunk's bytes as stored in a pack. Each chunk is sealed with its own key, so that random nonces never run out. Its
    /// name, codec, lengths and base are authenticated, but not the pack, so that sealed chunks can be copied to another pack
    /// unchanged.
    /// - Parameters:
    ///   - buffer: scratch space; its contents are replaced.
    ///   - body: receives the bytes, which are valid during the call only.
    func withPackedBytes<Result>(
        of entry: PackEntry, stored: UnsafeRawBufferPointer, buffer: inout [UInt8],
        _ body: (UnsafeRawBufferPointer) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        guard let keys else { return try body(stored) }
        let count = stored.count + AESGCM.overheadByteCount
        if buffer.count < count { buffer = [UInt8](repeating: 0, count: count) }
        try buffer.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            let output = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try withKey(of: entry.id, keys) { (key) throws(BackupError) in
                try Self.associatedData(entry).withUnsafeBytesThrowing { (associatedData) throws(BackupError) in
                    try AESGCM.seal(stored, key: key, associatedData: associatedData, into: output)
                }
            }
        }
        return try buffer.withUnsafeBytesThrowing(count: count, body)
    }

    /// Opens a chunk in place.
    /// - Parameters:
    ///   - stored: the chunk's bytes between nonce and tag; afterwards its stored bytes.
    ///   - frame: nonce and tag, one after the other.
    /// - Returns: whether these are the bytes that were sealed as this chunk. If not, `stored` is zero.
    func open(_ entry: PackEntry, _ stored: UnsafeMutableRawBufferPointer, frame: UnsafeRawBufferPointer) -> Bool {
        guard let keys else { return true }
        return withKey(of: entry.id, keys) { key in
            Self.associatedData(entry).withUnsafeBytes {
                AESGCM.open(
                    UnsafeRawBufferPointer(stored), nonce: UnsafeRawBufferPointer(rebasing: frame[..<AESGCM.nonceByteCount]),
                    tag: UnsafeRawBufferPointer(rebasing: frame[AESGCM.nonceByteCount...]), key: key, associatedData: $0,
                    into: stored)
            }
        }
    }

    private func withKey<Result, Failure: Error>(
        of chunk: ChunkID, _ keys: RepositoryKeys, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let key = UnsafeMutableRawBufferPointer.allocate(byteCount: AESGCM.keyByteCount, alignment: 16)
        defer {
            SecretBytes.wipe(key)
            key.deallocate()
        }
        chunk.digest.withUnsafeBytes { name in
            keys.chunks.withUnsafeBytes { HMACSHA256.authenticate(name, key: $0, into: key) }
        }
        return try body(UnsafeRawBufferPointer(key))
    }

    private static func associatedData(_ entry: PackEntry) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(entry.id.digest)
        writer.append(entry.codec.rawValue)
        writer.append(entry.storedLength)
        writer.append(entry.plainLength)
        if let base = entry.base { writer.append(base.digest) }
        return writer.bytes
    }

    /// The chunk with its checksums masked, as in the catalog; applied again, it removes
    /// the masks. Plain checksums would reveal whether the repository has a known chunk.
    func maskingChecksums(_ chunk: StoredChunk) -> StoredChunk {
        guard let keys else { return chunk }
        var writer = ByteWriter()
        writer.append(chunk.id.digest)
        writer.append(chunk.pack.digest)
        let masks = HMACSHA256.authenticate(writer.bytes, key: keys.catalog).withUnsafeBytes {
            ($0.loadUnaligned(as: UInt32.self), $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        }
        return StoredChunk(
            id: chunk.id, pack: chunk.pack, packOffset: chunk.packOffset, storedLength: chunk.storedLength,
            plainLength: chunk.plainLength, codec: chunk.codec, plainCRC32: chunk.plainCRC32 ^ UInt32(littleEndian: masks.0),
            storedCRC32: chunk.storedCRC32 ^ UInt32(littleEndian: masks.1), base: chunk.base)
    }
}

// MARK: - Structures

extension RepositoryProtection {
    /// A structure's bytes as written to disk.
    func seal(_ bytes: [UInt8], as structure: SealedStructure) throws(BackupError) -> [UInt8] {
        guard let keys else { return bytes }
        var sealed = structure.magic + [UInt8](repeating: 0, count: bytes.count + AESGCM.overheadByteCount)
        try sealed.withUnsafeMutableBytesThrowing { (output) throws(BackupError) in
            let output = UnsafeMutableRawBufferPointer(rebasing: output[structure.magic.count...])
            try bytes.withUnsafeBytesThrowing { (plain) throws(BackupError) in
                try keys.structures.withUnsafeBytes { (key) throws(BackupError) in
                    try structure.associatedData.withUnsafeBytesThrowing { (associatedData) throws(BackupError) in
                        try AESGCM.seal(plain, key: key, associatedData: associatedData, into: output)
                    }
                }
            }
        }
        return sealed
    }

    /// Reverses `seal`.
    /// - Throws: `repositoryDamaged`.
    func open(_ sealed: [UInt8], as structure: SealedStructure) throws(BackupError) -> [UInt8] {
        guard let keys else { return sealed }
        let count = sealed.count - structure.magic.count - AESGCM.overheadByteCount
        guard count >= 0, sealed.starts(with: structure.magic) else {
            throw BackupError(.repositoryDamaged, "a \(structure.name) is not sealed, in an encrypted repository")
        }
        var bytes = [UInt8](repeating: 0, count: count)
        let isGenuine = bytes.withUnsafeMutableBytes { output in
            sealed.withUnsafeBytes { sealed in
                keys.structures.withUnsafeBytes { key in
                    structure.associatedData.withUnsafeBytes { associatedData in
                        AESGCM.open(
                            UnsafeRawBufferPointer(rebasing: sealed[structure.magic.count...]), key: key,
                            associatedData: associatedData, into: output)
                    }
                }
            }
        }
        guard isGenuine else {
            throw BackupError(.repositoryDamaged, "a \(structure.name) does not open with the repository's key")
        }
        return bytes
    }
}

/// The purpose of a sealed structure. It is authenticated with the sealed bytes, so that none can be used in another's place.
enum SealedStructure {
    case packIndex(header: [UInt8])
    case snapshotRecord
    case snapshotLabel(SnapshotID)
    case source(SourceID)
    case register
    case deviceChanges(name: String)

    /// Sealed files start with it. An index is inside a pack, whose header says that it is sealed.
    static let fileMagic: [UInt8] = Array("bfsseal\n".utf8)

    var name: String {
        switch self {
        case .packIndex: "pack's index"
        case .snapshotRecord: "snapshot record"
        case .snapshotLabel: "snapshot label"
        case .source: "source document"
        case .register: "register of snapshots"
        case .deviceChanges: "change log of a device"
        }
    }

    var magic: [UInt8] {
        switch self {
        case .packIndex: []
        case .snapshotRecord, .snapshotLabel, .source, .register, .deviceChanges: Self.fileMagic
        }
    }

    var associatedData: [UInt8] {
        switch self {
        case .packIndex(let header): Array("backupfs pack index".utf8) + header
        case .snapshotRecord: Array("backupfs snapshot record".utf8)
        case .snapshotLabel(let snapshot): Array("backupfs snapshot label".utf8) + snapshot.digest.bytes
        case .source(let source): Array("backupfs source document".utf8) + Array(source.hexadecimal.utf8)
        case .register: Array("backupfs register".utf8)
        case .deviceChanges(let name): Array("backupfs device changes".utf8) + Array(name.utf8)
        }
    }
}

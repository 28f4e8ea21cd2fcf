import BackupCore
import SystemIO

/// Verifies that stored bytes are the chunk with the given name. For one thread at a time.
final class ChunkVerifier {
    private let repository: Repository
    private var expander = ChunkExpander()
    private var hasher = SHA256Hasher()
    private var plain: [UInt8] = []
    private var opened: [UInt8] = []

    init(_ repository: Repository) { self.repository = repository }

    enum Verdict {
        case sound
        case damaged(BackupError)
        /// Its own bytes are unchanged, but cannot be expanded without its base.
        case withoutBase(BackupError)
    }

    /// Compares the stored bytes with their CRC-32, and the plain bytes with theirs and with the chunk's name.
    /// - Parameter packed: the chunk's bytes as stored in the pack.
    /// - Returns: errors that name chunk and pack.
    func verify(_ chunk: StoredChunk, _ packed: UnsafeRawBufferPointer) -> Verdict {
        guard repository.protection.isSealing else { return verifyStored(chunk, packed) }
        guard open(chunk, packed) else { return damaged(chunk, "it does not open with the repository's key") }
        // A copy of the reference: `opened` is not written to meanwhile.
        let bytes = opened
        return bytes.withUnsafeBytes { verifyStored(chunk, UnsafeRawBufferPointer(rebasing: $0[..<Int(chunk.storedLength)])) }
    }

    /// Reads a chunk's bytes from its recorded place, bypassing all caches, and verifies them.
    /// - Throws: `repositoryDamaged` naming chunk and pack, also when its base cannot be read; errors of opening the pack.
    func requireSound(_ chunk: StoredChunk) throws(BackupError) {
        let reader = repository.chunkReader
        let overhead = RepositoryProtection.overheadByteCount(isSealed: repository.protection.isSealing)
        var packed = [UInt8](repeating: 0, count: Int(chunk.storedLength) + overhead)
        let verdict = try packed.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try reader.read(chunk, reader.packs.open(chunk.pack), at: 0, into: buffer)
            return verify(chunk, UnsafeRawBufferPointer(buffer))
        }
        switch verdict {
        case .sound: return
        case .damaged(let error), .withoutBase(let error): throw error
        }
    }

    /// Opens a sealed chunk into `opened`.
    private func open(_ chunk: StoredChunk, _ packed: UnsafeRawBufferPointer) -> Bool {
        let count = Int(chunk.storedLength)
        guard packed.count == count + AESGCM.overheadByteCount else { return false }
        if opened.count < count { opened = [UInt8](repeating: 0, count: count) }
        let nonce = packed[..<AESGCM.nonceByteCount]
        let tag = packed[(AESGCM.nonceByteCount + count)...]
        return opened.withUnsafeMutableBytes { buffer in
            let output = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            output.copyMemory(from: UnsafeRawBufferPointer(rebasing: packed[nonce.endIndex..<tag.startIndex]))
            return (Array(nonce) + Array(tag)).withUnsafeBytes {
                repository.protection.open(PackEntry(chunk), output, frame: $0)
            }
        }
    }

    private func verifyStored(_ chunk: StoredChunk, _ stored: UnsafeRawBufferPointer) -> Verdict {
        guard CRC32.of(stored) == chunk.storedCRC32 else { return damaged(chunk, "its CRC-32 is wrong") }
        guard chunk.codec != .raw else { return compare(chunk, stored) }
        var base: [UInt8] = []
        if let name = chunk.base {
            do {
                base = try repository.chunkReader.baseBytes(of: chunk)
            } catch {
                return .withoutBase(repository.chunkReader.damage(chunk, "its base \(name) cannot be read"))
            }
        }
        let count = Int(chunk.plainLength)
        if plain.count < count { plain = [UInt8](repeating: 0, count: count) }
        let isWhole = plain.withUnsafeMutableBytes { buffer in
            base.withUnsafeBytes {
                expander.expand(stored, chunk.codec, base: $0, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
        guard isWhole else { return damaged(chunk, "its compressed bytes do not expand") }
        return plain.withUnsafeBytes { buffer in
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            guard CRC32.of(bytes) == chunk.plainCRC32 else { return damaged(chunk, "its CRC-32 is wrong") }
            return compare(chunk, bytes)
        }
    }

    private func compare(_ chunk: StoredChunk, _ bytes: UnsafeRawBufferPointer) -> Verdict {
        let id: ChunkID
        if repository.protection.isSealing {
            id = repository.protection.chunkID(of: bytes)
        } else {
            // As `chunkID` does it, without a new digest context for each chunk.
            hasher.update(bytes)
            id = ChunkID(hasher.finish())
        }
        return id == chunk.id ? .sound : damaged(chunk, "its bytes are not what its name says")
    }

    private func damaged(_ chunk: StoredChunk, _ reason: Message) -> Verdict {
        .damaged(repository.chunkReader.damage(chunk, reason))
    }
}

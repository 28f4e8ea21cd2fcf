import BackupCore
import Synchronization
import SystemIO

/// Knows which errors of a copy are about the repository that is read: they concern one snapshot, and the others are copied.
final class SourceReading: Sendable {
    private let firstFailure = Mutex<BackupError?>(nil)

    /// The first error of reading; `nil` for none.
    var failure: BackupError? { firstFailure.withLock { $0 } }

    /// Runs code that only reads the source.
    func run<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        do throws(BackupError) {
            return try body()
        } catch {
            throw note(error)
        }
    }

    /// - Returns: the same error.
    func note(_ error: BackupError) -> BackupError {
        firstFailure.withLock { if $0 == nil { $0 = error } }
        return error
    }
}

extension ChunkReader {
    /// A chunk's verified bytes.
    struct VerifiedChunk {
        let plain: [UInt8]
        /// In the form that the place says; `nil` if only another form could be read.
        let stored: [UInt8]?
    }

    /// Reads a whole chunk, and compares its bytes with its checksums and with its name. Bypasses the caches where it can.
    /// - Throws: `repositoryDamaged` naming the chunk and its pack.
    func verified(_ chunk: StoredChunk) throws(BackupError) -> VerifiedChunk {
        do throws(BackupError) {
            var stored = [UInt8](repeating: 0, count: Int(chunk.storedLength))
            try stored.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
                try readStored(chunk, at: 0, into: buffer)
            }
            var expander = ChunkExpander()
            let plain =
                chunk.codec == .raw
                ? stored
                : expander.expand(
                    stored, chunk.codec, plainLength: Int(chunk.plainLength), base: try baseBytes(of: chunk))
            guard let plain, CRC32.of(stored) == chunk.storedCRC32, CRC32.of(plain) == chunk.plainCRC32,
                protection.chunkID(of: plain) == chunk.id
            else { throw damage(chunk, "its bytes are not what its name says") }
            return VerifiedChunk(plain: plain, stored: stored)
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            // It may be stored at other places, or in another form.
            guard let plain = try? plainBytes(chunk), protection.chunkID(of: plain) == chunk.id else { throw error }
            return VerifiedChunk(plain: plain, stored: nil)
        }
    }
}

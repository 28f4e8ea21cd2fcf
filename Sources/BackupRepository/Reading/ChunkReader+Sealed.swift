import BackupCore
import SystemIO

/// Reading sealed chunks: any part of one requires opening all of it.
extension ChunkReader {
    /// As `readStored`. A whole chunk is read directly; parts come from a cache, since further parts are usually read next.
    func readSealed(
        _ chunk: StoredChunk, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        if buffer.count == Int(chunk.storedLength) {
            try withWorkingPlace(chunk) { (place) throws(BackupError) in try readStoredBytes(place, into: buffer) }
            return
        }
        let bytes = chunk.codec == .raw ? try expandedBytes(chunk) : try openedBytes(chunk)
        bytes.withUnsafeBytes { stored in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: stored[offset..<offset + buffer.count]))
        }
    }

    private func openedBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        if let bytes = opened.value(for: SealedPlace(chunk)) { return bytes }
        let bytes = try withWorkingPlace(chunk) { (place) throws(BackupError) in try storedBytes(place) }
        opened.insert(bytes, for: SealedPlace(chunk), cost: bytes.count)
        return bytes
    }

    /// All stored bytes of a chunk, bypassing all caches; opened if they are sealed, otherwise not verified.
    func storedBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        var stored = [UInt8](repeating: 0, count: Int(chunk.storedLength))
        try stored.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in try readStoredBytes(chunk, into: buffer) }
        return stored
    }

    private func readStoredBytes(
        _ chunk: StoredChunk, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        let file = try packs.open(chunk.pack)
        guard protection.isSealing else { return try read(chunk, file, at: 0, into: buffer) }
        var frame = [UInt8](repeating: 0, count: AESGCM.overheadByteCount)
        let isGenuine = try frame.withUnsafeMutableBytesThrowing { (frame) throws(BackupError) in
            let nonce = UnsafeMutableRawBufferPointer(rebasing: frame[..<AESGCM.nonceByteCount])
            let tag = UnsafeMutableRawBufferPointer(rebasing: frame[AESGCM.nonceByteCount...])
            try read(chunk, file, at: 0, into: nonce)
            // Opened in the destination: the bytes are copied once.
            try read(chunk, file, at: nonce.count, into: buffer)
            try read(chunk, file, at: nonce.count + buffer.count, into: tag)
            return protection.open(PackEntry(chunk), buffer, frame: UnsafeRawBufferPointer(frame))
        }
        guard isGenuine else { throw damage(chunk, "it does not open with the repository's key") }
    }
}

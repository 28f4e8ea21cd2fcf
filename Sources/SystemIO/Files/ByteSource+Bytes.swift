import BackupCore

extension ByteSource {
    /// Fills a buffer, in as many reads as it takes.
    /// - Returns: bytes read: fewer than the buffer holds only at the end.
    public func readFully(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try read(at: offset + UInt64(filled), into: rest)
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }

    /// - Parameter count: fewer bytes come only at the end.
    public func bytes(at offset: UInt64, upTo count: Int) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try readFully(at: offset, into: buffer)
        }
        bytes.removeLast(count - filled)
        return bytes
    }
}

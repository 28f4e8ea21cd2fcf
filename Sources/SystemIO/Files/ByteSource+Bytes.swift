import BackupCore

extension ByteSource {
    /// Fills a buffer with as many reads as needed.
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

    /// - Parameter count: the result is shorter only at the end.
    public func bytes(at offset: UInt64, upTo count: Int) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try readFully(at: offset, into: buffer)
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Appends the first bytes to a file.
    /// - Parameter name: names the source in an error.
    /// - Throws: `inputOutput` when there are fewer.
    public func copy(_ count: UInt64, to target: borrowing OwnedDescriptor, named name: String) throws(BackupError) {
        var offset: UInt64 = 0
        while offset < count {
            let part = try bytes(at: offset, upTo: Int(min(1 << 20, count - offset)))
            guard !part.isEmpty else { throw BackupError(.inputOutput, "the file became shorter while it was read", path: name) }
            try part.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try target.writeAll(buffer) }
            offset += UInt64(part.count)
        }
    }
}

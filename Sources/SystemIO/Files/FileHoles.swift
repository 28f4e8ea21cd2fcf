import Glibc

/// Holes of sparse files: runs of zeros that take no space on the disk.
enum FileHoles {
    /// Most file systems allocate space in blocks of this length.
    private static let blockByteCount = 4096
    // `SEEK_DATA` and `SEEK_HOLE`, which Swift's libc module lacks.
    private static let seekData: Int32 = 3
    private static let seekHole: Int32 = 4

    static func byteCount(_ descriptor: Int32, size: UInt64) -> UInt64 {
        let end = off_t(clamping: size)
        var position: off_t = 0
        var count: UInt64 = 0
        while position < end {
            let hole = lseek(descriptor, position, seekHole)
            guard hole >= 0, hole < end else { break }
            let data = lseek(descriptor, hole, seekData)
            // Only a hole up to the end.
            guard data > hole else { return errno == ENXIO || data >= 0 ? count + UInt64(end - hole) : count }
            count += UInt64(min(data, end) - hole)
            position = data
        }
        return count
    }

    /// The parts of `buffer` to write: everything except whole blocks of zeros.
    /// - Parameter offset: its position in the file: a hole begins and ends at multiples of the block length.
    static func data(in buffer: UnsafeRawBufferPointer, at offset: UInt64) -> [Range<Int>] {
        guard let base = buffer.baseAddress else { return [] }
        var parts: [Range<Int>] = []
        var start = 0
        while start < buffer.count {
            let inBlock = Int((offset + UInt64(start)) % UInt64(blockByteCount))
            let end = min(buffer.count, start + blockByteCount - inBlock)
            // The first byte is zero, and each byte equals the one before it.
            let isZero =
                end - start == blockByteCount && buffer[start] == 0
                && memcmp(base + start, base + start + 1, blockByteCount - 1) == 0
            if !isZero {
                if let last = parts.last, last.upperBound == start {
                    parts[parts.count - 1] = last.lowerBound..<end
                } else {
                    parts.append(start..<end)
                }
            }
            start = end
        }
        return parts
    }
}

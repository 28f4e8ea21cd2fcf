import BackupCore

/// Line and column of a byte. Counted only after an error: valid files pay nothing for them.
enum JSONPlace {
    /// - Returns: "line 3, column 5 (byte 40)"; lines and columns begin at 1, columns count characters, bytes begin at 0.
    static func find(_ target: UInt64, in source: any ByteSource) throws(BackupError) -> Message {
        var line = 1
        var column = 1
        var offset: UInt64 = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { buffer.deallocate() }
        while offset < target {
            let wanted = Int(min(UInt64(buffer.count), target - offset))
            let count = try source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
            if count == 0 { break }
            for byte in buffer[..<count] {
                if byte == 0x0A {
                    line += 1
                    column = 1
                } else if byte & 0xC0 != 0x80 {
                    column += 1
                }
            }
            offset += UInt64(count)
        }
        return "line \(line), column \(column) (byte \(target))"
    }
}

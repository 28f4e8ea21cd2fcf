import BackupCore
import SystemIO

/// All checksums of a byte source, read once from start to end.
enum SourceChecksums {
    static func of(_ source: any ByteSource) throws(BackupError) -> Checksums {
        var hasher = ContentHasher()
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let offset = hasher.byteCount
            let count = try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                try source.read(at: offset, into: bytes)
            }
            if count == 0 { return hasher.finish() }
            buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}

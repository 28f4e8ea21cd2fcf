import BackupCore

/// Bytes in memory as a source; returns them in small pieces on request.
public final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private let pieceSize: Int

    public init(_ bytes: [UInt8], pieceSize: Int = .max) {
        self.bytes = bytes
        self.pieceSize = pieceSize
    }

    public convenience init(_ text: String, pieceSize: Int = .max) { self.init(Array(text.utf8), pieceSize: pieceSize) }

    public var size: UInt64 { UInt64(bytes.count) }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        let start = Int(min(offset, size))
        let count = min(buffer.count, bytes.count - start, pieceSize)
        buffer.copyBytes(from: bytes[start..<start + count])
        return count
    }
}

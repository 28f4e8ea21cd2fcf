import BackupCore
import Synchronization

/// Bytes in memory, given in pieces, that notice who reads behind their end.
final class WatchedSource: ByteSource {
    private let bytes: [UInt8]
    private let pieceSizeBytes: Int
    private let farthest = Mutex<UInt64>(0)

    init(_ bytes: [UInt8], pieceSizeBytes: Int = .max) {
        self.bytes = bytes
        self.pieceSizeBytes = pieceSizeBytes
    }

    var size: UInt64 { UInt64(bytes.count) }

    /// Where the last read of all began.
    var farthestOffset: UInt64 { farthest.withLock { $0 } }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        farthest.withLock { $0 = max($0, offset) }
        guard offset < size else { return 0 }
        let start = Int(offset)
        let count = min(buffer.count, bytes.count - start, pieceSizeBytes)
        buffer.copyBytes(from: bytes[start..<start + count])
        return count
    }
}

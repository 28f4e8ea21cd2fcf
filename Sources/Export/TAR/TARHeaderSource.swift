import BackupCore
import Synchronization

/// The headers of one archive as a part of it. The layout fills the list while it hands out extents of it; readers come afterwards.
final class TARHeaderSource: ByteSource {
    private let list = Mutex(TARHeaderList())

    func update<Result: Sendable>(_ change: (inout TARHeaderList) -> Result) -> Result { list.withLock { change(&$0) } }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        // A copy of two references: nobody waits while headers are made.
        let current = list.withLock { $0 }
        current.read(at: offset, into: buffer)
        return buffer.count
    }
}

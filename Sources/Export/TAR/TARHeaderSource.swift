import BackupCore
import Synchronization

/// The headers of one archive as a byte source. The layout fills the list while it creates extents of it; reads come afterwards.
final class TARHeaderSource: ByteSource {
    private let list = Mutex(TARHeaderList())

    func update<Result: Sendable>(_ change: (inout TARHeaderList) -> Result) -> Result { list.withLock { change(&$0) } }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        // A copy of two references: no thread blocks while headers are generated.
        let current = list.withLock { $0 }
        current.read(at: offset, into: buffer)
        return buffer.count
    }
}

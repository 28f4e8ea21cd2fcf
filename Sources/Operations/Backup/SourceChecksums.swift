import BackupCore
import SystemIO

/// All checksums of a byte source, read once from start to end.
enum SourceChecksums {
    private static let blockSizeBytes = 1 << 20
    private static let blockLimit = 6

    static func of(_ source: any ByteSource) throws(BackupError) -> Checksums {
        var hasher = ContentHasher()
        var buffer = [UInt8](repeating: 0, count: blockSizeBytes)
        while true {
            let offset = hasher.byteCount
            let count = try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                try source.read(at: offset, into: bytes)
            }
            if count == 0 { return hasher.finish() }
            buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    /// - Parameter workers: share the work with the calling thread, which reads.
    static func of(_ source: any ByteSource, workers: WorkerPool) throws(BackupError) -> Checksums {
        let group = WorkGroup(workers)
        let lanes = ContentHashLanes(group)
        let blocks = BlockPool(blockSizeBytes: blockSizeBytes, limit: blockLimit)
        var offset: UInt64 = 0
        do throws(BackupError) {
            while !group.hasFailed {
                let block = group.take(from: blocks)
                block.count = try source.read(at: offset, into: block.writableBytes)
                if block.count == 0 { break }
                offset += UInt64(block.count)
                lanes.submit(block)
            }
        } catch {
            group.fail(error)
        }
        try group.wait()
        return lanes.finish()
    }
}

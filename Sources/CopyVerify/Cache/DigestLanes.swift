import BackupCore
import SystemIO

/// Computes several digests of a file on two threads: the one that reads computes those that take less time.
enum DigestLanes {
    /// A second thread does not pay for less.
    static let smallByteCount: UInt64 = 1 << 20

    // Blocks that are in the processor's cache still when the second thread gets them.
    private static let blockByteCount = 256 << 10
    // How many blocks the reading thread may be ahead, so that the other one always has work.
    private static let blockLimit = 32

    /// Reads a file to its end.
    static func read(_ file: SharedFile, _ algorithms: Set<HashAlgorithm>) throws(BackupError) -> FileDigests {
        // The first one has the algorithm that takes longest.
        let lanes = HashAlgorithm.lanes(algorithms)
        let (slow, others) = (lanes.first ?? [], lanes.dropFirst().first ?? [])
        let found = Monitor(FileDigests())
        let queue = WorkQueue<BlockPool.Block?>(limit: blockLimit)
        let thread = try SystemThread {
            var digester = FileDigester(slow)
            queue.forEach { block in
                if let block { digester.update(block.bytes) }
                return block != nil
            }
            let digests = digester.finish()
            found.withLock { $0 = digests }
        }
        let result = Result { () throws(BackupError) in try read(file, others, queue) }
        queue.push(nil)
        thread.join()
        return try result.get().filled(from: found.withLock { $0 })
    }

    /// Passes all blocks on.
    private static func read(
        _ file: SharedFile, _ algorithms: Set<HashAlgorithm>, _ queue: WorkQueue<BlockPool.Block?>
    ) throws(BackupError) -> FileDigests {
        let pool = BlockPool(blockSizeBytes: blockByteCount, limit: blockLimit)
        var digester = FileDigester(algorithms)
        var offset: UInt64 = 0
        while true {
            let block = pool.take()
            block.count = try file.read(at: offset, into: block.writableBytes)
            if block.count == 0 { return digester.finish() }
            offset += UInt64(block.count)
            queue.push(block)
            digester.update(block.bytes)
        }
    }
}

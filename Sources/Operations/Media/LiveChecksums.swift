import BackupCore
import Synchronization
import SystemIO

/// Caches checksums of live media files for as long as identity, size and times are the same. Does not cache where the file
/// system keeps no change times.
final class LiveChecksums: Sendable {
    private struct Key: Hashable {
        let device: UInt64
        let inode: UInt64
        let size: UInt64
        let modificationTime: Timestamp
        let changeTime: Timestamp
    }

    private static let countLimit = 200_000

    private let known = Mutex<[Key: Checksums]>([:])

    func checksums(of item: LiveMedia.Item, _ open: () throws(BackupError) -> SharedFile) throws(BackupError) -> Checksums {
        let status = item.status
        let key = Key(
            device: status.device, inode: status.inode, size: status.size, modificationTime: status.modificationTime,
            changeTime: status.changeTime)
        if item.keepsChangeTime, let checksums = known.withLock({ $0[key] }) { return checksums }
        let file = try open()
        let checksums = try SourceChecksums.of(file)
        // The file was written to while it was read: the checksums match no state and are not cached.
        guard try file.status() == status else {
            throw BackupError(.inputOutput, "the file changed while it was read", path: file.path, remedy: "Try again.")
        }
        guard item.keepsChangeTime else { return checksums }
        known.withLock { known in
            if known.count >= Self.countLimit { known.removeAll() }
            known[key] = checksums
        }
        return checksums
    }
}

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

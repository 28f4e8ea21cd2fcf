import BackupCore
import Synchronization

/// Computes every checksum of one file on two threads while the file is being read: MD5 on one, the others on the other.
public final class ContentHashLanes: Sendable {
    private struct Hashers: ~Copyable {
        var sha1 = SHA1Hasher()
        var sha256 = SHA256Hasher()
        var crc32: UInt32 = 0
    }

    // Each is used by only one lane; the locks are never contended.
    private let md5 = Mutex(MD5Hasher())
    private let others = Mutex(Hashers())
    private let md5Lane: SerialLane
    private let otherLane: SerialLane

    public init(_ group: WorkGroup) {
        md5Lane = SerialLane(group)
        otherLane = SerialLane(group)
    }

    /// Submits the file's next bytes.
    public func submit(_ block: BlockPool.Block) {
        md5Lane.submit { [self] () throws(BackupError) in md5.withLock { $0.update(block.bytes) } }
        otherLane.submit { [self] () throws(BackupError) in
            others.withLock { hashers in
                hashers.sha1.update(block.bytes)
                hashers.sha256.update(block.bytes)
                hashers.crc32 = CRC32.update(hashers.crc32, block.bytes)
            }
        }
    }

    /// The checksums of all bytes; call it once, after waiting for the group.
    public func finish() -> Checksums {
        let md5 = md5.withLock { $0.finish() }
        return others.withLock { hashers in
            Checksums(crc32: hashers.crc32, md5: md5, sha1: hashers.sha1.finish(), sha256: hashers.sha256.finish())
        }
    }
}

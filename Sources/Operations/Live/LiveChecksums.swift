import BackupCore
import Synchronization
import SystemIO

/// Caches checksums of live media files for as long as identity, size and times are the same. Does not cache where the file system keeps no change times.
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

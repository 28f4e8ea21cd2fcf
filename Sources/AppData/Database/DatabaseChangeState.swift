import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A fingerprint of a database's files: equal states mean that nothing was committed in between.
///
/// It is made of what each way of committing changes: the file's identity, size and time, the change counter of the header
/// (rollback journals), and size, time and index header of the write-ahead log. Where a file was changed so recently that another
/// change could carry the same time stamp, the state equals no other.
public struct DatabaseChangeState: Sendable, Hashable {
    private struct FileState: Sendable, Hashable {
        let device: UInt64
        let inode: UInt64
        let size: UInt64
        let modificationTime: Timestamp
    }

    /// Time stamps of files advance with the kernel's clock tick, 10 ms at most.
    private static let recentNanoseconds: Int64 = 20_000_000
    private static let nextNonce = Atomic<UInt64>(1)

    private let database: FileState?
    private let header: [UInt8]
    private let log: FileState?
    private let logIndex: [UInt8]
    private let nonce: UInt64

    init(path: String) {
        database = Self.fileState(path)
        header = Self.bytes(of: path, at: 0, count: 100)
        let log = Self.fileState(path + "-wal")
        // An empty log holds no commits, whoever made it.
        self.log = log?.size == 0 ? nil : log
        logIndex = self.log == nil ? [] : Self.bytes(of: path + "-shm", at: 0, count: 48)
        let newest = max(database?.modificationTime ?? Timestamp(seconds: 0), self.log?.modificationTime ?? Timestamp(seconds: 0))
        var clock = timespec()
        // Not SystemClock: the file system's stamps do not follow a clock that a test has set.
        clock_gettime(CLOCK_REALTIME, &clock)
        let now = Timestamp(clock)
        let age = (now.seconds - newest.seconds) * 1_000_000_000 + Int64(now.nanoseconds) - Int64(newest.nanoseconds)
        let isRecent = (0..<Self.recentNanoseconds).contains(age)
        nonce = isRecent ? Self.nextNonce.wrappingAdd(1, ordering: .relaxed).oldValue : 0
    }

    private static func fileState(_ path: String) -> FileState? {
        guard let status = FileSystem.statusIfPresent(path) else { return nil }
        return FileState(
            device: status.device, inode: status.inode, size: status.size, modificationTime: status.modificationTime)
    }

    private static func bytes(of path: String, at offset: UInt64, count: Int) -> [UInt8] {
        guard let descriptor = try? OwnedDescriptor.open(path, O_RDONLY) else { return [] }
        return (try? descriptor.readExactly(at: offset, count: count)) ?? []
    }
}

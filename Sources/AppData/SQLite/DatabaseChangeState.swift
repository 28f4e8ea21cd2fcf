import BackupCore
import Glibc
import Synchronization
import SystemIO

/// A fingerprint of a database's files: equal states mean that there was no commit in between.
///
/// Every commit writes to the database or to its write-ahead log, and so changes a size or a time. If a file was written so
/// recently that the next write could leave the same timestamp, the state equals no other.
///
/// The files are not opened: closing a descriptor would drop the locks that SQLite's connections in this process hold on them
/// (POSIX locks belong to the process, fcntl(2)).
public struct DatabaseChangeState: Sendable, Hashable {
    private struct FileState: Sendable, Hashable {
        let device: UInt64
        let inode: UInt64
        let size: UInt64
        let modificationTime: Timestamp
        let changeTime: Timestamp
    }

    /// File timestamps advance with the kernel's clock tick, at most 10 ms. This tolerates a clock that was set back a little.
    private static let recentNanoseconds: Range<Int64> = -1_000_000_000..<20_000_000
    /// Some file systems count in steps of one or two seconds (FAT; ext4 with small inodes; HFS+; some NFS servers).
    private static let recentCoarseNanoseconds: Range<Int64> = -1_000_000_000..<2_100_000_000
    private static let nextNonce = Atomic<UInt64>(1)

    private let database: FileState?
    private let log: FileState?
    private let nonce: UInt64

    init(path: String) {
        let (database, log, isKnown) = Self.fileStates(path)
        self.database = database
        // An empty log contains no commits, regardless of its creator.
        self.log = log?.size == 0 ? nil : log
        let now = SystemClock.systemTime()
        // Readers create an empty log: it is not counted here either.
        let isRecent = [database, self.log].contains { file in
            guard let time = file?.modificationTime, (-9...9).contains(now.secondsSince(time)) else { return false }
            let age = (now.seconds - time.seconds) * 1_000_000_000 + Int64(now.nanoseconds) - Int64(time.nanoseconds)
            return (time.nanoseconds == 0 ? Self.recentCoarseNanoseconds : Self.recentNanoseconds).contains(age)
        }
        nonce = isRecent || !isKnown ? Self.nextNonce.wrappingAdd(1, ordering: .relaxed).oldValue : 0
    }

    /// The state as text, for comparison with that of another run of the program; `nil` when it equals no other, or there is no
    /// database.
    public var description: String? {
        guard nonce == 0, let database else { return nil }
        func text(_ file: FileState) -> String {
            "\(file.device) \(file.inode) \(file.size) \(file.modificationTime.seconds).\(file.modificationTime.nanoseconds)"
                + " \(file.changeTime.seconds).\(file.changeTime.nanoseconds)"
        }
        return text(database) + (log.map { "; \(text($0))" } ?? "")
    }

    /// - Returns: also whether they are known: a log that cannot be read is not treated as missing.
    private static func fileStates(_ path: String) -> (database: FileState?, log: FileState?, isKnown: Bool) {
        do {
            let path = try DatabaseFile.realPath(path)
            return (try fileState(path), try fileState(path + "-wal"), true)
        } catch {
            return (nil, nil, false)
        }
    }

    private static func fileState(_ path: String) throws(BackupError) -> FileState? {
        guard let status = try FileSystem.look(path) else { return nil }
        return FileState(
            device: status.device, inode: status.inode, size: status.size, modificationTime: status.modificationTime,
            changeTime: status.changeTime)
    }
}

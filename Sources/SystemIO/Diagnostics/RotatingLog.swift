import BackupCore
import CLinux
import Glibc

/// A text file to which several processes append lines concurrently, rotated at a size limit: a log or an event list. No line is
/// torn or lost under concurrent writes; the next line terminates a partial one that a crash left. Appending does not wait until
/// lines are durable.
public struct RotatingLog: Sendable {
    /// A stopped lock holder must not block all other processes.
    private static let lockTimeoutMilliseconds = 1_000

    /// The current file; rotation puts another one in its place.
    public let path: String

    public init(path: String) { self.path = path }

    /// Appends a line and its line feed. When the disk is full, no part of the line stays.
    ///
    /// Writes directly to devices and pipes. Refuses symbolic links: an attacker who can plant one could make us write to a file
    /// of their choice.
    /// - Parameters:
    ///   - limitBytes: the file is rotated before it exceeds this size.
    ///   - rotate: called with the lock held: removes or shortens the file with a rename.
    public func append(
        _ line: [UInt8], limitBytes: UInt64, rotate: (_ path: String) throws(BackupError) -> Void
    ) throws(BackupError) {
        while true {
            let file = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, permissions: 0o600)
            let status = try file.status()
            guard status.kind == .regular else { return try file.writeAll(line + [UInt8(ascii: "\n")]) }
            // A umask may have removed the owner's own bits from a new file; another user's file keeps its mode.
            if status.size == 0, status.linkCount == 1 { _ = fchmod(file.rawValue, 0o600) }
            let isLocked = Self.lock(file)
            // Not left to close(2): a program that another thread is starting has a copy of the descriptor until exec.
            defer { if isLocked { _ = backupfs_unlock(file.rawValue) } }
            let size = try file.status().size
            // Another process has rotated it during the wait: the line belongs in the new file.
            guard Self.isStill(file, at: path) else { continue }
            if isLocked, size > 0, size + UInt64(line.count) + 1 > limitBytes {
                // If rotation fails: a file over the limit is better than a lost line.
                try? rotate(path)
                if !Self.isStill(file, at: path) { continue }
            }
            return try Self.write(line, to: file, size)
        }
    }

    private static func write(_ line: [UInt8], to file: borrowing OwnedDescriptor, _ size: UInt64) throws(BackupError) {
        var bytes = line + [UInt8(ascii: "\n")]
        if size > 0, try file.readExactly(at: size - 1, count: 1) != [UInt8(ascii: "\n")] {
            bytes.insert(UInt8(ascii: "\n"), at: 0)
        }
        do {
            // In one call: without the lock, this is what keeps lines whole.
            try file.writeAll(bytes)
        } catch {
            try? file.truncate(to: size)
            throw error
        }
    }

    private static func lock(_ file: borrowing OwnedDescriptor) -> Bool {
        for _ in 0..<lockTimeoutMilliseconds {
            if SystemCall.retrying({ backupfs_lock(file.rawValue, 1) }) == 0 { return true }
            guard errno == EAGAIN || errno == EACCES else { return false }
            usleep(1_000)
        }
        return false
    }

    private static func isStill(_ file: borrowing OwnedDescriptor, at path: String) -> Bool {
        guard let own = try? file.status(), let now = try? FileSystem.status(path) else { return false }
        return own.device == now.device && own.inode == now.inode
    }
}

extension RotatingLog {
    /// Appends a line; a file that would exceed the limit becomes `PATH.1`, `PATH.1` becomes `PATH.2` and so on.
    /// - Parameter oldFileCount: the number of old files to keep.
    public func append(_ line: [UInt8], limitBytes: UInt64, oldFileCount: Int) throws(BackupError) {
        try append(line, limitBytes: limitBytes) { (path) throws(BackupError) in
            guard oldFileCount > 0 else { return try FileSystem.removeFile(path) }
            for number in stride(from: oldFileCount, to: 1, by: -1) {
                guard try FileSystem.exists("\(path).\(number - 1)") else { continue }
                try FileSystem.rename("\(path).\(number - 1)", to: "\(path).\(number)")
            }
            try FileSystem.rename(path, to: "\(path).1")
        }
    }
}

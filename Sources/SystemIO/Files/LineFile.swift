import BackupCore
import CLinux
import Glibc

/// A text file to which several processes append lines at once, and which gets a new beginning when it has grown enough: a log, or a list of what
/// happened. No line is torn or lost, whoever writes meanwhile; what a crash left of a line is closed off by the next one. Lines are not waited for
/// until they are durable.
public struct LineFile: Sendable {
    /// Somebody who has been stopped in the midst of it must not stop everybody else.
    private static let lockTimeoutMilliseconds = 1_000

    public let path: String

    public init(path: String) { self.path = path }

    /// Appends a line and its line feed. Of a full disk nothing is left of it.
    ///
    /// Devices and pipes are written to as they are. Symbolic links are refused: whoever can plant one would have us write to a file of his choice.
    /// - Parameters:
    ///   - limitBytes: before the file becomes larger it is begun anew.
    ///   - startAnew: with the lock held: takes the file of that size away or shortens it, by a rename.
    public func append(
        _ line: [UInt8], limitBytes: UInt64, startAnew: (_ path: String) throws(BackupError) -> Void
    ) throws(BackupError) {
        while true {
            let file = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, permissions: 0o600)
            let status = try file.status()
            guard status.kind == .regular else { return try file.writeAll(line + [UInt8(ascii: "\n")]) }
            // A umask may have taken the owner's own bits from a new file; one that belongs to somebody else stays as it is.
            if status.size == 0, status.linkCount == 1 { _ = fchmod(file.rawValue, 0o600) }
            let isLocked = Self.lock(file)
            // Not left to close(2): a program that another thread is just starting has a copy of the descriptor until it runs.
            defer { if isLocked { _ = backupfs_unlock(file.rawValue) } }
            let size = try file.status().size
            // Somebody has begun it anew while this one waited: the line belongs into the new one.
            guard Self.isStill(file, at: path) else { continue }
            if isLocked, size > 0, size + UInt64(line.count) + 1 > limitBytes {
                // Where it cannot be begun anew: better a file that is too large than a line less.
                try? startAnew(path)
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
            // In one call: without the lock it is that which keeps lines whole.
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

extension LineFile {
    /// Appends a line; a file that would grow beyond the limit becomes `PATH.1`, that one `PATH.2` and so on.
    /// - Parameter oldFileCount: how many of them stay.
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

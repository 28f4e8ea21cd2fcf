import BackupCore
import CLinux
import Glibc

/// Both ends of a pipe(2); child processes inherit neither.
public struct Pipe: ~Copyable, Sendable {
    public let reader: OwnedDescriptor
    public let writer: OwnedDescriptor

    public init() throws(BackupError) {
        var ends: (Int32, Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) { backupfs_pipe($0.baseAddress?.assumingMemoryBound(to: Int32.self)) }
        guard result == 0 else { throw SystemCall.error(errno, action: "make a pipe", path: "pipe") }
        reader = OwnedDescriptor(owning: ends.0, path: "pipe")
        writer = OwnedDescriptor(owning: ends.1, path: "pipe")
    }

    /// Closes the writing end: the reader sees the end when all copies of it are closed.
    public consuming func takeReader() -> OwnedDescriptor { reader }

    /// Closes the reading end.
    public consuming func takeWriter() -> OwnedDescriptor { writer }
}

extension OwnedDescriptor {
    /// A second descriptor of the same open file, numbered `lowest` or higher, for passing to child processes.
    public static func duplicate(
        _ descriptor: borrowing OwnedDescriptor, from lowest: Int32
    ) throws(BackupError) -> OwnedDescriptor {
        let number = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, lowest)
        guard number >= 0 else { throw SystemCall.error(errno, action: "duplicate a descriptor", path: descriptor.path) }
        return OwnedDescriptor(owning: number, path: descriptor.path)
    }
}

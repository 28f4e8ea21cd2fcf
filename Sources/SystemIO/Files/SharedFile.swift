import BackupCore
import CLinux
import Glibc

/// Supplies the bytes of a sparse file that lie elsewhere, before they are read from it.
public protocol FileFiller: Sendable {
    /// Returns when all bytes of the range, as far as the file goes, are in the file.
    func fill(_ range: Range<UInt64>) throws(BackupError)

    /// Begins to fill the range in the background; returns immediately, and reports no errors.
    func expect(_ range: Range<UInt64>)
}

/// A file open for reading by several threads concurrently; releasing the last reference closes it.
public final class SharedFile: ByteSource {
    private let descriptor: OwnedDescriptor
    /// `nil` for a file that has all its bytes.
    private let filler: (any FileFiller)?
    /// As named in errors.
    public var path: String { descriptor.path }
    /// Size in bytes when it was opened.
    public let size: UInt64

    /// - Throws: `notFound`, `accessDenied`, `notSupported` for anything but a file, …
    public convenience init(path: String) throws(BackupError) { try self.init(OwnedDescriptor.openFile(path)) }

    /// Shares a file that is open already.
    /// - Parameter filler: for a file whose bytes may not be in it yet. Only `read` and `readExactly` use it.
    public init(_ descriptor: consuming OwnedDescriptor, filler: (any FileFiller)? = nil) throws(BackupError) {
        size = try descriptor.status().size
        self.descriptor = descriptor
        self.filler = filler
    }

    /// Lends the open file to `body`. Reads by offset do not depend on the descriptor's position.
    public func withDescriptor<Result>(
        _ body: (borrowing OwnedDescriptor) throws(BackupError) -> Result
    ) throws(BackupError) -> Result { try body(descriptor) }

    /// For calls that take a descriptor, as long as this file lives.
    public var rawDescriptor: Int32 { descriptor.rawValue }

    /// Of the open file, also after another one has taken its place.
    public func status() throws(BackupError) -> FileStatus { try descriptor.status() }

    /// - Throws: also `interrupted`, in a thread whose operation was cancelled.
    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try Cancellation.check()
        if let filler { try filler.fill(range(offset, buffer.count)) }
        return try descriptor.readFully(at: offset, into: buffer)
    }

    /// A range within the file.
    private func range(_ offset: UInt64, _ count: Int) -> Range<UInt64> {
        let start = min(offset, size)
        return start..<start + min(UInt64(count), size - start)
    }

    /// Writes all bytes, if the file was also opened for writing.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BackupError) {
        try descriptor.writeAll(bytes, at: offset)
    }

    /// Writes dirty pages to the disk (sync_file_range(2)). After that, a store through mmap(2) changes the file's times; a store
    /// into a page that is already dirty does not.
    /// - Returns: whether it succeeded. On tmpfs, which has no disk, it has no effect.
    public func writeBack() -> Bool { SystemCall.retrying { backupfs_write_back(descriptor.rawValue) } == 0 }

    /// Starts to write dirty pages to the disk, without waiting for that (sync_file_range(2)): the kernel stops all writers once
    /// too much of the memory is dirty. Nothing is made durable. Errors are ignored.
    public func startWritingBack() { _ = backupfs_start_write_back(descriptor.rawValue) }

    /// fsync(2).
    public func synchronize() throws(BackupError) { try descriptor.synchronize() }

    /// Hints that this part will be read soon (posix_fadvise(2)); returns immediately.
    public func expectReading(at offset: UInt64, count: UInt64) {
        if let filler { return filler.expect(range(offset, Int(clamping: count))) }
        posix_fadvise(descriptor.rawValue, off_t(clamping: offset), off_t(clamping: count), POSIX_FADV_WILLNEED)
    }

    /// Reads exactly `count` bytes.
    /// - Throws: `damagedContent` when the file is shorter.
    public func readExactly(at offset: UInt64, count: Int) throws(BackupError) -> [UInt8] {
        if let filler { try filler.fill(range(offset, count)) }
        return try descriptor.readExactly(at: offset, count: count)
    }
}

extension SharedFile {
    /// SHA-256 of the whole file, read once.
    /// - Parameter visit: called with the bytes as well, part by part.
    public func sha256(visiting visit: (UnsafeRawBufferPointer) -> Void = { _ in }) throws(BackupError) -> SHA256Digest {
        var hasher = SHA256Hasher()
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: UInt64 = 0
        while true {
            let count = try buffer.withUnsafeMutableBytesThrowing { (bytes) throws(BackupError) in
                try read(at: offset, into: bytes)
            }
            if count == 0 { return hasher.finish() }
            buffer.withUnsafeBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                hasher.update(part)
                visit(part)
            }
            offset += UInt64(count)
        }
    }
}

extension ByteSource {
    /// Fills a buffer with as many reads as needed.
    /// - Returns: bytes read: fewer than the buffer holds only at the end.
    public func readFully(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try read(at: offset + UInt64(filled), into: rest)
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }

    /// - Parameter count: the result is shorter only at the end.
    public func bytes(at offset: UInt64, upTo count: Int) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try readFully(at: offset, into: buffer)
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Appends the first bytes to a file.
    /// - Parameter name: names the source in an error.
    /// - Throws: `inputOutput` when there are fewer.
    public func copy(_ count: UInt64, to target: borrowing OwnedDescriptor, named name: String) throws(BackupError) {
        var offset: UInt64 = 0
        while offset < count {
            let part = try bytes(at: offset, upTo: Int(min(1 << 20, count - offset)))
            guard !part.isEmpty else { throw BackupError(.inputOutput, "the file became shorter while it was read", path: name) }
            try part.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try target.writeAll(buffer) }
            offset += UInt64(part.count)
        }
    }
}

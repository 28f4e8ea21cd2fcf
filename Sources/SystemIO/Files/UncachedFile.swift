import BackupCore
import CLinux
import Glibc

/// A file that is read from its storage instead of the page cache, to see what was stored and not what was sent there.
///
/// The caller makes the file durable first: pages that are not yet written stay in the cache.
public final class UncachedFile: Sendable {
    /// What the reads prove.
    public enum Method: String, Sendable {
        /// The reads bypassed the page cache (`O_DIRECT`).
        case direct
        /// The page cache was asked to drop the file before the reads; the kernel need not have done so.
        case dropped
    }

    /// Offsets, lengths and buffers of direct reads are multiples of this: no device has larger blocks.
    public static let alignmentBytes = 4096

    /// A number of bytes, rounded up to what a direct read takes.
    public static func alignedCount(_ count: Int) -> Int {
        (count + alignmentBytes - 1) / alignmentBytes * alignmentBytes
    }

    private let descriptor: OwnedDescriptor
    /// How this file is read.
    public let method: Method
    /// As of the time when it was opened.
    public let status: FileStatus

    /// Opens the regular file `name`, which must not be a link.
    /// - Throws: `notSupported` for anything but a file.
    public init(_ name: FileName, in folder: DirectoryHandle) throws(BackupError) {
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
        var first: OwnedDescriptor?
        do throws(BackupError) {
            first = try folder.open(name, flags | backupfs_direct_flag())
        } catch {
            // EINVAL: the file system has no direct reads. Other errors come again.
            first = nil
        }
        if let direct = first.take(), Self.readsDirectly(direct) {
            try direct.requireFile()
            status = try direct.status()
            descriptor = direct
            method = .direct
        } else {
            let file = try folder.open(name, flags)
            try file.requireFile()
            _ = backupfs_drop_cached_pages(file.rawValue)
            status = try file.status()
            descriptor = file
            method = .dropped
        }
    }

    /// Some file systems accept the flag and then refuse the reads.
    private static func readsDirectly(_ file: borrowing OwnedDescriptor) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: alignmentBytes, alignment: alignmentBytes) { buffer in
            SystemCall.retrying { pread(file.rawValue, buffer.baseAddress, buffer.count, 0) } >= 0
        }
    }

    /// Reads until the buffer is full or the file ends.
    /// - Parameters:
    ///   - offset: a multiple of `alignmentBytes`.
    ///   - buffer: aligned to `alignmentBytes`, and a multiple of it long.
    /// - Returns: the number of bytes; less than the buffer only at the end of the file.
    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var count = 0
        while count < buffer.count {
            let position = off_t(offset) + off_t(count)
            let read = try SystemCall.check("read", descriptor.path) {
                pread(descriptor.rawValue, base + count, buffer.count - count, position)
            }
            count += read
            // A direct read ends between two blocks only at the end of the file, and could not continue there.
            if read == 0 || !count.isMultiple(of: Self.alignmentBytes) { break }
        }
        return count
    }
}

extension Int32 {
    /// Whether flags of open(2) request reads that bypass the page cache (`O_DIRECT`).
    public var asksForDirectReads: Bool { self & backupfs_direct_flag() != 0 }
}

import BackupCore
import CLinux
import Glibc

/// Reads many small files from their storage at once, past the page cache: the storage works at all of them together, and no
/// read waits for the one before it. For one thread.
public final class UncachedReads {
    /// A file, and how many bytes it must have.
    public struct Request {
        let name: FileName
        let folder: DirectoryHandle
        let size: UInt64

        /// - Parameter size: at most `fileLimitBytes`.
        public init(_ name: FileName, in folder: DirectoryHandle, size: UInt64) {
            self.name = name
            self.folder = folder
            self.size = size
        }
    }

    /// A file that was read whole.
    public struct Found {
        /// Before the read.
        public let status: FileStatus
        /// Valid until the next call.
        public let bytes: UnsafeRawBufferPointer
    }

    /// A file that the kernel reads into a part of the memory.
    private final class Part {
        let descriptor: OwnedDescriptor
        let status: FileStatus
        let memory: UnsafeMutableRawBufferPointer

        init(_ descriptor: consuming OwnedDescriptor, _ status: FileStatus, _ memory: UnsafeMutableRawBufferPointer) {
            self.descriptor = descriptor
            self.status = status
            self.memory = memory
        }
    }

    /// Larger files are read alone.
    public static let fileLimitBytes: UInt64 = 64 << 10
    /// In one call.
    public static let fileCountLimit = ReadQueue.limit

    private static let byteCount = 1 << 20

    private let queue: ReadQueue
    private let memory: UnsafeMutableRawBufferPointer

    /// - Returns: `nil` where the kernel has no such reads, or no room for more of them.
    public convenience init?() {
        guard let queue = ReadQueue() else { return nil }
        self.init(queue)
    }

    init(_ queue: ReadQueue) {
        self.queue = queue
        memory = .allocate(byteCount: Self.byteCount, alignment: UncachedFile.alignmentBytes)
    }

    // No read runs between two calls.
    deinit { memory.deallocate() }

    /// Reads files by direct reads (`O_DIRECT`), as many of the first ones as there is room for, and at least one.
    /// - Parameter requests: not empty.
    /// - Returns: for each of these files what was read, in their order; `nil` for one that could not be read this way, or is
    ///   not a file of the wanted size: `UncachedFile` says why.
    public func read(_ requests: ArraySlice<Request>) -> [Found?] {
        var parts: [Part?] = []
        var used = 0
        for request in requests.prefix(Self.fileCountLimit) {
            // A whole number of blocks; one more byte would show that the file has grown.
            let length = UncachedFile.alignedCount(Int(min(request.size, Self.fileLimitBytes)))
            guard used + length <= memory.count else { break }
            parts.append(open(request, UnsafeMutableRawBufferPointer(rebasing: memory[used..<(used + length)])))
            used += length
        }
        let reads = parts.map { $0.map { ReadQueue.Read($0.descriptor, into: $0.memory, owner: nil) } }
        queue.begin(reads.compactMap(\.self))
        // All of them: the kernel writes into the memory until they have ended.
        let counts = reads.map { $0.flatMap { queue.wait(for: $0) } }
        return zip(parts, counts).map { part, count in
            // Also the read of an empty file can fail.
            guard let part, let count, UInt64(count) == part.status.size else { return nil }
            return Found(status: part.status, bytes: UnsafeRawBufferPointer(rebasing: part.memory[..<count]))
        }
    }

    private func open(_ request: Request, _ memory: UnsafeMutableRawBufferPointer) -> Part? {
        let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | backupfs_direct_flag()
        guard let file = try? request.folder.open(request.name, flags), let status = try? file.status(),
            status.kind == .regular, status.size == request.size, status.size <= Self.fileLimitBytes
        else { return nil }
        return Part(file, status, memory)
    }
}

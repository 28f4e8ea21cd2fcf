import BackupCore
import CLinux
import Glibc

/// An open file that is closed when its owner releases it.
///
/// Offsets and lengths are bytes. Every call names `path` in its error.
public struct OwnedDescriptor: ~Copyable, Sendable {
    public let rawValue: Int32
    private let base: String
    /// Of an entry of the folder `base`. Only a message makes a path of the two: there are many small files.
    private let name: FileName?
    /// The path it was opened with; for messages only.
    public var path: String {
        if let name { "\(base)/\(name)" } else { base }
    }

    /// Takes ownership of an open descriptor.
    public init(owning rawValue: Int32, path: String) {
        self.rawValue = rawValue
        base = path
        name = nil
    }

    /// The same for an entry of a folder.
    init(owning rawValue: Int32, _ name: FileName, in folder: String) {
        self.rawValue = rawValue
        base = folder
        self.name = name
    }

    /// open(2) with `O_CLOEXEC`.
    /// - Parameter permissions: the mode of a file that is created; the umask does not widen it.
    public static func open(
        _ path: String, _ flags: Int32, permissions: mode_t = 0o600
    ) throws(BackupError) -> OwnedDescriptor {
        let number = try opening(path, flags) { () throws(BackupError) in
            try SystemCall.check("open the file", path) {
                flags & O_CREAT == 0
                    ? Glibc.open(path, flags | O_CLOEXEC) : NewFileOwner.create(path, flags | O_CLOEXEC, permissions)
            }
        }
        return OwnedDescriptor(owning: number, path: path)
    }

    /// Opens only a regular file, for reading: opening a pipe would block until a writer comes, and opening a device may have any
    /// effect. Follows links.
    /// - Throws: `notSupported` for anything but a file; `isADirectory`, `notFound` and so on.
    public static func openFile(_ path: String) throws(BackupError) -> OwnedDescriptor {
        let file = try waitingForLease { () throws(BackupError) in try open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY) }
        try file.requireFile()
        return file
    }

    /// - Throws: `notSupported` for a pipe, a socket or a device; `isADirectory`.
    borrowing func requireFile() throws(BackupError) {
        switch try status().kind {
        case .regular: return
        case .directory: throw SystemCall.error(EISDIR, action: "open the file", path: path)
        default: throw BackupError(.notSupported, "is neither a file nor a folder nor a link", path: path)
        }
    }

    /// With `O_NONBLOCK`, open(2) also does not wait for a file on which a file server has a lease (fcntl(2)). The first attempt
    /// breaks the lease, and the server must release it within a time limit (`/proc/sys/fs/lease-break-time`, usually 45 s).
    static func waitingForLease<Result: ~Copyable>(
        _ open: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let end = SystemClock.monotonicNanoseconds() + leaseNanoseconds
        while true {
            do throws(BackupError) {
                return try open()
            } catch {
                guard error.code == .busy, SystemClock.monotonicNanoseconds() < end else { throw error }
                try Cancellation.check()
                usleep(leasePauseMicroseconds)
            }
        }
    }

    private static let leaseNanoseconds: UInt64 = 60_000_000_000
    private static let leasePauseMicroseconds: UInt32 = 10_000

    /// Opens with `body`; observers see an open that may change something.
    static func opening(
        _ path: @autoclosure () -> String, _ flags: Int32, _ body: () throws(BackupError) -> Int32
    ) throws(BackupError) -> Int32 {
        if flags & (O_CREAT | O_TRUNC) == 0 { return try body() }
        return try FileObservation.perform(.open(path: path(), truncates: flags & O_TRUNC != 0), body)
    }

    deinit { _ = Glibc.close(rawValue) }

    /// Reads until `buffer` is full or the file ends.
    /// - Returns: the number of bytes read; less than `buffer.count` only at the end of the file.
    public borrowing func readFully(
        at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) -> Int {
        // No file has bytes there, even if a damaged structure says so.
        guard let base = buffer.baseAddress, offset <= UInt64(off_t.max) - UInt64(buffer.count) else { return 0 }
        var count = 0
        while count < buffer.count {
            let position = off_t(offset) + off_t(count)
            let read = try SystemCall.check("read", path) {
                pread(rawValue, base + count, buffer.count - count, position)
            }
            if read == 0 { break }
            count += read
        }
        return count
    }

    /// Reads exactly `count` bytes.
    /// - Throws: `damagedContent` when the file is shorter.
    public borrowing func readExactly(at offset: UInt64, count: Int) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try readFully(at: offset, into: buffer)
        }
        guard filled == count else {
            throw BackupError(.damagedContent, "the file ends before byte \(offset.addingSaturating(UInt64(count)))", path: path)
        }
        return bytes
    }

    /// Reads a pipe, or a file that the kernel generates on read, to its end.
    /// - Parameter limitBytes: bytes beyond this limit are read and discarded.
    public borrowing func readToEnd(limitBytes: Int = .max) throws(BackupError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try SystemCall.check("read", path) { read(rawValue, &buffer, buffer.count) }
            if count == 0 { return bytes }
            bytes += buffer[..<count].prefix(limitBytes - bytes.count)
        }
    }

    /// Writes all bytes at the descriptor's current position.
    public borrowing func writeAll(_ buffer: UnsafeRawBufferPointer) throws(BackupError) {
        guard let base = buffer.baseAddress else { return }
        try FileObservation.perform(
            .write(path: path, offset: UInt64(max(0, lseek(rawValue, 0, SEEK_CUR))), bytes: Array(buffer))
        ) { () throws(BackupError) in
            var count = 0
            while count < buffer.count {
                count += try SystemCall.check("write", path) { write(rawValue, base + count, buffer.count - count) }
            }
        }
    }

    /// Repeats partial writes. After an error a part of the bytes may be in the file.
    public borrowing func writeAll(_ bytes: [UInt8]) throws(BackupError) {
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try writeAll(buffer) }
    }

    /// Writes all bytes at `offset` without moving the descriptor's position.
    public borrowing func writeAll(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(BackupError) {
        guard let base = buffer.baseAddress else { return }
        guard offset <= UInt64(off_t.max) - UInt64(buffer.count) else {
            throw SystemCall.error(EFBIG, action: "write", path: path)
        }
        try FileObservation.perform(.write(path: path, offset: offset, bytes: Array(buffer))) { () throws(BackupError) in
            var count = 0
            while count < buffer.count {
                let position = off_t(offset) + off_t(count)
                count += try SystemCall.check("write", path) { pwrite(rawValue, base + count, buffer.count - count, position) }
            }
        }
    }

    /// ftruncate(2): shortens the file, or lengthens it with a hole.
    public borrowing func truncate(to size: UInt64) throws(BackupError) {
        guard size <= UInt64(off_t.max) else { throw SystemCall.error(EFBIG, action: "change the size", path: path) }
        try FileObservation.perform(.truncate(path: path, size: size)) { () throws(BackupError) in
            try SystemCall.check("change the size", path) { ftruncate(rawValue, off_t(size)) }
        }
    }

    /// fsync(2): afterwards the bytes and the size survive a power cut, but not yet the name in its folder.
    public borrowing func synchronize() throws(BackupError) {
        try FileObservation.perform(.synchronize(path: path)) { () throws(BackupError) in
            try SystemCall.check("make durable", path) { fsync(rawValue) }
        }
    }

    /// fsync(2) of a folder, if its file system supports it.
    public borrowing func synchronizeFolder() throws(BackupError) {
        try FileObservation.perform(.synchronize(path: path)) { () throws(BackupError) in
            guard SystemCall.retrying({ fsync(rawValue) }) == -1, errno != EINVAL, errno != ENOTSUP else { return }
            throw SystemCall.error(errno, action: "make durable", path: path)
        }
    }

    /// fstat(2).
    public borrowing func status() throws(BackupError) -> FileStatus {
        var value = stat()
        try SystemCall.check("read the attributes", path) { fstat(rawValue, &value) }
        return FileStatus(value)
    }

    /// Space on the file system of this file.
    public borrowing func space() throws(BackupError) -> FileSystemSpace {
        var value = statvfs()
        try SystemCall.check("read the free space", path) { fstatvfs(rawValue, &value) }
        return FileSystemSpace(value)
    }

    /// syncfs(2): makes all files of this file's file system survive a power cut. For many files it is one wait instead of many.
    public borrowing func synchronizeFileSystem() throws(BackupError) {
        try FileObservation.perform(.synchronizeFileSystem(path: path)) { () throws(BackupError) in
            try SystemCall.check("make durable", path) { backupfs_sync_filesystem(rawValue) }
        }
    }

    /// posix_fadvise(2): lets the kernel read the file into its cache already. It need not do so.
    public borrowing func announceReading() { backupfs_read_ahead(rawValue) }

    /// Whether reads bypass the page cache from now on (`O_DIRECT`).
    /// - Returns: false when the file system has no direct reads.
    public borrowing func setDirect(_ isDirect: Bool) -> Bool { backupfs_set_direct(rawValue, isDirect ? 1 : 0) == 0 }

    /// Reads the beginning of the file as far as the page cache has it, without waiting for its storage (preadv2(2) with
    /// `RWF_NOWAIT`).
    /// - Returns: the number of bytes; 0 also when the kernel or the file system has no such reads.
    public borrowing func readCached(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        max(0, SystemCall.retrying { backupfs_read_cached(rawValue, buffer.baseAddress, UInt(buffer.count)) })
    }

    /// Whether `synchronizeFileSystem` reports errors and reaches the disk: not before Linux 5.8, and not on FUSE.
    public borrowing func hasReliableFileSystemSync() -> Bool { backupfs_syncfs_is_reliable(rawValue) == 1 }

    /// futimens(3).
    public borrowing func setModificationTime(_ time: Timestamp) throws(BackupError) {
        let value = timespec(tv_sec: time_t(time.seconds), tv_nsec: Int(time.nanoseconds))
        let times = [value, value]
        try SystemCall.check("set the time", path) { futimens(rawValue, times) }
    }

    /// fchmod(2): exactly these permission bits, regardless of the umask.
    public borrowing func setPermissions(_ permissions: mode_t) throws(BackupError) {
        try SystemCall.check("set the mode", path) { fchmod(rawValue, permissions) }
    }

    /// fchown(2). It clears set-user-ID and capabilities: set the mode and the attributes after it.
    public borrowing func setOwner(_ owner: FileOwner) throws(BackupError) {
        try SystemCall.check("set the owner", path) { fchown(rawValue, owner.user, owner.group) }
    }

    /// fchown(2) of the group alone.
    /// - Returns: false when it is refused, as for a group that the user is not in.
    public borrowing func giveToGroup(_ group: UInt32) -> Bool { fchown(rawValue, uid_t.max, group) == 0 }

    /// Sets extended attributes, also when the file's mode forbids its owner to write.
    /// - Returns: the first error; `nil` when all are set.
    public borrowing func setExtendedAttributes(_ attributes: [ExtendedAttribute], permissions: mode_t) -> BackupError? {
        let path = path
        return FileAttributes.set(attributes, of: rawValue, permissions: permissions, path: path)
    }

    /// The attributes that backups keep.
    /// - Throws: `tooLarge` when they exceed the limit.
    public borrowing func extendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
        let path = path
        return try FileAttributes.read(rawValue, path: path)
    }

    /// One attribute, fgetxattr(2).
    /// - Returns: `nil` when there is no such attribute, or the file system has none.
    /// - Throws: errors of making up the value, on a file system that does; a value of more than `limitBytes`.
    public borrowing func extendedAttribute(_ name: String, limitBytes: Int = 4_096) throws(BackupError) -> [UInt8]? {
        var value = [UInt8](repeating: 0, count: limitBytes)
        let number = rawValue
        let count = value.withUnsafeMutableBytes { buffer in
            SystemCall.retrying { backupfs_fgetxattr(number, name, buffer.baseAddress, UInt(buffer.count)) }
        }
        guard count < 0 else { return Array(value[..<count]) }
        let failure = errno
        if failure == ENODATA || failure == ENOTSUP { return nil }
        throw SystemCall.error(failure, action: "read the attribute \(name)", path: path)
    }

    /// The number of bytes in holes (lseek(2), `SEEK_HOLE`); 0 where the file system does not report them. Moves the descriptor's
    /// position.
    public borrowing func holeBytes(size: UInt64) -> UInt64 { FileHoles.byteCount(rawValue, size: size) }

    /// The first run of data at or after `start`, up to the hole after it (lseek(2), `SEEK_DATA`). Moves the descriptor's
    /// position.
    /// - Returns: all of the rest where the file system does not report holes; `nil` when only a hole follows.
    public borrowing func data(from start: UInt64, size: UInt64) -> Range<UInt64>? {
        FileHoles.data(rawValue, from: start, size: size)
    }

    /// Writes at `offset` and leaves holes for blocks of zeros.
    public borrowing func writeSparsely(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(BackupError) {
        for range in FileHoles.data(in: buffer, at: offset) {
            try writeAll(UnsafeRawBufferPointer(rebasing: buffer[range]), at: offset + UInt64(range.lowerBound))
        }
    }
}

/// Holes of sparse files: runs of zeros that take no space on the disk.
enum FileHoles {
    /// Most file systems allocate space in blocks of this length.
    private static let blockByteCount = 4096
    // `SEEK_DATA` and `SEEK_HOLE`, which Swift's libc module lacks.
    private static let seekData: Int32 = 3
    private static let seekHole: Int32 = 4

    /// - Returns: the first run of data at or after `start`; all of the rest where the file system does not report holes; `nil`
    ///   when only a hole follows.
    static func data(_ descriptor: Int32, from start: UInt64, size: UInt64) -> Range<UInt64>? {
        guard start < size else { return nil }
        let data = lseek(descriptor, off_t(clamping: start), seekData)
        if data < 0 { return errno == ENXIO ? nil : start..<size }
        let begin = UInt64(data)
        guard begin >= start, begin < size else { return nil }
        let hole = lseek(descriptor, data, seekHole)
        return begin..<(hole > data ? min(UInt64(hole), size) : size)
    }

    static func byteCount(_ descriptor: Int32, size: UInt64) -> UInt64 {
        let end = off_t(clamping: size)
        var position: off_t = 0
        var count: UInt64 = 0
        while position < end {
            let hole = lseek(descriptor, position, seekHole)
            guard hole >= 0, hole < end else { break }
            let data = lseek(descriptor, hole, seekData)
            // Only a hole up to the end.
            guard data > hole else { return errno == ENXIO || data >= 0 ? count + UInt64(end - hole) : count }
            count += UInt64(min(data, end) - hole)
            position = data
        }
        return count
    }

    /// The parts of `buffer` to write: everything except whole blocks of zeros.
    /// - Parameter offset: its position in the file: a hole begins and ends at multiples of the block length.
    static func data(in buffer: UnsafeRawBufferPointer, at offset: UInt64) -> [Range<Int>] {
        guard let base = buffer.baseAddress else { return [] }
        var parts: [Range<Int>] = []
        var start = 0
        while start < buffer.count {
            let inBlock = Int((offset + UInt64(start)) % UInt64(blockByteCount))
            let end = min(buffer.count, start + blockByteCount - inBlock)
            // The first byte is zero, and each byte equals the one before it.
            let isZero =
                end - start == blockByteCount && buffer[start] == 0
                && memcmp(base + start, base + start + 1, blockByteCount - 1) == 0
            if !isZero {
                if let last = parts.last, last.upperBound == start {
                    parts[parts.count - 1] = last.lowerBound..<end
                } else {
                    parts.append(start..<end)
                }
            }
            start = end
        }
        return parts
    }
}

/// Both ends of a pipe(2); child processes inherit neither.
public struct Pipe: ~Copyable, Sendable {
    /// The end to read from: at its end when all writers are closed.
    public let reader: OwnedDescriptor
    /// The end to write to.
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

/// The number of files that a process may have open.
public enum DescriptorLimit {
    /// Raises the limit to the system's maximum: 1,024 is for programs that use select(2). A tree of folders, or many programs
    /// that read `live/`, need more. On failure the limit stays.
    public static func raise() { _ = backupfs_raise_descriptor_limit() }
}

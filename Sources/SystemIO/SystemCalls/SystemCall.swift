import BackupCore
import CLinux
import Glibc

/// The only place that turns an errno of the operating system into a typed error.
public enum SystemCall {
    /// Retries the call while a signal interrupts it.
    /// - Parameter call: returns -1 and sets errno when it fails, as system calls do.
    @discardableResult
    public static func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
        while true {
            let result = call()
            if result == -1, errno == EINTR { continue }
            return result
        }
    }

    /// - Parameters:
    ///   - action: the attempted action, "open" or "write"; like the path, only evaluated when the call fails.
    /// - Returns: the call's result.
    /// - Throws: a `BackupError` from errno, with the path and the action
    @discardableResult
    static func check<Result: SignedInteger>(
        _ action: @autoclosure () -> Message, _ path: @autoclosure () -> String, _ call: () -> Result
    ) throws(BackupError) -> Result {
        let result = retrying(call)
        if result == -1 {
            // Saved before the path is evaluated, which may change it.
            let number = errno
            throw error(number, action: action(), path: path())
        }
        return result
    }

    /// Maps an errno to an error; `inputOutput` for every errno without its own code.
    public static func error(_ number: Int32, action: Message, path: String) -> BackupError {
        let code: BackupError.Code
        var remedy: Message?
        switch number {
        case ENOENT: code = .notFound
        case EEXIST: code = .alreadyExists
        case EACCES:
            code = .accessDenied
            remedy = "Check the owner and the mode of the file and of the folders above it."
        case EPERM: code = .notPermitted
        case EROFS: code = .readOnly
        case ENOSPC, EDQUOT:
            code = .noSpace
            remedy = SpaceShortage.remedy(at: path)
        case EMFILE, ENFILE, ENOMEM:
            code = .noResources
            remedy = "Close programs, or raise the limit (ulimit -n), and try again."
        case EFBIG: code = .tooLarge
        case EBUSY, ETXTBSY, EAGAIN: code = .busy
        case ENOTDIR: code = .notADirectory
        case EISDIR: code = .isADirectory
        case ENOTEMPTY: code = .notEmpty
        case ENAMETOOLONG: code = .nameTooLong
        case ENODATA: code = .noAttribute
        case ENOTSUP, ENOSYS: code = .notSupported
        case EXDEV: code = .crossDevice
        case EBADF: code = .badHandle
        case ENOTCONN, ENODEV, ENXIO, ESTALE, EHOSTDOWN, ETIMEDOUT:
            code = .inputOutput
            remedy = "Its file system has gone. Check whether its disk or its server can be reached, and mount it again."
        default: code = .inputOutput
        }
        return BackupError(
            code, "could not \(action): \(reason(number))", path: path, remedy: remedy,
            cause: .system(action: action, number: number))
    }

    /// The name of an errno, such as `ENOENT`.
    public static func name(_ number: Int32) -> String {
        strerrorname_np(number).map { String(cString: $0) } ?? "errno \(number)"
    }

    /// The C library's messages. The library translates them by its own locale, which this program does not set.
    public static func reason(_ number: Int32) -> Message {
        switch number {
        case EPERM: "Operation not permitted"
        case ENOENT: "No such file or directory"
        case EIO: "Input/output error"
        case EAGAIN: "Resource temporarily unavailable"
        case ENOMEM: "Cannot allocate memory"
        case EACCES: "Permission denied"
        case EBUSY: "Device or resource busy"
        case EEXIST: "File exists"
        case EXDEV: "Invalid cross-device link"
        case ENODEV: "No such device"
        case ENOTDIR: "Not a directory"
        case EISDIR: "Is a directory"
        case EINVAL: "Invalid argument"
        case ENFILE: "Too many open files in system"
        case EMFILE: "Too many open files"
        case ETXTBSY: "Text file busy"
        case EFBIG: "File too large"
        case ENOSPC: "No space left on device"
        case EROFS: "Read-only file system"
        case ENAMETOOLONG: "File name too long"
        case ENOSYS: "Function not implemented"
        case ENOTEMPTY: "Directory not empty"
        case ELOOP: "Too many levels of symbolic links"
        case ENODATA: "No data available"
        case ENOTSUP: "Operation not supported"
        case ENOTCONN: "Transport endpoint is not connected"
        case ESTALE: "Stale file handle"
        case EDQUOT: "Disk quota exceeded"
        default: .verbatim(String(cString: strerror(number)))
        }
    }
}

/// Which resource a full file system has run out of.
public enum SpaceShortage {
    /// Advice for ENOSPC. A file system without free inodes may have gigabytes of free space: freeing more space does not help.
    /// - Parameter path: the path that could not be written or created; it need not exist.
    public static func remedy(at path: String) -> Message {
        lacksFiles(at: path)
            ? "The file system can hold no more files, however much space is free (see: df -i). Remove some files and try again."
            : "Free some space and try again."
    }

    /// Whether no file can be created: there is no space, or no free inode.
    public static func isExhausted(at path: String) -> Bool {
        guard let space = space(at: path) else { return false }
        return space.availableBlockCount == 0 || space.lacksFiles
    }

    private static func lacksFiles(at path: String) -> Bool { space(at: path)?.lacksFiles ?? false }

    /// For a missing path, the nearest existing folder above it counts.
    private static func space(at path: String) -> FileSystemSpace? {
        guard path.hasPrefix("/") else { return nil }
        var path = path
        while true {
            if let space = try? FileSystem.space(at: path) { return space }
            guard path != "/" else { return nil }
            path = FileSystem.parentPath(path)
        }
    }
}

extension FileSystemSpace {
    /// Whether there is space but no free inode. Btrfs and other file systems that create inodes on demand report that they have
    /// none at all.
    fileprivate var lacksFiles: Bool { fileCount > 0 && freeFileCount == 0 && availableBlockCount > 0 }
}

/// The result of statvfs(3) for a file system.
public struct FileSystemSpace: Sendable {
    /// The unit of the numbers of blocks.
    public let blockSizeBytes: UInt64
    /// Size of the file system in blocks.
    public let blockCount: UInt64
    /// With those that are reserved for root.
    public let freeBlockCount: UInt64
    /// Free blocks for users other than root.
    public let availableBlockCount: UInt64
    /// Number of inodes; 0 where they have no limit.
    public let fileCount: UInt64
    /// Number of free inodes; 0 where they have no limit.
    public let freeFileCount: UInt64
    /// `f_fsid`: on most file systems a number that does not change; 0 where there is none.
    public let fileSystemID: UInt64

    init(_ value: statvfs) {
        blockSizeBytes = UInt64(value.f_frsize)
        blockCount = UInt64(value.f_blocks)
        freeBlockCount = UInt64(value.f_bfree)
        availableBlockCount = UInt64(value.f_bavail)
        fileCount = UInt64(value.f_files)
        freeFileCount = UInt64(value.f_ffree)
        fileSystemID = UInt64(value.f_fsid)
    }

    /// Free bytes for users other than root.
    public var availableBytes: UInt64 { availableBlockCount * blockSizeBytes }
}

extension FileName {
    /// The name as a C string, for calls relative to a folder.
    func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
            for (index, byte) in bytes.enumerated() { buffer.initializeElement(at: index, to: CChar(bitPattern: byte)) }
            buffer.initializeElement(at: bytes.count, to: 0)
            // It has at least one element, so it has an address.
            let name = UnsafePointer(buffer.baseAddress.unsafelyUnwrapped)
            return Swift.Result { () throws(Failure) in try body(name) }
        }
        return try result.get()
    }
}

/// The standard library's byte accessors rethrow untyped errors; these keep typed ones.
extension [UInt8] {
    /// - Parameter count: only the first `count` bytes.
    public func withUnsafeBytesThrowing<Result, Failure: Error>(
        count: Int? = nil, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer.prefix(count ?? buffer.count))))
        }
    }

    /// As `withUnsafeMutableBytes`, whose closure cannot throw a given type.
    public mutating func withUnsafeMutableBytesThrowing<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutableBufferPointer { (buffer) throws(Failure) in
            try body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}

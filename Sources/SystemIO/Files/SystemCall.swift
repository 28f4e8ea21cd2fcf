import BackupCore
import Glibc

/// The only place that turns an errno of the operating system into a typed error.
public enum SystemCall {
    /// Retries the call while a signal interrupts it.
    /// - Parameter call: returns -1 and sets errno when it fails, as system calls do.
    @discardableResult
    static func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
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
        return BackupError(code, "could not \(action): \(reason(number))", path: path, remedy: remedy)
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

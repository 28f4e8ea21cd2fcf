import BackupCore
import Glibc

/// The one place that turns an errno of the operating system into a typed error.
public enum SystemCall {
    /// Calls again for as long as a signal interrupted it.
    /// - Parameter call: returns -1 and sets errno when it fails, as system calls do.
    @discardableResult
    static func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
        while true {
            let result = call()
            if result == -1, errno == EINTR { continue }
            return result
        }
    }

    /// - Parameter path: only put together when the call fails.
    /// - Returns: the call's result.
    /// - Throws: `BackupError` made from errno, naming the path and what was tried ("open", "write").
    @discardableResult
    static func check<Result: SignedInteger>(
        _ action: String, _ path: @autoclosure () -> String, _ call: () -> Result
    ) throws(BackupError) -> Result {
        let result = retrying(call)
        if result == -1 {
            // Before the path is put together, which may change it.
            let number = errno
            throw error(number, action: action, path: path())
        }
        return result
    }

    /// What an errno means to us; `inputOutput` for all that has no code of its own.
    public static func error(_ number: Int32, action: String, path: String) -> BackupError {
        let reason = String(cString: strerror(number))
        let code: BackupError.Code
        var remedy: String?
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
            remedy = "Free some space and try again; nothing was changed."
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
        default: code = .inputOutput
        }
        return BackupError(code, "could not \(action): \(reason)", path: path, remedy: remedy)
    }
}

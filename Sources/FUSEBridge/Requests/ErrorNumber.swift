import BackupCore
import Glibc

/// The only place where an error becomes an errno. Programs show it in their own words, so each choice is the sentence of
/// strerror(3) that helps the user most; the full message is in the log and in `restore/last.txt`.
public enum ErrorNumber {
    /// Positive, as in errno(3).
    public static func of(_ code: BackupError.Code) -> Int32 {
        switch code {
        case .invalidContent: EINVAL
        // "Bad message": the bytes are not what was once written. EIO would blame the disk.
        case .damagedContent: EBADMSG
        // "Protocol not supported": written by a version that this program does not know.
        case .unsupportedVersion: EPROTONOSUPPORT
        case .noSpace: ENOSPC
        // "Too many open files in system": EMFILE would blame the calling program, and so would ENOMEM.
        case .noResources: ENFILE
        // "File too large" also where the limit is a count (records, entries): the file is rejected for its size.
        case .tooLarge: EFBIG
        case .busy, .databaseInUse: EBUSY
        case .readOnly: EROFS
        case .notPermitted: EPERM
        case .accessDenied: EACCES
        case .repositoryDamaged: EIO
        case .inputOutput: EIO
        case .notFound: ENOENT
        case .alreadyExists: EEXIST
        case .notADirectory: ENOTDIR
        case .isADirectory: EISDIR
        case .notEmpty: ENOTEMPTY
        case .nameTooLong: ENAMETOOLONG
        case .noAttribute: ENODATA
        case .invalidArgument: EINVAL
        // Never ENOSYS: the kernel interprets that as "this request does not exist" and does not send it again until the next
        // mount, which would silence `flush` and with it every rejected restore.
        case .notSupported: EOPNOTSUPP
        case .crossDevice: EXDEV
        case .badHandle: EBADF
        // The kernel then looks up the name again by itself.
        case .stale: ESTALE
        // "Network is unreachable". ETIMEDOUT and ECONNREFUSED would say more than is known of the way in between.
        case .offline: ENETUNREACH
        // Another device has changed it in between.
        case .conflict: ESTALE
        // The repository vanished under the mount, for instance with its disk.
        case .noRepository: EIO
        // Another process holds the repository; for a waiting program that is the same as `busy`.
        case .locked: EBUSY
        // The text of EKEYREJECTED mentions a "service", which users would not associate with the repository's password.
        case .wrongPassword: EACCES
        // A malformed name or value passed through the tree.
        case .usage: EINVAL
        // The backup was made and is listed, but is incomplete: `mkdir` must not look successful.
        case .sourceUnreadable: EIO
        // "Operation canceled": the user's own command has stopped it.
        case .hookFailed: ECANCELED
        // Not EINTR: many programs interpret that as "try again" and would repeat the operation.
        case .interrupted: ECANCELED
        }
    }
}

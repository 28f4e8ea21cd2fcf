import BackupCore
import Glibc

/// The one place where an error becomes an errno. Programs show it in their own words, so the choice is which sentence of
/// strerror(3) tells a person most; the full message is in the log and in `restore/last.txt`.
public enum ErrorNumber {
    public static func of(_ code: BackupError.Code) -> Int32 {
        switch code {
        case .invalidContent: EINVAL
        // "Bad message": what arrived is not what was once written. EIO would blame the disk.
        case .damagedContent: EBADMSG
        // "Protocol not supported": written by a version this program does not speak.
        case .unsupportedVersion: EPROTONOSUPPORT
        case .noSpace: ENOSPC
        // "Too many open files in system": EMFILE would blame the program that asks, and ENOMEM is of the same kind.
        case .noResources: ENFILE
        // "File too large" also where the limit is a count (records, entries): it is the file that is refused for its size.
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
        // Never ENOSYS: the kernel takes that for "this request does not exist" and does not ask again until the next mount,
        // which would silence `flush` and with it every refused restore.
        case .notSupported: EOPNOTSUPP
        case .crossDevice: EXDEV
        case .badHandle: EBADF
        // The kernel then looks the name up again by itself.
        case .stale: ESTALE
        // The repository vanished under the mount, for instance with its disk.
        case .noRepository: EIO
        // Another process holds the repository; to whoever waits that is the same as `busy`.
        case .locked: EBUSY
        // EKEYREJECTED speaks of "service", which nobody would understand as the repository's password.
        case .wrongPassword: EACCES
        // A malformed name or value given through the tree.
        case .usage: EINVAL
        // The backup was made and is listed, but is not whole: `mkdir` must not look like a success.
        case .sourceUnreadable: EIO
        // "Operation canceled": the user's own command has stopped it.
        case .hookFailed: ECANCELED
        // Not EINTR: many programs take that for "try again" and would start the operation anew.
        case .interrupted: ECANCELED
        }
    }
}

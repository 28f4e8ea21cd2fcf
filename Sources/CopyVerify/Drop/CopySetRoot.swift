import BackupCore
import Synchronization
import SystemIO

/// The folder of a copy set itself: a look at it does not wait for disks that do not respond.
public final class CopySetRoot: Sendable {
    /// What a look has found.
    public struct Look: Sendable {
        public let status: FileStatus
        /// Those that backups keep.
        public let extendedAttributes: [ExtendedAttribute]
    }

    private let question: StorageQuery<Result<Look, BackupError>>
    private let last = Mutex<Look?>(nil)

    /// - Parameter open: opens the folder of the first destination that can be read.
    init(_ open: @escaping @Sendable () throws(BackupError) -> DirectoryHandle) {
        question = StorageQuery(.ofMount) {
            Result { () throws(BackupError) in
                let folder = try open()
                return Look(
                    status: try folder.descriptor.status(), extendedAttributes: try folder.descriptor.extendedAttributes())
            }
        }
    }

    /// Looks at the folder of the first destination that can be read. While its disk does not respond, the last answer counts.
    /// - Returns: `nil` when no destination can be read, and when none has been read so far.
    public func look() -> Look? {
        switch question.answer() {
        case .success(let look)?:
            last.withLock { $0 = look }
            return look
        case .failure?: return nil
        case nil: return last.withLock { $0 }
        }
    }
}

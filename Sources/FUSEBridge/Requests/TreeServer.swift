import BackupCore
import Glibc
import SystemIO
import VirtualTree

/// What every request needs besides its own arguments. libfuse carries a pointer to it as the session's user data, since C
/// callbacks cannot capture anything.
final class TreeServer: Sendable {
    let tree: any TreeOperations
    /// The owner of every file: the mounting user and group, unless the options say otherwise.
    let ownerUser: uid_t
    let ownerGroup: gid_t
    let maximumReadBytes: Int
    /// For replies: a fresh buffer of this size would cost 256 page faults each time. There are never more than requests served
    /// concurrently, which the number of threads limits.
    let buffers: BlockPool
    private let reportFailure: FailureReport?
    private let served = Monitor<ServedSession?>(nil)
    /// The session whose requests are served; `nil` before the first and after the last one.
    var session: ServedSession? {
        get { served.withLock { $0 } }
        set { served.withLock { $0 = newValue } }
    }

    init(tree: any TreeOperations, options: MountOptions, reportFailure: FailureReport?) {
        self.tree = tree
        ownerUser = options.ownerUser ?? getuid()
        ownerGroup = options.ownerGroup ?? getgid()
        maximumReadBytes = options.maximumReadBytes
        buffers = BlockPool(blockSizeBytes: max(options.maximumReadBytes, MountOptions.largestRequestBytes), limit: .max)
        self.reportFailure = reportFailure
    }

    /// - Returns: the errno for an error. An error that becomes an input/output error
    ///   is first reported in full, since the errno does not name the file or chunk.
    func errorNumber(_ error: BackupError, request: StaticString) -> Int32 {
        let number = ErrorNumber.of(error.code)
        if number == EIO { reportFailure?(request.description, error) }
        return number
    }

    /// Reports a request that was answered with an error because the storage did not respond.
    func reportStall(_ request: StaticString) {
        let error = BackupError(
            .inputOutput, "the storage does not answer; whether a change was made is seen when it answers again",
            remedy: "Check whether its disk or its server can be reached.")
        reportFailure?(request.description, error)
    }

    /// - Throws: `nameTooLong` for a component over 255 bytes (the kernel allows up to 1,024).
    func name(_ text: UnsafePointer<CChar>?) throws(BackupError) -> FileName {
        guard let text else { throw BackupError(.invalidArgument, "the request has no name") }
        let length = strlen(text)
        guard length <= FileName.byteCountLimit else {
            throw BackupError(.nameTooLong, "the name has \(length) bytes, more than \(FileName.byteCountLimit)")
        }
        return FileName(bytes: Array(UnsafeRawBufferPointer(start: text, count: length)))
    }

    func status(_ attributes: NodeAttributes) -> stat {
        var value = stat()
        value.st_ino = ino_t(attributes.shownInode.rawValue)
        value.st_mode = mode_t(attributes.kind.modeBits) | mode_t(attributes.permissions & 0o7777)
        // 1 also for folders: for find(1) this means that the count does not include subfolders.
        value.st_nlink = 1
        value.st_uid = ownerUser
        value.st_gid = ownerGroup
        // A damaged record can claim any size.
        value.st_size = off_t(clamping: attributes.size)
        // In units of 512 bytes, independent of the block size; du(1) adds these up.
        value.st_blocks = blkcnt_t(attributes.size / 512 + (attributes.size % 512 == 0 ? 0 : 1))
        // The page size: copy programs use larger buffers anyway, and programs that seek do not read more than they need.
        value.st_blksize = 4096
        let time = timespec(
            tv_sec: time_t(attributes.modificationTime.seconds), tv_nsec: Int(attributes.modificationTime.nanoseconds))
        value.st_mtim = time
        value.st_ctim = time
        value.st_atim = time
        return value
    }
}

/// Called for every request that failed with an input/output error, with the request's name and the error. The calls come from
/// the requests' threads, concurrently; they must return quickly.
public typealias FailureReport = @Sendable (_ request: String, _ error: BackupError) -> Void

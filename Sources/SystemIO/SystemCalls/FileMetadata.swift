import BackupCore
import CLinux
import Glibc

/// The result of stat(2) for a file.
public struct FileStatus: Sendable, Equatable {
    /// The kinds that a backup stores; `other` is a device, a pipe or a socket.
    public enum Kind: Sendable { case regular, directory, symbolicLink, other }

    public let kind: Kind
    /// Permission bits and file type, as in `st_mode`.
    public let mode: UInt32
    /// Size in bytes.
    public let size: UInt64
    /// Space on the disk: less than the size for a file with holes.
    public let allocatedBytes: UInt64
    /// When the content last changed, as far as programs have not set another time.
    public let modificationTime: Timestamp
    /// When the file or its attributes last changed; no program can set it.
    public let changeTime: Timestamp
    /// Unique on its device while the file exists, then used again.
    public let inode: UInt64
    /// As in `st_dev`: the number may differ after the next mount.
    public let device: UInt64
    /// Number of names of the file.
    public let linkCount: UInt64
    /// User ID.
    public let owner: UInt32
    /// Group ID.
    public let group: UInt32

    init(_ value: stat) {
        switch value.st_mode & S_IFMT {
        case S_IFREG: kind = .regular
        case S_IFDIR: kind = .directory
        case S_IFLNK: kind = .symbolicLink
        default: kind = .other
        }
        mode = value.st_mode
        size = UInt64(max(0, value.st_size))
        allocatedBytes = UInt64(max(0, value.st_blocks)) &* 512
        modificationTime = Timestamp(value.st_mtim)
        changeTime = Timestamp(value.st_ctim)
        inode = UInt64(value.st_ino)
        device = UInt64(value.st_dev)
        linkCount = UInt64(value.st_nlink)
        owner = value.st_uid
        group = value.st_gid
    }

    /// Whether it is a socket, of which `kind` says only `other`.
    public var isSocket: Bool { mode & S_IFMT == S_IFSOCK }

    /// The same for a pipe.
    public var isPipe: Bool { mode & S_IFMT == S_IFIFO }

    /// Whether it is the same, unchanged file. Ignores the allocated space, which changes some time after a write without another
    /// one.
    public static func == (left: FileStatus, right: FileStatus) -> Bool {
        left.inode == right.inode && left.size == right.size && left.modificationTime == right.modificationTime
            && left.changeTime == right.changeTime && left.mode == right.mode && left.device == right.device
            && left.linkCount == right.linkCount && left.owner == right.owner && left.group == right.group
    }

    /// Whether a later change will show in `changeTime`. File systems count time in steps (4 ms here, up to 2 s elsewhere): the
    /// second of two writes within one step leaves no trace. 0.1 s more, since file systems use a clock that lags.
    public var isSettled: Bool {
        let now = SystemClock.systemTime()
        let seconds = now.seconds &- changeTime.seconds
        guard (2...3).contains(seconds) else { return seconds > 3 }
        return seconds * 1_000_000_000 + Int64(now.nanoseconds) - Int64(changeTime.nanoseconds) > 2_100_000_000
    }
}

/// Identifies a file regardless of the links and mounts in its path.
public struct FileIdentity: Hashable, Sendable {
    /// As in `st_dev`.
    public let device: UInt64
    /// Unique on its device.
    public let inode: UInt64

    public init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    /// The status must be of this file now: a number is used again after the file is gone.
    public init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
    }
}

/// The extended attributes that a backup keeps: those that belong to the file and not to its machine.
public enum FileAttributes {
    /// The limits of Linux for a name (`XATTR_NAME_MAX`) and a value (`XATTR_SIZE_MAX`).
    public static let nameLimitBytes = 255
    /// In bytes.
    public static let valueLimitBytes = 64 << 10
    /// For all attributes of a file together. Directory objects contain them, and every listing of a folder reads them all.
    public static let totalLimitBytes = 128 << 10

    private static let userPrefix = Array("user.".utf8)
    private static let others: Set<[UInt8]> = Set(
        ["security.capability", "system.posix_acl_access", "system.posix_acl_default"].map { Array($0.utf8) })

    /// Whether a backup keeps the attribute of that name.
    public static func isKept(_ name: [UInt8]) -> Bool { name.starts(with: userPrefix) || others.contains(name) }

    /// The kept attributes of an open file or folder, sorted by name. One call for a file without attributes.
    /// - Throws: `tooLarge` when they exceed the limit; read errors.
    public static func read(_ descriptor: Int32, path: @autoclosure () -> String) throws(BackupError) -> [ExtendedAttribute] {
        guard let list = try bytes(limit: valueLimitBytes, path, { backupfs_flistxattr(descriptor, $0, $1) }), !list.isEmpty
        else { return [] }
        var attributes: [ExtendedAttribute] = []
        var total = 0
        for name in list.split(separator: 0).map(Array.init) where isKept(name) {
            let cName = name.map { CChar(bitPattern: $0) } + [0]
            // Removed since the listing: treated as if that had happened before it.
            guard let value = try bytes(limit: valueLimitBytes, path, { backupfs_fgetxattr(descriptor, cName, $0, $1) }) else {
                continue
            }
            attributes.append(ExtendedAttribute(name: name, value: value))
            total += name.count + value.count
        }
        guard total <= totalLimitBytes else {
            throw BackupError(.tooLarge, "it has more than 128 KiB of extended attributes, which are not kept", path: path())
        }
        return attributes.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    /// Sets attributes of an open file or folder, also when its mode forbids its owner to write.
    /// - Parameter permissions: the mode of the file or folder.
    /// - Returns: the first error; `nil` when all are set.
    static func set(
        _ attributes: [ExtendedAttribute], of descriptor: Int32, permissions: mode_t, path: @autoclosure () -> String
    ) -> BackupError? {
        var failure: Int32 = 0
        for attribute in attributes {
            var result = set(attribute, descriptor)
            if result == EACCES || result == EPERM, permissions & 0o200 == 0, fchmod(descriptor, permissions | 0o200) == 0 {
                result = set(attribute, descriptor)
                // An ACL's entry for the group is also in the mode.
                if fchmod(descriptor, permissions) != 0 { result = errno }
            }
            if result != 0, failure == 0 { failure = result }
        }
        return failure == 0 ? nil : SystemCall.error(failure, action: "set the extended attributes", path: path())
    }

    private static func set(_ attribute: ExtendedAttribute, _ descriptor: Int32) -> Int32 {
        let cName = attribute.name.map { CChar(bitPattern: $0) } + [0]
        let result = attribute.value.withUnsafeBytes { backupfs_fsetxattr(descriptor, cName, $0.baseAddress, UInt($0.count)) }
        return result == 0 ? 0 : errno
    }

    /// - Parameter call: returns the required length, or fills the buffer.
    /// - Returns: `nil` where there are none, or the file system does not support them.
    private static func bytes(
        limit: Int, _ path: () -> String, _ call: (UnsafeMutableRawPointer?, UInt) -> Int
    ) throws(BackupError) -> [UInt8]? {
        // The attributes may grow between the two calls.
        for _ in 0..<10 {
            let length = call(nil, 0)
            if length == 0 { return [] }
            if length > 0 {
                guard length <= limit else {
                    throw BackupError(
                        .tooLarge, "it has more than 128 KiB of extended attributes, which are not kept", path: path())
                }
                var buffer = [UInt8](repeating: 0, count: length)
                let count = buffer.withUnsafeMutableBytes { call($0.baseAddress, UInt($0.count)) }
                if count >= 0 { return Array(buffer[..<count]) }
            }
            switch errno {
            case ERANGE: continue
            case ENODATA, ENOTSUP, ENOSYS: return nil
            default: throw SystemCall.error(errno, action: "read the extended attributes", path: path())
            }
        }
        throw SystemCall.error(ERANGE, action: "read the extended attributes", path: path())
    }
}

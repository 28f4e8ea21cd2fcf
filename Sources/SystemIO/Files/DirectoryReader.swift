import BackupCore
import CLinux
import Glibc

/// Attributes of a folder's entry from statx(2).
public struct EntryAttributes: Sendable {
    /// Something is mounted on it.
    public let isMountRoot: Bool
    /// It is immutable or append-only (`chattr +i`, `chattr +a`).
    public let isUnchangeable: Bool
}

/// Reads a folder with names as bytes, so that names need not be UTF-8. Opens its entries relative to the folder, so that
/// concurrent renames of folders do no harm.
public struct DirectoryReader: ~Copyable, Sendable {
    public let descriptor: OwnedDescriptor
    /// As given when it was opened; a rename of the folder does not change it.
    public var path: String { descriptor.path }

    /// - Parameter followsLink: whether the path may be a symbolic link.
    /// - Throws: `notFound`, `notADirectory`, `accessDenied`.
    public init(path: String, followsLink: Bool = true) throws(BackupError) {
        descriptor = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | (followsLink ? 0 : O_NOFOLLOW))
    }

    init(descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

    /// The folder `name` in this one; refuses a symbolic link.
    public borrowing func openDirectory(_ name: FileName) throws(BackupError) -> DirectoryReader {
        let opened = try open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        return DirectoryReader(descriptor: opened)
    }

    /// openat(2) with `O_NOFOLLOW`.
    public borrowing func open(
        _ name: FileName, _ flags: Int32, permissions: mode_t = 0o600
    ) throws(BackupError) -> OwnedDescriptor {
        let fullPath = "\(path)/\(name)"
        let folder = descriptor.rawValue
        let number = try OwnedDescriptor.opening(fullPath, flags) { () throws(BackupError) in
            try name.withCString { (cName) throws(BackupError) in
                try SystemCall.check("open", fullPath) { openat(folder, cName, flags | O_CLOEXEC | O_NOFOLLOW, permissions) }
            }
        }
        return OwnedDescriptor(owning: number, path: fullPath)
    }

    /// Opens only a regular file, for reading. An entry may have changed since it was listed. Opening a pipe would block until a
    /// writer comes; opening a device may have any effect.
    /// - Throws: `notSupported` for anything but a file; `notFound` and so on.
    public borrowing func openFile(_ name: FileName) throws(BackupError) -> OwnedDescriptor {
        let folder = descriptor.rawValue
        let fullPath = "\(path)/\(name)"
        let file = try OwnedDescriptor.waitingForLease { () throws(BackupError) in
            let number = try name.withCString { (cName) throws(BackupError) in
                try SystemCall.check("open", fullPath) {
                    openat(folder, cName, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW)
                }
            }
            return OwnedDescriptor(owning: number, path: fullPath)
        }
        guard try file.status().kind == .regular else {
            throw BackupError(.notSupported, "is neither a file nor a folder nor a link", path: "\(path)/\(name)")
        }
        return file
    }

    /// mkdirat(2), for the owner only; a no-op when the name exists.
    public borrowing func makeDirectoryIfMissing(_ name: FileName) throws(BackupError) {
        let fullPath = "\(path)/\(name)"
        let folder = descriptor.rawValue
        try FileObservation.perform(.makeDirectory(path: fullPath)) { () throws(BackupError) in
            let result = name.withCString { mkdirat(folder, $0, 0o700) == 0 ? 0 : errno }
            if result != 0, result != EEXIST { throw SystemCall.error(result, action: "make the folder", path: fullPath) }
        }
    }

    /// lstat of an entry.
    public borrowing func status(_ name: FileName) throws(BackupError) -> FileStatus {
        var value = stat()
        let folderPath = path
        let folder = descriptor.rawValue
        _ = try name.withCString { (cName) throws(BackupError) in
            try SystemCall.check("read the attributes", "\(folderPath)/\(name)") {
                fstatat(folder, cName, &value, AT_SYMLINK_NOFOLLOW)
            }
        }
        return FileStatus(value)
    }

    /// The same; `nil` when there is no such entry.
    public borrowing func statusIfPresent(_ name: FileName) throws(BackupError) -> FileStatus? {
        do {
            return try status(name)
        } catch let error where error.code == .notFound {
            return nil
        }
    }

    /// The target of a symbolic link.
    public borrowing func readLink(_ name: FileName) throws(BackupError) -> [UInt8] {
        let fullPath = "\(path)/\(name)"
        let folder = descriptor.rawValue
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try name.withCString { (cName) throws(BackupError) in
            try SystemCall.check("read the link", fullPath) {
                readlinkat(folder, cName, &buffer, buffer.count)
            }
        }
        return buffer[..<count].map { UInt8(bitPattern: $0) }
    }

    /// The names in the folder, sorted by their bytes, without `.` and `..`.
    public borrowing func names() throws(BackupError) -> [FileName] { try names(limit: .max)?.sorted() ?? [] }

    /// The same, unsorted.
    /// - Returns: `nil` when there are more than `limit`.
    public borrowing func names(limit: Int) throws(BackupError) -> [FileName]? {
        try entries(limit: limit)?.map(\.name)
    }

    /// The names, sorted by their bytes.
    /// - Parameter note: called for each name, with its inode and whether it may be a file: some file systems do not report the
    ///   type in a listing.
    public borrowing func names(
        noting note: (_ name: FileName, _ inode: UInt64, _ mayBeFile: Bool) -> Void
    ) throws(BackupError) -> [FileName] {
        var names: [FileName] = []
        try forEachEntry { name, inode, type in
            note(name, inode, type == Self.fileType || type == Self.unknownType)
            names.append(name)
            return true
        }
        return names.sorted()
    }

    /// The names of the folders in the folder, unsorted.
    public borrowing func folderNames() throws(BackupError) -> [FileName] {
        var names: [FileName] = []
        for entry in try entries(limit: .max) ?? [] {
            // Some file systems do not report the type in a listing.
            let isFolder =
                entry.type == Self.unknownType ? try status(entry.name).kind == .directory : entry.type == Self.folderType
            if isFolder { names.append(entry.name) }
        }
        return names
    }

    // `DT_UNKNOWN`, `DT_DIR` and `DT_REG` of readdir(3).
    private static let unknownType: UInt8 = 0
    private static let folderType: UInt8 = 4
    private static let fileType: UInt8 = 8

    private borrowing func entries(limit: Int) throws(BackupError) -> [(name: FileName, type: UInt8)]? {
        var entries: [(name: FileName, type: UInt8)] = []
        var isWhole = true
        try forEachEntry { name, _, type in
            isWhole = entries.count < limit
            if isWhole { entries.append((name, type)) }
            return isWhole
        }
        return isWhole ? entries : nil
    }

    /// - Parameter body: returns whether to continue.
    private borrowing func forEachEntry(
        _ body: (_ name: FileName, _ inode: UInt64, _ type: UInt8) -> Bool
    ) throws(BackupError) {
        // A second descriptor, since closedir(3) closes the one it was given and both would share the position otherwise.
        let number = try SystemCall.check("list the folder", path) {
            openat(descriptor.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard let stream = fdopendir(number) else {
            let failure = errno
            close(number)
            throw SystemCall.error(failure, action: "list the folder", path: path)
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemCall.error(errno, action: "list the folder", path: path) }
                break
            }
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard bytes != [46], bytes != [46, 46] else { continue }
            guard body(FileName(bytes: bytes), UInt64(entry.pointee.d_ino), entry.pointee.d_type) else { break }
        }
    }

    /// symlinkat(2), with the link's own modification time.
    public borrowing func createLink(
        _ name: FileName, to target: [UInt8], modificationTime: Timestamp
    ) throws(BackupError) {
        let fullPath = "\(path)/\(name)"
        let folder = descriptor.rawValue
        let value = timespec(tv_sec: time_t(modificationTime.seconds), tv_nsec: Int(modificationTime.nanoseconds))
        let times = [value, value]
        try name.withCString { (cName) throws(BackupError) in
            try FileObservation.perform(.makeLink(path: fullPath, target: target)) { () throws(BackupError) in
                _ = try FileName(bytes: target).withCString { (cTarget) throws(BackupError) in
                    try SystemCall.check("make the link", fullPath) { symlinkat(cTarget, folder, cName) }
                }
            }
            try SystemCall.check("set the time", fullPath) { utimensat(folder, cName, times, AT_SYMLINK_NOFOLLOW) }
        }
    }

    /// unlinkat(2).
    /// - Throws: `notFound`; `notEmpty` for a folder that is not empty.
    public borrowing func remove(_ name: FileName, isDirectory: Bool) throws(BackupError) {
        let fullPath = "\(path)/\(name)"
        let folder = descriptor.rawValue
        try FileObservation.perform(
            isDirectory ? .removeDirectory(path: fullPath) : .remove(path: fullPath)
        ) { () throws(BackupError) in
            _ = try name.withCString { (cName) throws(BackupError) in
                try SystemCall.check("remove", fullPath) { unlinkat(folder, cName, isDirectory ? AT_REMOVEDIR : 0) }
            }
        }
    }

    /// Attributes of an entry beyond its status.
    public borrowing func attributes(_ name: FileName) throws(BackupError) -> EntryAttributes {
        let folder = descriptor.rawValue
        let value = name.withCString { backupfs_entry_attributes(folder, $0) }
        // Without an answer, only an attempt shows it.
        return EntryAttributes(isMountRoot: value > 0 && value & 1 != 0, isUnchangeable: value > 0 && value & 2 != 0)
    }

    /// Whether this program may create and remove entries in the folder `name`, which may be `.`.
    public borrowing func isWritable(_ name: FileName) -> Bool {
        let folder = descriptor.rawValue
        return name.withCString { faccessat(folder, $0, W_OK | X_OK, 0) } == 0
    }

    /// - Throws: `busy` for a mountpoint, also of a bind mount of the same disk.
    public borrowing func requireNoMount(_ name: FileName) throws(BackupError) {
        let folder = descriptor.rawValue
        let isMount = name.withCString { backupfs_is_mount_root(folder, $0) == 1 }
        let isOtherDevice = try status(name).device != descriptor.status().device
        guard isMount || isOtherDevice else { return }
        throw BackupError(
            .busy, "a folder that something is mounted on is not removed", path: "\(path)/\(name)",
            remedy: "Unmount it and try again.")
    }
}

import BackupCore
import CLinux
import Glibc

/// An open folder. Its entries are found relative to its descriptor, by names as bytes that need not be UTF-8, and never through
/// a symbolic link: concurrent renames of folders do no harm. Several threads may use one handle.
public final class DirectoryHandle: Sendable {
    public let descriptor: OwnedDescriptor
    /// As named in errors.
    public var path: String { descriptor.path }

    /// - Parameter followsLink: whether the path may be a symbolic link.
    /// - Throws: `notFound`, `notADirectory`, `accessDenied`.
    public init(path: String, followsLink: Bool = true) throws(BackupError) {
        descriptor = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | (followsLink ? 0 : O_NOFOLLOW))
    }

    private init(owning number: Int32, path: String) { descriptor = OwnedDescriptor(owning: number, path: path) }

    /// Calls the system with the folder's descriptor and the name as a C string.
    /// - Parameter action: for the error; only evaluated when the call fails.
    @discardableResult
    func call<Result: SignedInteger>(
        _ action: @autoclosure () -> Message, _ name: FileName, _ body: (Int32, UnsafePointer<CChar>) -> Result
    ) throws(BackupError) -> Result {
        try name.withCString { (cName) throws(BackupError) in
            try SystemCall.check(action(), "\(path)/\(name)") { body(descriptor.rawValue, cName) }
        }
    }

    /// The same.
    /// - Parameter absent: the errors for a missing entry; an entry that cannot be read is not treated as missing.
    /// - Returns: `nil` for these errors.
    @discardableResult
    func callIfPresent<Result: SignedInteger>(
        _ action: @autoclosure () -> Message, _ name: FileName, absent: [Int32] = [ENOENT],
        _ body: (Int32, UnsafePointer<CChar>) -> Result
    ) throws(BackupError) -> Result? {
        try name.withCString { (cName) throws(BackupError) in
            let result = SystemCall.retrying { body(descriptor.rawValue, cName) }
            guard result == -1 else { return result }
            let number = errno
            if absent.contains(number) { return nil }
            throw SystemCall.error(number, action: action(), path: "\(path)/\(name)")
        }
    }

    // MARK: Opening

    static let directoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

    /// The folder `name` in this one; refuses a symbolic link.
    public func openDirectory(_ name: FileName) throws(BackupError) -> DirectoryHandle {
        opened(name, try call("open", name) { openat($0, $1, Self.directoryFlags) })
    }

    /// The same; `nil` when there is no such entry.
    public func openDirectoryIfPresent(_ name: FileName) throws(BackupError) -> DirectoryHandle? {
        try callIfPresent("open the folder", name) { openat($0, $1, Self.directoryFlags) }.map { opened(name, $0) }
    }

    /// The same; `nil` also when the entry is not a folder.
    public func openFolder(_ name: FileName) throws(BackupError) -> DirectoryHandle? {
        try callIfPresent("open the folder", name, absent: [ENOENT, ENOTDIR]) { openat($0, $1, Self.directoryFlags) }
            .map { opened(name, $0) }
    }

    func opened(_ name: FileName, _ number: Int32) -> DirectoryHandle {
        DirectoryHandle(owning: number, path: "\(path)/\(name)")
    }

    /// The folder at a path in this one; itself for an empty path. No component may be a symbolic link.
    public func openDirectory(at names: ArraySlice<FileName>) throws(BackupError) -> DirectoryHandle {
        if let folder = openBeneath(names) { return folder }
        var folder = self
        for name in names { folder = try folder.openDirectory(name) }
        return folder
    }

    /// The same; `nil` when a component is missing or is not a folder.
    public func openFolder(at names: ArraySlice<FileName>) throws(BackupError) -> DirectoryHandle? {
        if let folder = openBeneath(names) { return folder }
        var folder = self
        for name in names {
            guard let next = try folder.openFolder(name) else { return nil }
            folder = next
        }
        return folder
    }

    /// The same in one call, openat2(2).
    /// - Returns: `nil` for any error. Old kernels and some containers lack the call, a path may be too long for it, and it says
    ///   neither which component is the cause nor whether that is a link: opening one component after another does.
    func openBeneath(_ names: ArraySlice<FileName>) -> DirectoryHandle? {
        guard names.count > 1 else { return nil }
        let relative = FileName(bytes: BytePath.joined(names))
        let number = relative.withCString { backupfs_open_directory_beneath(descriptor.rawValue, $0) }
        return number < 0 ? nil : opened(relative, number)
    }

    /// openat(2) with `O_NOFOLLOW`.
    public func open(_ name: FileName, _ flags: Int32, permissions: mode_t = 0o600) throws(BackupError) -> OwnedDescriptor {
        let number = try OwnedDescriptor.opening("\(path)/\(name)", flags) { () throws(BackupError) in
            try call("open", name) { openat($0, $1, flags | O_CLOEXEC | O_NOFOLLOW, permissions) }
        }
        return OwnedDescriptor(owning: number, name, in: path)
    }

    /// Opens only a regular file, for reading. An entry may have changed since it was listed. Opening a pipe would block until a
    /// writer comes; opening a device may have any effect.
    /// - Throws: `notSupported` for anything but a file; `notFound` and so on.
    public func openFile(_ name: FileName) throws(BackupError) -> OwnedDescriptor {
        var status: FileStatus?
        return try openFile(name, noting: &status)
    }

    /// The same.
    /// - Parameter status: gets that of the opened file.
    public func openFile(_ name: FileName, noting status: inout FileStatus?) throws(BackupError) -> OwnedDescriptor {
        let file = try OwnedDescriptor.waitingForLease { () throws(BackupError) in try open(name, Self.fileFlags) }
        let found = try file.status()
        guard found.kind == .regular else {
            throw BackupError(.notSupported, "is neither a file nor a folder nor a link", path: "\(path)/\(name)")
        }
        status = found
        return file
    }

    /// The same; `nil` when there is no such entry, or it is not a file.
    public func openFileIfPresent(_ name: FileName) throws(BackupError) -> OwnedDescriptor? {
        let number = try OwnedDescriptor.waitingForLease { () throws(BackupError) in
            try callIfPresent("open the file", name, absent: [ENOENT, ELOOP]) {
                openat($0, $1, Self.fileFlags | O_CLOEXEC | O_NOFOLLOW)
            }
        }
        guard let number else { return nil }
        let file = OwnedDescriptor(owning: number, name, in: path)
        guard try file.status().kind == .regular else { return nil }
        return file
    }

    private static let fileFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY

    // MARK: Looking

    /// lstat of an entry.
    public func status(_ name: FileName) throws(BackupError) -> FileStatus {
        var value = stat()
        try call("read the attributes", name) { fstatat($0, $1, &value, AT_SYMLINK_NOFOLLOW) }
        return FileStatus(value)
    }

    /// The same; `nil` when there is no such entry.
    public func statusIfPresent(_ name: FileName) throws(BackupError) -> FileStatus? {
        var value = stat()
        let result = try callIfPresent("read the attributes", name) { fstatat($0, $1, &value, AT_SYMLINK_NOFOLLOW) }
        return result.map { _ in FileStatus(value) }
    }

    /// The target of a symbolic link.
    public func readLink(_ name: FileName) throws(BackupError) -> [UInt8] {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try call("read the link", name) { readlinkat($0, $1, &buffer, buffer.count) }
        return buffer[..<count].map { UInt8(bitPattern: $0) }
    }

    /// The same; `nil` when there is no link of that name.
    public func readLinkIfPresent(_ name: FileName) throws(BackupError) -> [UInt8]? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try callIfPresent("read the link", name, absent: [ENOENT, EINVAL]) {
            readlinkat($0, $1, &buffer, buffer.count)
        }
        return count.map { buffer[..<$0].map { UInt8(bitPattern: $0) } }
    }

    /// Whether an entry is the root of a mount, and whether it is immutable or append-only (`chattr +i`, `chattr +a`), from
    /// statx(2). Where the kernel does not say, only an attempt shows it.
    public func attributes(_ name: FileName) -> (isMountRoot: Bool, isUnchangeable: Bool) {
        let value = name.withCString { backupfs_entry_attributes(descriptor.rawValue, $0) }
        return (value > 0 && value & 1 != 0, value > 0 && value & 2 != 0)
    }

    /// Whether this program may create and remove entries in the folder `name`, which may be `.`.
    public func isWritable(_ name: FileName) -> Bool {
        name.withCString { faccessat(descriptor.rawValue, $0, W_OK | X_OK, 0) } == 0
    }

    /// Whether another program has locked the file of that name. A program that reads or writes an SQLite database, or has one
    /// with a log open, locks it. A file that cannot be opened counts as not locked.
    public func isLocked(_ name: FileName) -> Bool {
        guard let file = try? open(name, O_RDONLY | O_NONBLOCK) else { return false }
        return backupfs_is_locked(file.rawValue) == 1
    }

    /// - Throws: `busy` for a mountpoint, also of a bind mount of the same disk.
    public func requireNoMount(_ name: FileName) throws(BackupError) {
        let isOtherDevice = try status(name).device != descriptor.status().device
        guard attributes(name).isMountRoot || isOtherDevice else { return }
        throw BackupError(
            .busy, "a folder that something is mounted on is not removed", path: "\(path)/\(name)",
            remedy: "Unmount it and try again.")
    }

    // MARK: Listing

    /// The names in the folder, sorted by their bytes, without `.` and `..`.
    public func names() throws(BackupError) -> [FileName] { try names { _, _, _ in } }

    /// The same.
    /// - Parameter note: called for each name, with its inode and whether it may be a file: some file systems do not report the
    ///   type in a listing.
    public func names(
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

    /// The same with whether the listing says that an entry is a file: some file systems do not report the type.
    public func sortedEntries() throws(BackupError) -> [(name: FileName, isFile: Bool)] {
        var entries: [(name: FileName, isFile: Bool)] = []
        try forEachEntry { name, _, type in
            entries.append((name, type == Self.fileType))
            return true
        }
        return entries.sorted { $0.name < $1.name }
    }

    /// The names, unsorted.
    /// - Returns: `nil` when there are more than `limit`.
    public func names(limit: Int) throws(BackupError) -> [FileName]? {
        var names: [FileName] = []
        var isWhole = true
        try forEachEntry { name, _, _ in
            isWhole = names.count < limit
            if isWhole { names.append(name) }
            return isWhole
        }
        return isWhole ? names : nil
    }

    /// The names in the folder that are wanted, unsorted: only these are kept in memory.
    public func names(where isWanted: (FileName) -> Bool) throws(BackupError) -> [FileName] {
        var names: [FileName] = []
        try forEachEntry { name, _, _ in
            if isWanted(name) { names.append(name) }
            return true
        }
        return names
    }

    /// The names of the folders in the folder, unsorted.
    public func folderNames() throws(BackupError) -> [FileName] {
        var entries: [(name: FileName, type: UInt8)] = []
        try forEachEntry { name, _, type in
            entries.append((name, type))
            return true
        }
        var names: [FileName] = []
        // Some file systems do not report the type in a listing.
        for (name, type) in entries {
            let isFolder = type == Self.unknownType ? try status(name).kind == .directory : type == Self.folderType
            if isFolder { names.append(name) }
        }
        return names
    }

    /// Passes the files and folders in the folder, unsorted, without keeping their names: for folders of any size.
    /// - Parameter body: called for each; links, pipes, sockets and devices are left out.
    /// - Throws: when the folder cannot be read to its end; errors of `body`.
    public func forEachFileAndFolder(
        _ body: (_ name: FileName, _ isFolder: Bool) throws(BackupError) -> Void
    ) throws(BackupError) {
        var failure: BackupError?
        try forEachEntry { name, _, type in
            do throws(BackupError) {
                if type == Self.fileType || type == Self.folderType {
                    try body(name, type == Self.folderType)
                } else if type == Self.unknownType, let kind = try statusIfPresent(name)?.kind {
                    if kind == .regular || kind == .directory { try body(name, kind == .directory) }
                }
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    // `DT_UNKNOWN`, `DT_DIR` and `DT_REG` of readdir(3).
    private static let unknownType: UInt8 = 0
    private static let folderType: UInt8 = 4
    private static let fileType: UInt8 = 8

    /// - Parameter body: returns whether to continue.
    private func forEachEntry(_ body: (_ name: FileName, _ inode: UInt64, _ type: UInt8) -> Bool) throws(BackupError) {
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
}

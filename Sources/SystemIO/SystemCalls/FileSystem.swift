import BackupCore
import CLinux
import Glibc
import Synchronization

/// Files and folders by path: the basic calls. Paths are bytes: a `String` made from a name that is not UTF-8 would not find the
/// file again, so walks of a media folder use `DirectoryHandle`.
public enum FileSystem {
    /// lstat(2).
    /// - Throws: `notFound` and so on.
    public static func status(_ path: String) throws(BackupError) -> FileStatus {
        var value = stat()
        try SystemCall.check("read the attributes", path) { lstat(path, &value) }
        return FileStatus(value)
    }

    /// stat(2): the status of a symbolic link's target; `nil` when nothing is there or it cannot be read. For display and
    /// estimates only; decisions use `look`, which distinguishes the two.
    public static func statusIfPresent(_ path: String) -> FileStatus? {
        var value = stat()
        guard SystemCall.retrying({ stat(path, &value) }) == 0 else { return nil }
        return FileStatus(value)
    }

    /// stat(2), for decisions: an unreadable path is not treated as missing.
    /// - Returns: `nil` when nothing is there for certain.
    /// - Throws: every other error (`inputOutput`, `accessDenied`, …).
    public static func look(_ path: String) throws(BackupError) -> FileStatus? {
        var value = stat()
        if SystemCall.retrying({ stat(path, &value) }) == 0 { return FileStatus(value) }
        let number = errno
        if number == ENOENT || number == ENOTDIR { return nil }
        if number == ELOOP { throw circle(path) }
        throw SystemCall.error(number, action: "read the attributes", path: path)
    }

    /// Whether something is there.
    /// - Throws: when that cannot be determined.
    public static func exists(_ path: String) throws(BackupError) -> Bool { try look(path) != nil }

    /// The identity of a path's target, following links.
    /// - Returns: `nil` when nothing is there.
    public static func identityIfPresent(_ path: String) throws(BackupError) -> FileIdentity? {
        try look(path).map { FileIdentity($0) }
    }

    /// Whether this program may create entries in a folder.
    public static func isWritable(_ folder: String) -> Bool { access(folder, W_OK | X_OK) == 0 }

    /// Space on the file system that holds `path`.
    public static func space(at path: String) throws(BackupError) -> FileSystemSpace {
        var value = statvfs()
        try SystemCall.check("read the free space", path) { statvfs(path, &value) }
        return FileSystemSpace(value)
    }

    /// getxattr(2); `nil` when there is no such attribute or file, or when the value has more than 4 KiB.
    public static func extendedAttribute(_ name: String, of path: String) -> [UInt8]? {
        let value = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, backupfs_getxattr(path, name, buffer.baseAddress, UInt(buffer.count)))
        }
        return value.isEmpty ? nil : value
    }

    /// Creates a folder and its missing parents, owner-only regardless of the umask.
    /// - Parameter isDurable: whether to wait for the disk; without it, a power cut may take the folders away.
    public static func makeDirectories(
        _ path: String, permissions: mode_t = 0o700, isDurable: Bool = true
    ) throws(BackupError) {
        if let status = try look(path) {
            guard status.kind == .directory else {
                throw BackupError(.notADirectory, "a file is in the way of a folder", path: path)
            }
            return
        }
        let parent = parentPath(path)
        if parent != path { try makeDirectories(parent, permissions: permissions, isDurable: isDurable) }
        try makeDirectory(path, permissions: permissions)
        if isDurable, parent != path { try synchronizeDirectory(parent) }
    }

    /// mkdir(2), but a no-op when the name exists.
    /// - Returns: whether it was created.
    @discardableResult
    public static func makeDirectory(_ path: String, permissions: mode_t = 0o700) throws(BackupError) -> Bool {
        try FileObservation.perform(.makeDirectory(path: path)) { () throws(BackupError) in
            if mkdir(path, permissions) == 0 {
                NewFileOwner.giveFolder(path)
                return true
            }
            guard errno == EEXIST else { throw SystemCall.error(errno, action: "make the folder", path: path) }
            return false
        }
    }

    /// rename(2): replaces an existing file atomically.
    public static func rename(_ old: String, to new: String) throws(BackupError) {
        try FileObservation.perform(.rename(from: old, to: new)) { () throws(BackupError) in
            try SystemCall.check("rename to \(lastComponent(new))", old) { Glibc.rename(old, new) }
        }
    }

    /// renameat2(2) with `RENAME_EXCHANGE`: swaps both names atomically.
    public static func exchange(_ first: String, _ second: String) throws(BackupError) {
        try FileObservation.perform(.exchange(first, second)) { () throws(BackupError) in
            try SystemCall.check("exchange with \(second)", first) { backupfs_exchange(first, second) }
        }
    }

    /// Removes a file; a no-op when it does not exist.
    public static func removeFile(_ path: String) throws(BackupError) {
        try FileObservation.perform(.remove(path: path)) { () throws(BackupError) in
            if unlink(path) == -1, errno != ENOENT { throw SystemCall.error(errno, action: "remove", path: path) }
        }
    }

    /// fsync of a folder: after it the names in the folder survive a power cut. Some file systems do not support it (older SMB,
    /// 9p, vboxsf): that error is ignored, as restic does.
    public static func synchronizeDirectory(_ path: String) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        try descriptor.synchronizeFolder()
    }

    /// utimensat(2) with the current time.
    /// - Throws: `notFound` when the file does not exist.
    public static func touch(_ path: String) throws(BackupError) {
        try SystemCall.check("set the time of", path) { utimensat(AT_FDCWD, path, nil, 0) }
    }

    /// Reads a file that the kernel generates on read (`/proc`, `/sys`), whose size is meaningless.
    /// - Parameter limitBytes: the rest of a longer file is not read.
    static func readVirtualFile(_ path: String, limitBytes: Int = 64 << 10) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: limitBytes)
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try descriptor.readFully(at: 0, into: buffer)
        }
        return Array(bytes[..<count])
    }

    /// `/a/b` for `/a/b/c`; `.` for a bare name.
    public static func parentPath(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The last component.
    public static func lastComponent(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return path }
        return String(path[path.index(after: slash)...])
    }

    /// The absolute form of `path`, relative to the current folder, without trailing slashes; keeps symbolic links.
    public static func absolutePath(_ path: String) -> String {
        var path = path
        // Shells complete folder names with a slash: `a/` is `a` itself, not an entry in it.
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        if path.hasPrefix("/") { return path }
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return String(cString: current) + "/" + path
    }

    static func circle(_ path: String) -> BackupError {
        BackupError(
            .inputOutput, "the symbolic links lead in a circle", path: path, remedy: "Mend the links, and try again.")
    }
}

/// The owner of new files and folders when root works in the store of another user.
///
/// Otherwise one `sudo backupfs backup` leaves files in the repository that its owner cannot read, and every later command of the
/// owner fails. Only entries created in folders of that user change owner.
public enum NewFileOwner {
    private struct Owner: Equatable {
        let user: uid_t
        let group: gid_t
    }

    private static let owner = Mutex<Owner?>(nil)

    /// From now on, files that root creates belong to the owner of this folder. A no-op for other users, and for a folder of
    /// root.
    public static func follow(_ folder: FileStatus) {
        guard geteuid() == 0, folder.owner != 0 else { return }
        owner.withLock { $0 = Owner(user: folder.owner, group: folder.group) }
    }

    /// The owner for a new entry at `path`; `nil` when root stays the owner.
    private static func owner(at path: String) -> Owner? {
        guard let owner = owner.withLock({ $0 }), let folder = FileSystem.statusIfPresent(FileSystem.parentPath(path)),
            folder.owner == owner.user
        else { return nil }
        return owner
    }

    /// open(2) with `O_CREAT`. Changes the owner of new files only, never of a link's target.
    /// - Returns: the result of open(2).
    static func create(_ path: String, _ flags: Int32, _ permissions: mode_t) -> Int32 {
        guard let owner = owner(at: path) else { return Glibc.open(path, flags, permissions) }
        while true {
            let made = Glibc.open(path, flags | O_EXCL, permissions)
            if made >= 0 {
                give(made, to: owner)
                return made
            }
            guard errno == EEXIST, flags & O_EXCL == 0 else { return made }
            let opened = Glibc.open(path, flags & ~O_CREAT, permissions)
            // It was removed in between, unless it is a dangling link.
            guard opened < 0, errno == ENOENT, FileSystem.isMissing(path) else { return opened }
        }
    }

    /// After mkdir(2).
    static func giveFolder(_ path: String) {
        guard let owner = owner(at: path) else { return }
        let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return }
        give(folder, to: owner)
        close(folder)
    }

    /// When root creates a file or folder of the app: gives it to the owner of its folder. The app may run as that user, and
    /// could not open it.
    public static func giveToOwnerOfFolder(_ path: String) {
        guard geteuid() == 0, let folder = FileSystem.statusIfPresent(FileSystem.parentPath(path)), folder.owner != 0 else {
            return
        }
        let made = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard made >= 0 else { return }
        give(made, to: Owner(user: folder.owner, group: folder.group))
        close(made)
    }

    /// The same, for an open file that root has made for the app in that folder.
    public static func give(_ file: borrowing OwnedDescriptor, toOwnerOf folder: FileStatus) {
        guard geteuid() == 0, folder.owner != 0 else { return }
        give(file.rawValue, to: Owner(user: folder.owner, group: folder.group))
    }

    /// File systems without owners, and servers that do not let root change owners, refuse: the file then keeps its owner.
    private static func give(_ descriptor: Int32, to owner: Owner) { _ = fchown(descriptor, owner.user, owner.group) }
}

extension FileSystem {
    fileprivate static func isMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 && errno == ENOENT
    }
}

import BackupCore
import CLinux
import Glibc

/// Files and folders by path: the basic calls. Paths are bytes: a `String` made from a name that is not UTF-8 would not find the file again, so
/// walks of a media folder use `DirectoryReader`.
public enum FileSystem {
    /// lstat(2).
    /// - Throws: `notFound` and so on.
    public static func status(_ path: String) throws(BackupError) -> FileStatus {
        var value = stat()
        try SystemCall.check("read the attributes", path) { lstat(path, &value) }
        return FileStatus(value)
    }

    /// stat(2): the status of a symbolic link's target; `nil` when nothing is there or it cannot be read. For display and estimates only; decisions use
    /// `look`, which distinguishes the two.
    public static func statusIfPresent(_ path: String) -> FileStatus? {
        var value = stat()
        guard SystemCall.retrying({ stat(path, &value) }) == 0 else { return nil }
        return FileStatus(value)
    }

    /// getxattr(2); `nil` when there is no such attribute or file, or when the value has more than 4 KiB.
    public static func extendedAttribute(_ name: String, of path: String) -> [UInt8]? {
        let value = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, backupfs_getxattr(path, name, buffer.baseAddress, UInt(buffer.count)))
        }
        return value.isEmpty ? nil : value
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

    /// Creates a folder and its missing parents, owner-only regardless of the umask.
    public static func makeDirectories(_ path: String, permissions: mode_t = 0o700) throws(BackupError) {
        if let status = try look(path) {
            guard status.kind == .directory else {
                throw BackupError(.notADirectory, "a file is in the way of a folder", path: path)
            }
            return
        }
        let parent = parentPath(path)
        if parent != path { try makeDirectories(parent, permissions: permissions) }
        try makeDirectory(path, permissions: permissions)
        if parent != path { try synchronizeDirectory(parent) }
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

    /// Removes a folder with its contents, without following symbolic links; a no-op when it does not exist.
    public static func removeTree(_ path: String) throws(BackupError) {
        var value = stat()
        if SystemCall.retrying({ lstat(path, &value) }) == -1 {
            if errno == ENOENT { return }
            throw SystemCall.error(errno, action: "remove", path: path)
        }
        if FileStatus(value).kind == .directory {
            try DirectoryReader.removeContents(of: path)
            try FileObservation.perform(.removeDirectory(path: path)) { () throws(BackupError) in
                try SystemCall.check("remove the folder", path) { rmdir(path) }
            }
        } else {
            try removeFile(path)
        }
    }

    /// Changes the owner of a folder and its contents; does not follow symbolic links.
    public static func setOwner(ofTree path: String, _ owner: UInt32, _ group: UInt32) throws(BackupError) {
        try DirectoryReader.setOwner(ofTree: path, owner, group)
    }

    /// fsync of a folder: after it the names in the folder survive a power cut. Some file systems do not support it (older SMB, 9p, vboxsf): that error
    /// is ignored, as restic does.
    public static func synchronizeDirectory(_ path: String) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        try descriptor.synchronizeFolder()
    }

    /// Reads a small file whole.
    /// - Parameter limitBytes: a larger file is refused with `tooLarge` before it is read.
    /// - Throws: `notSupported` for anything but a file: reading a pipe would block until another program writes to it.
    public static func readFile(_ path: String, limitBytes: Int = 16 << 20) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.openFile(path)
        let size = try descriptor.status().size
        guard size <= UInt64(limitBytes) else {
            throw BackupError(.tooLarge, "the file has \(size) bytes, more than \(limitBytes)", path: path)
        }
        return try descriptor.readExactly(at: 0, count: Int(size))
    }

    /// Reads a file that the kernel generates on read (`/proc`, `/sys`), whose size is meaningless.
    static func readVirtualFile(_ path: String) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try descriptor.readFully(at: 0, into: buffer)
        }
        return Array(bytes[..<count])
    }

    /// Replaces a small file durably: temporary file beside it, write, fsync, rename, fsync of the folder. A crash at any point leaves the old
    /// content or the new.
    public static func writeFileAtomically(_ path: String, _ bytes: [UInt8], permissions: mode_t = 0o600) throws(BackupError) {
        let temporary = path + draftMark + "\(getpid())"
        do {
            let descriptor = try makeDraft(temporary, permissions)
            // Other users can read the file if `permissions` say so, regardless of the umask.
            if permissions != 0o600 { try descriptor.setPermissions(permissions) }
            try descriptor.writeAll(bytes)
            try descriptor.synchronize()
            try rename(temporary, to: path)
        } catch {
            try? removeFile(temporary)
            throw error
        }
        try synchronizeDirectory(parentPath(path))
    }

    /// Always creates a new file: an existing one (left by a crash, or a link that an attacker planted) is removed, not written to.
    private static func makeDraft(_ path: String, _ permissions: mode_t) throws(BackupError) -> OwnedDescriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL
        do {
            return try OwnedDescriptor.open(path, flags, permissions: permissions)
        } catch let error where error.code == .alreadyExists {
            try removeFile(path)
            return try OwnedDescriptor.open(path, flags, permissions: permissions)
        }
    }

    /// Space on the file system that holds `path`.
    public static func space(at path: String) throws(BackupError) -> FileSystemSpace {
        var value = statvfs()
        try SystemCall.check("read the free space", path) { statvfs(path, &value) }
        return FileSystemSpace(value)
    }
}

extension FileSystem {
    /// Replaces a small file atomically for its readers, without waiting for the disk: for data that is worthless after a crash.
    public static func writeForReaders(_ path: String, _ bytes: [UInt8]) throws(BackupError) {
        let temporary = path + draftMark + "\(getpid())-\(RandomToken.make())"
        do {
            try OwnedDescriptor.open(temporary, O_WRONLY | O_CREAT | O_EXCL).writeAll(bytes)
            try rename(temporary, to: path)
        } catch {
            try? removeFile(temporary)
            throw error
        }
    }
}

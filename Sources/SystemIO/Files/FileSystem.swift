import BackupCore
import CLinux
import Glibc

/// Files and folders by path: the calls everything else is made of. Paths are bytes in the end: a `String` made from a name
/// that is not UTF-8 would not find it again, so walking a media folder goes through `DirectoryReader`.
public enum FileSystem {
    /// lstat(2).
    /// - Throws: `notFound` and so on.
    public static func status(_ path: String) throws(BackupError) -> FileStatus {
        var value = stat()
        try SystemCall.check("read the attributes", path) { lstat(path, &value) }
        return FileStatus(value)
    }

    /// stat(2): the status of what a symbolic link points to; `nil` when there is nothing, and when it cannot be told. For what is shown and
    /// estimated: where something is decided, `look` tells the two apart.
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

    /// stat(2), for decisions: what cannot be looked at is not taken for what is not there.
    /// - Returns: `nil` when certainly nothing is there.
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
    /// - Throws: when it cannot be told.
    public static func exists(_ path: String) throws(BackupError) -> Bool { try look(path) != nil }

    /// Makes a folder, and the folders above it, unless they are there; owner-only whatever the umask.
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

    /// mkdir(2), but nothing happens when something of that name is there.
    /// - Returns: whether it was made.
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

    /// Absolute form of `path`, seen from the current folder, without slashes at its end; symbolic links stay as they are.
    public static func absolutePath(_ path: String) -> String {
        var path = path
        // As shells complete the names of folders: `a/` is `a` itself, not something in it.
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        if path.hasPrefix("/") { return path }
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return String(cString: current) + "/" + path
    }

    /// rename(2): replaces what is there, as one step.
    public static func rename(_ old: String, to new: String) throws(BackupError) {
        try FileObservation.perform(.rename(from: old, to: new)) { () throws(BackupError) in
            try SystemCall.check("rename to \(lastComponent(new))", old) { Glibc.rename(old, new) }
        }
    }

    /// renameat2(2) with `RENAME_EXCHANGE`: both names change places in one step.
    public static func exchange(_ first: String, _ second: String) throws(BackupError) {
        try FileObservation.perform(.exchange(first, second)) { () throws(BackupError) in
            try SystemCall.check("exchange with \(second)", first) { backupfs_exchange(first, second) }
        }
    }

    /// Removes a file; nothing happens when it is not there.
    public static func removeFile(_ path: String) throws(BackupError) {
        try FileObservation.perform(.remove(path: path)) { () throws(BackupError) in
            if unlink(path) == -1, errno != ENOENT { throw SystemCall.error(errno, action: "remove", path: path) }
        }
    }

    /// Removes a folder with all that is in it, without following symbolic links; nothing happens when it is not there.
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

    /// Gives a folder with all that is in it to somebody else; symbolic links are not followed.
    public static func setOwner(ofTree path: String, _ owner: UInt32, _ group: UInt32) throws(BackupError) {
        try DirectoryReader.setOwner(ofTree: path, owner, group)
    }

    /// fsync of a folder: after it the names in it survive a power cut. Some file systems have no such call (older SMB, 9p, vboxsf): then nothing
    /// more can be done, as restic sees it too.
    public static func synchronizeDirectory(_ path: String) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        try descriptor.synchronizeFolder()
    }

    /// Whole small file.
    /// - Parameter limitBytes: a larger file is refused with `tooLarge` before it is read.
    /// - Throws: `notSupported` for what is no file: a pipe would let nobody go on until another program writes to it.
    public static func readFile(_ path: String, limitBytes: Int = 16 << 20) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.openFile(path)
        let size = try descriptor.status().size
        guard size <= UInt64(limitBytes) else {
            throw BackupError(.tooLarge, "the file has \(size) bytes, more than \(limitBytes)", path: path)
        }
        return try descriptor.readExactly(at: 0, count: Int(size))
    }

    /// A file that the kernel makes when it is read (`/proc`, `/sys`), whose size says nothing.
    static func readVirtualFile(_ path: String) throws(BackupError) -> [UInt8] {
        let descriptor = try OwnedDescriptor.open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in
            try descriptor.readFully(at: 0, into: buffer)
        }
        return Array(bytes[..<count])
    }

    /// Replaces a small file durably: temporary file beside it, write, fsync, rename, fsync of the folder. A crash at any
    /// point leaves the old content or the new.
    public static func writeFileAtomically(_ path: String, _ bytes: [UInt8], permissions: mode_t = 0o600) throws(BackupError) {
        let temporary = path + draftMark + "\(getpid())"
        do {
            let descriptor = try makeDraft(temporary, permissions)
            // What others are to read, they may, whatever the umask.
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

    /// A new file and no other: what has its name already (a crash left it, or somebody planted a link there) is removed, not written to.
    private static func makeDraft(_ path: String, _ permissions: mode_t) throws(BackupError) -> OwnedDescriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL
        do {
            return try OwnedDescriptor.open(path, flags, permissions: permissions)
        } catch let error where error.code == .alreadyExists {
            try removeFile(path)
            return try OwnedDescriptor.open(path, flags, permissions: permissions)
        }
    }

    /// Space of the file system that holds `path`.
    public static func space(at path: String) throws(BackupError) -> FileSystemSpace {
        var value = statvfs()
        try SystemCall.check("read the free space", path) { statvfs(path, &value) }
        return FileSystemSpace(value)
    }
}

extension FileSystem {
    /// Replaces a small file as one step for its readers, without waiting for the disk: for what is worth nothing after a crash.
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

import BackupCore
import CLinux
import Glibc

/// Changes to the entries of a folder. An existing entry is never opened for writing, and replaced only by `replace`.
extension DirectoryHandle {
    /// The mode bits that new files lack (umask(2)), as of program start.
    public static let creationMask: mode_t = {
        let text = (try? FileSystem.readVirtualFile("/proc/self/status")) ?? []
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Umask:") }
        let digits = line?.split(whereSeparator: { $0 == "\t" || $0 == " " }).last
        // If unknown, every mode is set explicitly.
        return digits.flatMap { mode_t($0, radix: 8) } ?? 0o777
    }()

    // MARK: Creating

    /// mkdirat(2), for the owner only.
    /// - Throws: `alreadyExists`, `noSpace`, …
    public func makeFolder(_ name: FileName) throws(BackupError) -> DirectoryHandle {
        try makeDirectory(name, absent: [])
        return opened(name, try call("make the folder", name) { openat($0, $1, Self.directoryFlags) })
    }

    /// The same; a no-op when the name exists.
    public func makeDirectoryIfMissing(_ name: FileName) throws(BackupError) { try makeDirectory(name, absent: [EEXIST]) }

    private func makeDirectory(_ name: FileName, absent: [Int32]) throws(BackupError) {
        try FileObservation.perform(.makeDirectory(path: "\(path)/\(name)")) { () throws(BackupError) in
            _ = try callIfPresent("make the folder", name, absent: absent) { mkdirat($0, $1, 0o700) }
        }
    }

    /// The folder of that name in this one, created if missing, here or by another thread at the same moment.
    public func openOrMakeFolder(_ name: FileName) throws(BackupError) -> DirectoryHandle {
        if let folder = try openFolder(name) { return folder }
        try makeDirectoryIfMissing(name)
        return opened(name, try call("open the folder", name) { openat($0, $1, Self.directoryFlags) })
    }

    /// Creates a file for writing.
    /// - Parameter permissions: exactly these, regardless of the umask.
    /// - Throws: `alreadyExists`, `noSpace`, …; an error may leave an empty file.
    public func createFile(_ name: FileName, permissions: mode_t) throws(BackupError) -> OwnedDescriptor {
        let plain = permissions & 0o777
        let file = try createFile(name, upTo: plain)
        if plain & ~Self.creationMask != permissions { try file.setPermissions(permissions) }
        return file
    }

    /// The same.
    /// - Parameter permissions: the umask, or an ACL of the folder, can take some away.
    public func createFile(_ name: FileName, upTo permissions: mode_t) throws(BackupError) -> OwnedDescriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let number = try OwnedDescriptor.opening("\(path)/\(name)", flags) { () throws(BackupError) in
            try call("create the file", name) { openat($0, $1, flags, permissions & 0o777) }
        }
        return OwnedDescriptor(owning: number, name, in: path)
    }

    /// open(2) with `O_TMPFILE`: a file for writing that has no name in this folder yet, and that is gone when the program ends
    /// without giving it one.
    /// - Parameter permissions: the umask can take some away.
    /// - Returns: `nil` on a file system without such files.
    public func createNamelessFile(upTo permissions: mode_t) throws(BackupError) -> OwnedDescriptor? {
        // As in <fcntl.h>, whose macro Swift does not see.
        let flags = O_WRONLY | O_DIRECTORY | 0o20_000_000 | O_CLOEXEC
        let number = openat(descriptor.rawValue, ".", flags, permissions & 0o777)
        if number >= 0 { return OwnedDescriptor(owning: number, path: path) }
        guard errno != EOPNOTSUPP, errno != EISDIR, errno != EINVAL, errno != ENOENT else { return nil }
        throw SystemCall.error(errno, action: "create a file", path: path)
    }

    /// Gives such a file a name in this folder. Replaces nothing.
    /// - Throws: `alreadyExists`, `noSpace`, …
    public func link(nameless file: borrowing OwnedDescriptor, as name: FileName) throws(BackupError) {
        let source = "/proc/self/fd/\(file.rawValue)"
        try call("create the file", name) { linkat(AT_FDCWD, source, $0, $1, AT_SYMLINK_FOLLOW) }
    }

    /// symlinkat(2), with the link's own modification time.
    public func createLink(_ name: FileName, to target: [UInt8], modificationTime: Timestamp) throws(BackupError) {
        try FileObservation.perform(.makeLink(path: "\(path)/\(name)", target: target)) { () throws(BackupError) in
            _ = try FileName(bytes: target).withCString { (cTarget) throws(BackupError) in
                try call("make the link", name) { symlinkat(cTarget, $0, $1) }
            }
        }
        try setModificationTime(of: name, modificationTime)
    }

    /// utimensat(2) of the entry of that name; of a symbolic link, the link itself.
    public func setModificationTime(of name: FileName, _ time: Timestamp) throws(BackupError) {
        let value = timespec(tv_sec: time_t(time.seconds), tv_nsec: Int(time.nanoseconds))
        try call("set the time", name) { utimensat($0, $1, [value, value], AT_SYMLINK_NOFOLLOW) }
    }

    /// linkat(2): creates a second name for a file, in another folder or this one. Replaces nothing.
    /// - Throws: `alreadyExists`, `crossDevice`, `notPermitted` where the file system has no hard links, …
    public func link(_ name: FileName, in other: DirectoryHandle, as newName: FileName) throws(BackupError) {
        try call("link to \(other.path)/\(newName)", name) { folder, cName in
            newName.withCString { linkat(folder, cName, other.descriptor.rawValue, $0, 0) }
        }
    }

    // MARK: Removing

    /// unlinkat(2).
    /// - Throws: `notFound`; `notEmpty` for a folder that is not empty.
    public func remove(_ name: FileName, isDirectory: Bool) throws(BackupError) {
        try unlink(name, isDirectory: isDirectory) { (call) throws(BackupError) in try self.call("remove", name, call) }
    }

    /// Removes a file; a no-op when it does not exist.
    public func removeFile(_ name: FileName) throws(BackupError) {
        try unlink(name, isDirectory: false) { (call) throws(BackupError) in try callIfPresent("remove", name, call) }
    }

    /// Removes an empty folder; a no-op when it does not exist.
    /// - Throws: `notEmpty`, …
    public func removeFolder(_ name: FileName) throws(BackupError) {
        try unlink(name, isDirectory: true) { (call) throws(BackupError) in try callIfPresent("remove the folder", name, call) }
    }

    private func unlink(
        _ name: FileName, isDirectory: Bool,
        _ body: ((Int32, UnsafePointer<CChar>) -> Int32) throws(BackupError) -> Int32?
    ) throws(BackupError) {
        let fullPath = "\(path)/\(name)"
        try FileObservation.perform(
            isDirectory ? .removeDirectory(path: fullPath) : .remove(path: fullPath)
        ) { () throws(BackupError) in
            _ = try body { folder, cName in
                let result = unlinkat(folder, cName, isDirectory ? AT_REMOVEDIR : 0)
                // POSIX allows either error for a folder that is not empty.
                if result == -1, errno == EEXIST { errno = ENOTEMPTY }
                return result
            }
        }
    }

    // MARK: Moving

    /// Moves an entry from this folder to another one of the same file system.
    ///
    /// Atomic where the file system has `RENAME_NOREPLACE`; network, FUSE and FAT file systems do not. There, a file gets its new
    /// name as a hard link before it loses the old one. An entry that cannot have a hard link is renamed after a check. Between
    /// the check and the rename, another program's file of that name would be replaced, but never a folder that is not empty.
    /// - Throws: `alreadyExists`: nothing is replaced.
    public func move(_ name: FileName, to other: DirectoryHandle, as newName: FileName) throws(BackupError) {
        func from() -> String { "\(path)/\(name)" }
        func to() -> String { "\(other.path)/\(newName)" }
        try FileObservation.perform(.rename(from: from(), to: to())) { () throws(BackupError) in
            let failure = name.withCString { cName in
                newName.withCString {
                    Self.moveWithoutReplacing(descriptor.rawValue, cName, other.descriptor.rawValue, $0)
                }
            }
            if failure != 0 { throw SystemCall.error(failure, action: "rename to \(to())", path: from()) }
        }
    }

    /// renameat(2): moves a file from this folder to another one of the same file system, in the place of the file that has the
    /// new name there. Atomic: a reader finds the old file or the new one.
    public func replace(_ name: FileName, in other: DirectoryHandle, as newName: FileName) throws(BackupError) {
        let (from, to) = ("\(path)/\(name)", "\(other.path)/\(newName)")
        try FileObservation.perform(.rename(from: from, to: to)) { () throws(BackupError) in
            try call("rename to \(to)", name) { folder, cName in
                newName.withCString { renameat(folder, cName, other.descriptor.rawValue, $0) }
            }
        }
    }

    /// - Returns: 0, or the errno value.
    private static func moveWithoutReplacing(
        _ folder: Int32, _ name: UnsafePointer<CChar>, _ target: Int32, _ newName: UnsafePointer<CChar>
    ) -> Int32 {
        if backupfs_rename_without_replacing(folder, name, target, newName) == 0 { return 0 }
        guard errno == EINVAL || errno == ENOSYS || errno == ENOTSUP else { return errno }
        if linkat(folder, name, target, newName, 0) == 0 {
            if unlinkat(folder, name, 0) == 0 { return 0 }
            let failure = errno
            // The file stays in place, under one name.
            unlinkat(target, newName, 0)
            return failure
        }
        if errno == EEXIST { return EEXIST }
        // Folders cannot have hard links; on FAT nothing can.
        var present = stat()
        if fstatat(target, newName, &present, AT_SYMLINK_NOFOLLOW) == 0 { return EEXIST }
        guard errno == ENOENT else { return errno }
        return renameat(folder, name, target, newName) == 0 ? 0 : errno
    }

    // MARK: Attributes

    /// `O_PATH`, which Swift's libc module lacks.
    private static let placeOnly: Int32 = 0o10000000

    /// Sets a folder's mode so that its owner can enter it. Does not follow a symbolic link that has taken its name.
    /// - Returns: whether its mode was set.
    @discardableResult
    public func makeAccessible(_ name: FileName) -> Bool {
        // Opened with `O_PATH`, since its mode may forbid opening it; fchmod(2) rejects such a descriptor, but chmod(2) accepts
        // its path in /proc.
        guard let place = try? open(name, Self.placeOnly | O_DIRECTORY) else { return false }
        return chmod("/proc/self/fd/\(place.rawValue)", 0o700) == 0
    }

    /// fchownat(2) of the entry of that name; of a symbolic link, the link itself.
    public func setOwner(of name: FileName, _ owner: FileOwner) throws(BackupError) {
        try call("set the owner", name) { fchownat($0, $1, owner.user, owner.group, AT_SYMLINK_NOFOLLOW) }
    }

    /// Sets what must wait until the folder is complete: a mode that may forbid writing, and a time that filling it changes.
    public func finish(permissions: mode_t, modificationTime: Timestamp) throws(BackupError) {
        try descriptor.setPermissions(permissions)
        try descriptor.setModificationTime(modificationTime)
    }

    /// fsync(2), if the file system supports it for folders.
    public func synchronize() throws(BackupError) { try descriptor.synchronizeFolder() }
}

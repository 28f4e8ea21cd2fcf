import BackupCore
import CLinux
import Glibc

/// A folder that several threads fill concurrently. Every entry is created relative to the folder's descriptor, so long paths and
/// concurrent renames of folders do no harm. An existing entry is never opened for writing or replaced.
public final class FolderHandle: Sendable {
    private let descriptor: OwnedDescriptor
    /// As given when it was opened; a rename of the folder does not change it.
    public var path: String { descriptor.path }

    /// - Throws: `notFound`, `notADirectory`, `accessDenied`. Does not follow a symbolic link.
    public init(path: String) throws(BackupError) {
        descriptor = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    private init(descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

    /// The mode bits that new files lack (umask(2)), as of program start.
    public static let creationMask: mode_t = {
        let text = (try? FileSystem.readVirtualFile("/proc/self/status")) ?? []
        let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Umask:") }
        let digits = line?.split(whereSeparator: { $0 == "\t" || $0 == " " }).last
        // If unknown, every mode is set explicitly.
        return digits.flatMap { mode_t($0, radix: 8) } ?? 0o777
    }()

    /// mkdirat(2), for the owner only.
    /// - Throws: `alreadyExists`, `noSpace`, …
    public func makeFolder(_ name: FileName) throws(BackupError) -> FolderHandle {
        let folder = descriptor.rawValue
        let number = name.withCString { cName in
            guard mkdirat(folder, cName, 0o700) == 0 else { return Int32(-1) }
            return openat(folder, cName, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard number >= 0 else { throw SystemCall.error(errno, action: "make the folder", path: "\(path)/\(name)") }
        return FolderHandle(descriptor: OwnedDescriptor(owning: number, path: "\(path)/\(name)"))
    }

    /// Creates a file for writing.
    /// - Parameter permissions: exactly these, regardless of the umask.
    /// - Throws: `alreadyExists`, `noSpace`, …; an error may leave an empty file.
    public func createFile(_ name: FileName, permissions: mode_t) throws(BackupError) -> OwnedDescriptor {
        let folder = descriptor.rawValue
        let plain = permissions & 0o777
        let number = name.withCString { cName in
            SystemCall.retrying { openat(folder, cName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, plain) }
        }
        guard number >= 0 else { throw SystemCall.error(errno, action: "create the file", path: "\(path)/\(name)") }
        let file = OwnedDescriptor(owning: number, path: "\(path)/\(name)")
        if plain & ~Self.creationMask != permissions { try file.setPermissions(permissions) }
        return file
    }

    /// symlinkat(2), with the link's own modification time.
    public func makeLink(_ name: FileName, to target: [UInt8], modificationTime: Timestamp) throws(BackupError) {
        let folder = descriptor.rawValue
        let value = timespec(tv_sec: time_t(modificationTime.seconds), tv_nsec: Int(modificationTime.nanoseconds))
        let result = name.withCString { cName in
            FileName(bytes: target).withCString { cTarget in
                guard symlinkat(cTarget, folder, cName) == 0 else { return Int32(-1) }
                return utimensat(folder, cName, [value, value], AT_SYMLINK_NOFOLLOW)
            }
        }
        guard result == 0 else { throw SystemCall.error(errno, action: "make the link", path: "\(path)/\(name)") }
    }

    /// Removes a file; a no-op when it does not exist.
    public func removeFile(_ name: FileName) throws(BackupError) {
        let folder = descriptor.rawValue
        let fullPath = "\(path)/\(name)"
        try FileObservation.perform(.remove(path: fullPath)) { () throws(BackupError) in
            let failure = name.withCString { unlinkat(folder, $0, 0) == 0 ? 0 : errno }
            if failure != 0, failure != ENOENT { throw SystemCall.error(failure, action: "remove", path: fullPath) }
        }
    }

    /// Removes an empty folder; a no-op when it does not exist.
    /// - Throws: `notEmpty`, …
    public func removeFolder(_ name: FileName) throws(BackupError) {
        let folder = descriptor.rawValue
        let fullPath = "\(path)/\(name)"
        try FileObservation.perform(.removeDirectory(path: fullPath)) { () throws(BackupError) in
            let failure = name.withCString { unlinkat(folder, $0, AT_REMOVEDIR) == 0 ? 0 : errno }
            // POSIX allows either error.
            if failure == EEXIST { throw SystemCall.error(ENOTEMPTY, action: "remove the folder", path: fullPath) }
            if failure != 0, failure != ENOENT { throw SystemCall.error(failure, action: "remove the folder", path: fullPath) }
        }
    }

    /// The same folder, for listing its entries.
    public func reader() throws(BackupError) -> DirectoryReader {
        let folder = descriptor.rawValue
        let number = try SystemCall.check("open the folder", path) { openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        return DirectoryReader(descriptor: OwnedDescriptor(owning: number, path: path))
    }

    /// The folder of that name in this one; `nil` when there is none.
    public func open(_ name: FileName) throws(BackupError) -> FolderHandle? {
        let folder = descriptor.rawValue
        let number = name.withCString { openat(folder, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        if number < 0, errno == ENOENT { return nil }
        guard number >= 0 else { throw SystemCall.error(errno, action: "open the folder", path: "\(path)/\(name)") }
        return FolderHandle(descriptor: OwnedDescriptor(owning: number, path: "\(path)/\(name)"))
    }

    /// The folder of that name in this one; `nil` when the name is missing or is not a folder.
    public func openFolder(_ name: FileName) throws(BackupError) -> FolderHandle? {
        do {
            return try open(name)
        } catch let error where error.code == .notADirectory {
            return nil
        }
    }

    /// The folder of that name in this one, created if missing.
    public func openOrMakeFolder(_ name: FileName) throws(BackupError) -> FolderHandle {
        if let folder = try openFolder(name) { return folder }
        return try makeFolder(name)
    }

    /// lstat of the entry of that name; `nil` when there is none.
    public func status(_ name: FileName) throws(BackupError) -> FileStatus? {
        let folder = descriptor.rawValue
        var value = stat()
        let result = name.withCString { cName in fstatat(folder, cName, &value, AT_SYMLINK_NOFOLLOW) }
        if result == 0 { return FileStatus(value) }
        guard errno == ENOENT else { throw SystemCall.error(errno, action: "read the attributes", path: "\(path)/\(name)") }
        return nil
    }

    /// `O_PATH`, which Swift's libc module lacks.
    private static let placeOnly: Int32 = 0o10000000

    /// Sets a folder's mode so that its owner can enter it. Does not follow a symbolic link that has taken its name.
    /// - Returns: whether its mode was set.
    @discardableResult
    public func makeAccessible(_ name: FileName) -> Bool {
        let folder = descriptor.rawValue
        // Opened with `O_PATH`, since its mode may forbid opening it; fchmod(2) rejects such a descriptor, but chmod(2) accepts
        // its path in /proc.
        let number = name.withCString { openat(folder, $0, Self.placeOnly | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard number >= 0 else { return false }
        defer { close(number) }
        return chmod("/proc/self/fd/\(number)", 0o700) == 0
    }

    /// fsync(2), if the file system supports it for folders.
    public func synchronize() throws(BackupError) { try descriptor.synchronizeFolder() }

    /// Whether another program has locked the file of that name. A program that reads or writes an SQLite database, or has one
    /// with a log open, locks it. A file that cannot be opened counts as not locked.
    public func isLocked(_ name: FileName) -> Bool {
        let folder = descriptor.rawValue
        let number = name.withCString { openat(folder, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard number >= 0 else { return false }
        defer { close(number) }
        return backupfs_is_locked(number) == 1
    }

    /// The file of that name, for reading; `nil` when there is none. Opens nothing else: no link, no pipe.
    public func openFile(_ name: FileName) throws(BackupError) -> OwnedDescriptor? {
        let folder = descriptor.rawValue
        let number = try OwnedDescriptor.waitingForLease { () throws(BackupError) -> Int32? in
            let number = name.withCString { openat(folder, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
            if number < 0, errno == ENOENT || errno == ELOOP { return nil }
            guard number >= 0 else { throw SystemCall.error(errno, action: "open the file", path: "\(path)/\(name)") }
            return number
        }
        guard let number else { return nil }
        let file = OwnedDescriptor(owning: number, path: "\(path)/\(name)")
        guard try file.status().kind == .regular else { return nil }
        return file
    }

    /// The target of the symbolic link of that name; `nil` when there is none.
    public func linkTarget(_ name: FileName) throws(BackupError) -> [UInt8]? {
        let folder = descriptor.rawValue
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = name.withCString { readlinkat(folder, $0, &buffer, buffer.count) }
        if count < 0, errno == ENOENT || errno == EINVAL { return nil }
        guard count >= 0 else { throw SystemCall.error(errno, action: "read the link", path: "\(path)/\(name)") }
        return buffer[..<count].map { UInt8(bitPattern: $0) }
    }

    /// Moves an entry from this folder to another one of the same file system in one step; a no-op when it does not exist.
    /// - Parameter isFolder: a folder is first made writable for its owner, since a move changes its “..”.
    /// - Throws: `alreadyExists`: nothing is replaced.
    public func move(_ name: FileName, to other: FolderHandle, isFolder: Bool) throws(BackupError) {
        if isFolder { makeAccessible(name) }
        do {
            try move(name, to: other, as: name)
        } catch let error where error.code == .notFound {}
    }

    /// Moves an entry from this folder to another one of the same file system.
    ///
    /// Atomic where the file system has `RENAME_NOREPLACE`; network, FUSE and FAT file systems do not. There, a file gets its new
    /// name as a hard link before it loses the old one. An entry that cannot have a hard link is renamed after a check. Between
    /// the check and the rename, another program's file of that name would be replaced, but never a folder that is not empty.
    /// - Throws: `alreadyExists`: nothing is replaced.
    public func move(_ name: FileName, to other: FolderHandle, as newName: FileName) throws(BackupError) {
        let (folder, target) = (descriptor.rawValue, other.descriptor.rawValue)
        let (from, to) = ("\(path)/\(name)", "\(other.path)/\(newName)")
        try FileObservation.perform(.rename(from: from, to: to)) { () throws(BackupError) in
            let failure = name.withCString { cName in
                newName.withCString { Self.moveWithoutReplacing(folder, cName, target, $0) }
            }
            if failure != 0 { throw SystemCall.error(failure, action: "rename to \(to)", path: from) }
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

    /// Sets what must wait until the folder is complete: a mode that may forbid writing, and a time that filling it changes.
    public func finish(permissions: mode_t, modificationTime: Timestamp) throws(BackupError) {
        try descriptor.setPermissions(permissions)
        try descriptor.setModificationTime(modificationTime)
    }

    /// chown(2) of the folder itself.
    public func setOwner(_ owner: FileOwner) throws(BackupError) { try descriptor.setOwner(owner) }

    /// fchmod(2) of the folder itself.
    public func setPermissions(_ permissions: mode_t) throws(BackupError) { try descriptor.setPermissions(permissions) }

    /// For the folder itself.
    public func setExtendedAttributes(_ attributes: [ExtendedAttribute], permissions: mode_t) -> BackupError? {
        descriptor.setExtendedAttributes(attributes, permissions: permissions)
    }

    /// The attributes of the folder itself that backups keep.
    public func extendedAttributes() throws(BackupError) -> [ExtendedAttribute] { try descriptor.extendedAttributes() }

    /// The status of the folder itself.
    public func status() throws(BackupError) -> FileStatus { try descriptor.status() }

    /// fchownat(2) of the entry of that name; of a symbolic link, the link itself.
    public func setOwner(of name: FileName, _ owner: FileOwner) throws(BackupError) {
        let folder = descriptor.rawValue
        let result = name.withCString { fchownat(folder, $0, owner.user, owner.group, AT_SYMLINK_NOFOLLOW) }
        guard result == 0 else { throw SystemCall.error(errno, action: "set the owner", path: "\(path)/\(name)") }
    }

    /// linkat(2): creates a second name for a file, in another folder or this one. Replaces nothing.
    /// - Throws: `alreadyExists`, `crossDevice`, `notPermitted` where the file system has no hard links, …
    public func link(_ name: FileName, in other: FolderHandle, as newName: FileName) throws(BackupError) {
        let (folder, target) = (descriptor.rawValue, other.descriptor.rawValue)
        let failure = name.withCString { cName in
            newName.withCString { linkat(folder, cName, target, $0, 0) == 0 ? 0 : errno }
        }
        if failure != 0 { throw SystemCall.error(failure, action: "link to \(other.path)/\(newName)", path: "\(path)/\(name)") }
    }

    /// syncfs(2).
    public func synchronizeFileSystem() throws(BackupError) { try descriptor.synchronizeFileSystem() }
}

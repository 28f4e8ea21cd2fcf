import BackupCore
import Glibc
import SystemIO

/// Creates files and folders that only their owner can read, regardless of the umask.
enum PrivateFile {
    /// Creates a file for reading and writing; it must not exist yet.
    static func createFile(_ path: String) throws(BackupError) -> OwnedDescriptor {
        let descriptor = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        guard fchmod(descriptor.rawValue, 0o600) == 0 else {
            let failure = errno
            try? FileSystem.removeFile(path)
            throw SystemCall.error(failure, action: "change the mode", path: path)
        }
        return descriptor
    }

    /// Creates one folder durably; a no-op when it exists.
    static func makeFolder(_ path: String) throws(BackupError) {
        guard try FileSystem.makeDirectory(path) else { return }
        guard chmod(path, 0o700) == 0 else { throw SystemCall.error(errno, action: "change the mode", path: path) }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
    }

    /// Replaces a small file atomically and durably: a crash leaves the old file or the new one. It is written in
    /// `temporaryFolder`, on the same file system.
    /// - Parameter isDurable: whether to wait for the disk; without it, a power cut may leave any content.
    static func publish(
        _ bytes: [UInt8], to path: String, temporaryFolder: String, modificationTime: Timestamp? = nil, isDurable: Bool = true,
        beforeRename: () throws(BackupError) -> Void = {}
    ) throws(BackupError) {
        let temporary = "\(temporaryFolder)/\(RandomToken.make())"
        do {
            let descriptor = try createFile(temporary)
            try descriptor.writeAll(bytes)
            if let modificationTime { try descriptor.setModificationTime(modificationTime) }
            if isDurable { try descriptor.synchronize() }
            try beforeRename()
            try FileSystem.rename(temporary, to: path)
        } catch {
            try? FileSystem.removeFile(temporary)
            throw error
        }
        if isDurable { try FileSystem.synchronizeDirectory(FileSystem.parentPath(path)) }
    }
}

/// `damaged/` of a repository: holds files that a repair replaces, and files that cannot be saved.
struct DamagedFolder {
    let layout: RepositoryLayout
    /// Called before anything is moved or written; throws if the locks are no longer held.
    let requireHeld: () throws(BackupError) -> Void

    func path(of original: String) -> String { "\(layout.damaged)/\(FileSystem.lastComponent(original))" }

    /// Moves a file here, durably.
    func setAside(_ original: String) throws(BackupError) {
        try PrivateFile.makeFolder(layout.damaged)
        try move(original, to: path(of: original))
    }

    /// Moves a file back to where it was, durably.
    func putBack(_ original: String) throws(BackupError) { try move(path(of: original), to: original) }

    private func move(_ old: String, to new: String) throws(BackupError) {
        try requireHeld()
        if let upstream = layout.upstream { return try upstream.moveRecord(old, to: new) }
        try FileSystem.rename(old, to: new)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(new))
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(old))
    }

    /// Moves a pack here, durably.
    func setAside(_ pack: PackID) throws(BackupError) {
        guard let upstream = layout.upstream else { return try setAside(layout.packPath(of: pack)) }
        try requireHeld()
        try upstream.setAside(pack)
    }

    /// Keeps a copy of a file's previous contents.
    func keepCopy(_ bytes: [UInt8], of original: String) throws(BackupError) {
        try PrivateFile.makeFolder(layout.damaged)
        try publish(bytes, to: path(of: original))
    }

    /// Replaces a file by a better one.
    func publish(_ bytes: [UInt8], to path: String, modificationTime: Timestamp? = nil) throws(BackupError) {
        try layout.publish(bytes, to: path, modificationTime: modificationTime, beforeRename: requireHeld)
    }
}

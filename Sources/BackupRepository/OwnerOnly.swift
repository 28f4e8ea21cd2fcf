import BackupCore
import Glibc
import SystemIO

/// Files and folders that only their owner may read, whatever the umask.
enum OwnerOnly {
    /// Creates a file that must not be there yet, for reading and writing.
    static func createFile(_ path: String) throws(BackupError) -> OwnedDescriptor {
        let descriptor = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        guard fchmod(descriptor.rawValue, 0o600) == 0 else {
            let failure = errno
            try? FileSystem.removeFile(path)
            throw SystemCall.error(failure, action: "change the mode", path: path)
        }
        return descriptor
    }

    /// Makes one folder durably; nothing happens when it is there.
    static func makeFolder(_ path: String) throws(BackupError) {
        guard try FileSystem.makeDirectory(path) else { return }
        guard chmod(path, 0o700) == 0 else { throw SystemCall.error(errno, action: "change the mode", path: path) }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
    }

    /// Puts a small file in place in one step, durably: it is written in `temporaryFolder`, which is on the same file system.
    /// A crash leaves the old file or the new one.
    static func publish(
        _ bytes: [UInt8], to path: String, temporaryFolder: String, modificationTime: Timestamp? = nil,
        beforeRename: () throws(BackupError) -> Void = {}
    ) throws(BackupError) {
        let temporary = "\(temporaryFolder)/\(RandomToken.make())"
        do {
            let descriptor = try createFile(temporary)
            try descriptor.writeAll(bytes)
            if let modificationTime { try descriptor.setModificationTime(modificationTime) }
            try descriptor.synchronize()
            try beforeRename()
            try FileSystem.rename(temporary, to: path)
        } catch {
            try? FileSystem.removeFile(temporary)
            throw error
        }
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
    }
}

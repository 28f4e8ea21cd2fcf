import BackupCore
import CLinux
import Glibc

/// A folder with all that is in it.
extension FileSystem {
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

    /// Makes a folder and its contents durable: by syncfs(2), or file by file where syncfs could hide an error or not reach the
    /// disk (Linux before 5.8, FUSE).
    public static func synchronizeTree(_ path: String) throws(BackupError) {
        let reader = try DirectoryReader(path: path)
        if backupfs_syncfs_is_reliable(reader.descriptor.rawValue) == 1 {
            try reader.descriptor.synchronizeFileSystem()
        } else {
            try reader.synchronizeContents()
        }
    }
}

extension DirectoryReader {
    fileprivate static func removeContents(of path: String) throws(BackupError) {
        try DirectoryReader(descriptor: OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)).removeContents()
    }

    private borrowing func removeContents() throws(BackupError) {
        for name in try names() {
            let isDirectory = try status(name).kind == .directory
            if isDirectory {
                try requireNoMount(name)
                try openDirectory(name).removeContents()
            }
            try remove(name, isDirectory: isDirectory)
        }
    }

    fileprivate static func setOwner(ofTree path: String, _ owner: UInt32, _ group: UInt32) throws(BackupError) {
        let reader = try DirectoryReader(descriptor: OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
        try reader.setOwnerOfContents(owner, group)
        try SystemCall.check("set the owner", path) { fchown(reader.descriptor.rawValue, owner, group) }
    }

    private borrowing func setOwnerOfContents(_ owner: UInt32, _ group: UInt32) throws(BackupError) {
        for name in try names() {
            if try status(name).kind == .directory { try openDirectory(name).setOwnerOfContents(owner, group) }
            let fullPath = "\(path)/\(name)"
            let folder = descriptor.rawValue
            _ = try name.withCString { (cName) throws(BackupError) in
                try SystemCall.check("set the owner", fullPath) { fchownat(folder, cName, owner, group, AT_SYMLINK_NOFOLLOW) }
            }
        }
    }

    /// fsync(2) of every file and folder, with the folder itself last. Links and special files are part of their folder.
    borrowing func synchronizeContents() throws(BackupError) {
        for name in try names() {
            switch try status(name).kind {
            case .directory: try openDirectory(name).synchronizeContents()
            case .regular: try openFile(name).synchronize()
            case .symbolicLink, .other: continue
            }
        }
        try descriptor.synchronizeFolder()
    }
}

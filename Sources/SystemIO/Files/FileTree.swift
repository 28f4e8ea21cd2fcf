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
            try DirectoryHandle(path: path, followsLink: false).removeContents()
            try FileObservation.perform(.removeDirectory(path: path)) { () throws(BackupError) in
                try SystemCall.check("remove the folder", path) { rmdir(path) }
            }
        } else {
            try removeFile(path)
        }
    }

    /// Changes the owner of a folder and its contents; does not follow symbolic links.
    /// - Parameter inodes: of files that are left alone. Even chown(2) to the same owner takes capabilities from a file.
    public static func setOwner(
        ofTree path: String, _ owner: FileOwner, except inodes: Set<UInt64> = []
    ) throws(BackupError) {
        let folder = try DirectoryHandle(path: path, followsLink: false)
        try folder.setOwnerOfContents(owner, except: inodes)
        try folder.descriptor.setOwner(owner)
    }

    /// Makes a folder and its contents durable: by syncfs(2), or file by file where syncfs could hide an error or not reach the
    /// disk (Linux before 5.8, FUSE).
    public static func synchronizeTree(_ path: String) throws(BackupError) {
        let folder = try DirectoryHandle(path: path)
        if backupfs_syncfs_is_reliable(folder.descriptor.rawValue) == 1 {
            try folder.descriptor.synchronizeFileSystem()
        } else {
            try folder.synchronizeContents()
        }
    }
}

extension DirectoryHandle {
    fileprivate func removeContents() throws(BackupError) {
        for name in try names() {
            let isDirectory = try status(name).kind == .directory
            if isDirectory {
                try requireNoMount(name)
                try openDirectory(name).removeContents()
            }
            try remove(name, isDirectory: isDirectory)
        }
    }

    fileprivate func setOwnerOfContents(_ owner: FileOwner, except inodes: Set<UInt64>) throws(BackupError) {
        for name in try names() {
            let status = try status(name)
            if status.kind == .directory { try openDirectory(name).setOwnerOfContents(owner, except: inodes) }
            if !inodes.contains(status.inode) { try setOwner(of: name, owner) }
        }
    }

    /// fsync(2) of every file and folder, with the folder itself last. Links and special files are part of their folder.
    func synchronizeContents() throws(BackupError) {
        for name in try names() {
            switch try status(name).kind {
            case .directory: try openDirectory(name).synchronizeContents()
            case .regular: try openFile(name).synchronize()
            case .symbolicLink, .other: continue
            }
        }
        try synchronize()
    }
}

import BackupCore
import CLinux
import Glibc

extension FileSystem {
    /// Makes a folder and its contents durable: by syncfs(2), or file by file where syncfs could hide an error or not reach the disk (Linux before 5.8, FUSE).
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

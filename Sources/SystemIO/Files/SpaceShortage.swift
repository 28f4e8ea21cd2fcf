import BackupCore

/// Which resource a full file system has run out of.
public enum SpaceShortage {
    /// Advice for ENOSPC. A file system without free inodes may have gigabytes of free space: freeing more space does not help.
    /// - Parameter path: the path that could not be written or created; it need not exist.
    public static func remedy(at path: String) -> Message {
        lacksFiles(at: path)
            ? "The file system can hold no more files, however much space is free (see: df -i). Remove some files and try again."
            : "Free some space and try again."
    }

    /// Whether no file can be created: there is no space, or no free inode.
    public static func isExhausted(at path: String) -> Bool {
        guard let space = space(at: path) else { return false }
        return space.availableBlockCount == 0 || space.lacksFiles
    }

    private static func lacksFiles(at path: String) -> Bool { space(at: path)?.lacksFiles ?? false }

    /// For a missing path, the nearest existing folder above it counts.
    private static func space(at path: String) -> FileSystemSpace? {
        guard path.hasPrefix("/") else { return nil }
        var path = path
        while true {
            if let space = try? FileSystem.space(at: path) { return space }
            guard path != "/" else { return nil }
            path = FileSystem.parentPath(path)
        }
    }
}

extension FileSystemSpace {
    /// Whether there is space but no free inode. Btrfs and other file systems that create inodes on demand report that they have none at all.
    fileprivate var lacksFiles: Bool { fileCount > 0 && freeFileCount == 0 && availableBlockCount > 0 }
}

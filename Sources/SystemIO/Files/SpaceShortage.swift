import BackupCore

/// What a file system has no more of, where it takes nothing more.
public enum SpaceShortage {
    /// What to do about ENOSPC. A file system without free inodes may have gigabytes of free space: freeing more of that is of no use.
    /// - Parameter path: what could not be written or made; it need not be there.
    public static func remedy(at path: String) -> Message {
        lacksFiles(at: path)
            ? "The file system can hold no more files, however much space is free (see: df -i). Remove some files and try again."
            : "Free some space and try again."
    }

    /// Whether no file can be made any more: there is no space, or no free inode.
    public static func isExhausted(at path: String) -> Bool {
        guard let space = space(at: path) else { return false }
        return space.availableBlockCount == 0 || space.lacksFiles
    }

    private static func lacksFiles(at path: String) -> Bool { space(at: path)?.lacksFiles ?? false }

    /// Of what is not there, the nearest folder above counts.
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
    /// Whether there is space but no free inode. Btrfs and others that make inodes as they are needed say that they have none at all.
    fileprivate var lacksFiles: Bool { fileCount > 0 && freeFileCount == 0 && availableBlockCount > 0 }
}

import BackupCore
import Glibc
import Synchronization

/// The owner of new files and folders when root works in the store of another user.
///
/// Otherwise one `sudo backupfs backup` leaves files in the repository that its owner cannot read, and every later command of the owner fails. Only
/// entries created in folders of that user change owner.
public enum NewFileOwner {
    private struct Owner: Equatable {
        let user: uid_t
        let group: gid_t
    }

    private static let owner = Mutex<Owner?>(nil)

    /// From now on, files that root creates belong to the owner of this folder. A no-op for other users, and for a folder of root.
    public static func follow(_ folder: FileStatus) {
        guard geteuid() == 0, folder.owner != 0 else { return }
        owner.withLock { $0 = Owner(user: folder.owner, group: folder.group) }
    }

    /// The owner for a new entry at `path`; `nil` when root stays the owner.
    private static func owner(at path: String) -> Owner? {
        guard let owner = owner.withLock({ $0 }), let folder = FileSystem.statusIfPresent(FileSystem.parentPath(path)),
            folder.owner == owner.user
        else { return nil }
        return owner
    }

    /// open(2) with `O_CREAT`. Changes the owner of new files only, never of a link's target.
    /// - Returns: the result of open(2).
    static func create(_ path: String, _ flags: Int32, _ permissions: mode_t) -> Int32 {
        guard let owner = owner(at: path) else { return Glibc.open(path, flags, permissions) }
        while true {
            let made = Glibc.open(path, flags | O_EXCL, permissions)
            if made >= 0 {
                give(made, to: owner)
                return made
            }
            guard errno == EEXIST, flags & O_EXCL == 0 else { return made }
            let opened = Glibc.open(path, flags & ~O_CREAT, permissions)
            // It was removed in between, unless it is a dangling link.
            guard opened < 0, errno == ENOENT, FileSystem.isMissing(path) else { return opened }
        }
    }

    /// After mkdir(2).
    static func giveFolder(_ path: String) {
        guard let owner = owner(at: path) else { return }
        let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return }
        give(folder, to: owner)
        close(folder)
    }

    /// When root creates a file or folder of the app: gives it to the owner of its folder. The app may run as that user, and could not open it.
    public static func giveToOwnerOfFolder(_ path: String) {
        guard geteuid() == 0, let folder = FileSystem.statusIfPresent(FileSystem.parentPath(path)), folder.owner != 0 else {
            return
        }
        let made = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard made >= 0 else { return }
        give(made, to: Owner(user: folder.owner, group: folder.group))
        close(made)
    }

    /// File systems without owners, and servers that do not let root change owners, refuse: the file then keeps its owner.
    private static func give(_ descriptor: Int32, to owner: Owner) { _ = fchown(descriptor, owner.user, owner.group) }
}

extension FileSystem {
    fileprivate static func isMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 && errno == ENOENT
    }
}

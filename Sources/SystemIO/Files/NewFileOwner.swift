import BackupCore
import Glibc
import Synchronization

/// Whom new files and folders belong to when root works in the store of another user.
///
/// Without it one `sudo backupfs backup` leaves files in the repository that its owner cannot read, and then every command of the owner fails. Only what is
/// made in folders of that user is given away.
public enum NewFileOwner {
    private struct Owner: Equatable {
        let user: uid_t
        let group: gid_t
    }

    private static let owner = Mutex<Owner?>(nil)

    /// From now on, root makes files for the owner of this folder. Does nothing for other users, and for a folder of root.
    public static func follow(_ folder: FileStatus) {
        guard geteuid() == 0, folder.owner != 0 else { return }
        owner.withLock { $0 = Owner(user: folder.owner, group: folder.group) }
    }

    /// The owner to be of what is made in the folder of `path`; `nil` where nothing is given away.
    private static func owner(at path: String) -> Owner? {
        guard let owner = owner.withLock({ $0 }), let folder = FileSystem.statusIfPresent(FileSystem.parentPath(path)),
            folder.owner == owner.user
        else { return nil }
        return owner
    }

    /// open(2) with `O_CREAT`. Only a file that was not there is given away, never one that a link leads to.
    /// - Returns: what open(2) returns.
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
            // It was removed in between, unless it is a link that leads nowhere.
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

    /// Has root make a file or folder of the app's for the owner of the folder that it lies in: the app may run as that user, and could not open it.
    public static func giveToOwnerOfFolder(_ path: String) {
        guard geteuid() == 0, let folder = FileSystem.statusIfPresent(FileSystem.parentPath(path)), folder.owner != 0 else {
            return
        }
        let made = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard made >= 0 else { return }
        give(made, to: Owner(user: folder.owner, group: folder.group))
        close(made)
    }

    /// File systems without owners, and servers that let root give nothing away, refuse it: then it is as without.
    private static func give(_ descriptor: Int32, to owner: Owner) { _ = fchown(descriptor, owner.user, owner.group) }
}

extension FileSystem {
    fileprivate static func isMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 && errno == ENOENT
    }
}

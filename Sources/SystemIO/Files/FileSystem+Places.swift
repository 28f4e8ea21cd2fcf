import BackupCore
import CLinux
import Glibc

/// What makes two paths the same file, whatever links and mounts lead to it.
public struct FileIdentity: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64

    public init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
    }
}

extension FileSystem {
    /// realpath(3): the path without symbolic links. Of what is not there yet, the part that is there is resolved.
    public static func realPath(_ path: String) throws(BackupError) -> String {
        let path = absolutePath(path)
        guard let resolved = realpath(path, nil) else {
            if errno == ELOOP { throw circle(path) }
            guard errno == ENOENT, path != "/" else { throw SystemCall.error(errno, action: "resolve the path", path: path) }
            let parent = try realPath(parentPath(path))
            return parent == "/" ? "/\(lastComponent(path))" : "\(parent)/\(lastComponent(path))"
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// A place on the way of a path: a symbolic link, or what the path leads to.
    public struct Stop: Equatable, Sendable {
        /// Its folder without links.
        public let path: String
        /// Whether it is a symbolic link that has to be a folder.
        public let isFolderLink: Bool
    }

    private static let linkLimit = 40

    /// The symbolic links that a path leads through, in their order, and what it leads to at last, be it there or not.
    /// - Throws: `inputOutput` for links in a circle.
    public static func stops(onTheWayTo path: String) throws(BackupError) -> [Stop] {
        var stops: [Stop] = []
        var pending = absolutePath(path).split(separator: "/")[...]
        var current = "/"
        while let component = pending.popFirst() {
            if component == "." { continue }
            if component == ".." {
                current = parentPath(current)
                continue
            }
            let next = current == "/" ? "/\(component)" : "\(current)/\(component)"
            guard let target = linkTarget(next) else {
                current = next
                continue
            }
            guard stops.count < linkLimit else { throw circle(path) }
            stops.append(Stop(path: next, isFolderLink: !pending.isEmpty))
            if target.hasPrefix("/") { current = "/" }
            pending = (target.split(separator: "/") + pending)[...]
        }
        return stops + [Stop(path: current, isFolderLink: false)]
    }

    /// readlink(2); `nil` for what is no link, or not there.
    private static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Whether something can be renamed from one folder into the other: both lie on the same mount. Two bind mounts of one file system are
    /// two mounts.
    public static func areOnOneMount(_ first: String, _ second: String) throws(BackupError) -> Bool {
        // Of one mount, the subvolumes of btrfs are still devices of their own.
        guard try status(first).device == status(second).device else { return false }
        let numbers = (backupfs_mount_number(first), backupfs_mount_number(second))
        return numbers.0 == 0 || numbers.1 == 0 || numbers.0 == numbers.1
    }

    /// Whether this program may make something in a folder.
    public static func isWritable(_ folder: String) -> Bool { access(folder, W_OK | X_OK) == 0 }
}

extension FileSystem {
    /// stat(2) of a path that a user has given, be it a link or behind one. A link that leads to nothing may be one to a disk that is not mounted: what
    /// lies there is not gone.
    /// - Returns: `nil` when nothing is there, and no link either.
    /// - Throws: `inputOutput` for a link that leads to nothing, and for links in a circle.
    public static func lookBehindLinks(_ path: String) throws(BackupError) -> FileStatus? {
        if let status = try look(path) { return status }
        var place = absolutePath(path)
        // The link may be one of the folders above. What is there leads somewhere.
        while place != "/", try look(place) == nil {
            guard linkTarget(place) == nil else {
                throw BackupError(
                    .inputOutput, "the symbolic link leads to nothing", path: place,
                    remedy: "Mount the disk that it leads to, or mend the link, and try again.")
            }
            place = parentPath(place)
        }
        return nil
    }

    /// The absolute path without links of a path that a user has given. Nothing need be there.
    /// - Throws: as `lookBehindLinks`.
    public static func realPathBehindLinks(_ path: String) throws(BackupError) -> String {
        _ = try lookBehindLinks(path)
        return try realPath(path)
    }

    static func circle(_ path: String) -> BackupError {
        BackupError(
            .inputOutput, "the symbolic links lead in a circle", path: path, remedy: "Mend the links, and try again.")
    }

    /// What a path, followed through links, is.
    /// - Returns: `nil` when there is nothing.
    public static func identityIfPresent(_ path: String) throws(BackupError) -> FileIdentity? {
        var value = stat()
        guard SystemCall.retrying({ stat(path, &value) }) == -1 else { return FileIdentity(FileStatus(value)) }
        guard errno == ENOENT || errno == ENOTDIR else {
            if errno == ELOOP { throw circle(path) }
            throw SystemCall.error(errno, action: "read the attributes", path: path)
        }
        return nil
    }
}

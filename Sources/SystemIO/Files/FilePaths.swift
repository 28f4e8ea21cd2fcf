import BackupCore
import CLinux
import Glibc

extension FileSystem {
    /// realpath(3): the path without symbolic links. For a missing path, resolves the part that exists.
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

    /// A point on a path: a symbolic link, or the final target.
    public struct Stop: Equatable, Sendable {
        /// The path, with the links in its folder resolved.
        public let path: String
        /// Whether it is a symbolic link that must lead to a folder.
        public let isFolderLink: Bool
    }

    private static let linkLimit = 40

    /// The symbolic links that a path leads through, in order, and the final target, which need not exist.
    /// - Throws: `inputOutput` for a loop of links.
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

    /// readlink(2); `nil` for a missing file or one that is not a link.
    public static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// stat(2) of a path from the user, which may be or contain links. A dangling link may lead to a disk that is not mounted:
    /// its target does not count as missing.
    /// - Returns: `nil` when neither a file nor a link is there.
    /// - Throws: `inputOutput` for a dangling link and for a loop of links.
    public static func lookBehindLinks(_ path: String) throws(BackupError) -> FileStatus? {
        if let status = try look(path) { return status }
        var place = absolutePath(path)
        // The link may be one of the folders above. An existing path is not a dangling link.
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

    /// The absolute path, without links, of a path from the user. It need not exist.
    /// - Throws: like `lookBehindLinks`.
    public static func realPathBehindLinks(_ path: String) throws(BackupError) -> String {
        _ = try lookBehindLinks(path)
        return try realPath(path)
    }
}

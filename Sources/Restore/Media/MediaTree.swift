import BackupCore
import Glibc
import SystemIO

/// Looks up paths, as bytes, in the app's media folder. Follows no link.
struct MediaTree {
    enum Found {
        case nothing
        case file(FileStatus)
        case link([UInt8])
        case folder
        case other
        /// The entry after `depth` components of the path is not a folder.
        case blocked(depth: Int)
    }

    let root: String
    private let device: UInt64

    init(_ root: String) throws(BackupError) {
        self.root = root
        device = try FileSystem.status(root).device
    }

    /// - Throws: `notSupported` for a folder of another file system, into which a rename is impossible.
    func find(_ path: [UInt8]) throws(BackupError) -> Found {
        let components = BytePath.components(of: path)
        var folder = try DirectoryHandle(path: root)
        for (index, name) in components.enumerated() {
            guard let status = try folder.statusIfPresent(name) else { return .nothing }
            let isLast = index == components.count - 1
            switch status.kind {
            case .directory:
                guard status.device == device else {
                    throw BackupError(
                        .notSupported, "a folder of the media folder is a disk of its own", path: "\(folder.path)/\(name)",
                        remedy: "Restore while it is not mounted there, or restore into another folder with --target.")
                }
                if !isLast { folder = try folder.openDirectory(name) }
            case _ where !isLast: return .blocked(depth: index + 1)
            case .regular: return .file(status)
            case .symbolicLink: return .link(try folder.readLink(name))
            default: return .other
            }
        }
        return .folder
    }

    /// The names in a folder; none when the folder does not exist.
    func names(in path: [UInt8]) throws(BackupError) -> [FileName] {
        guard case .folder = try find(path) else { return [] }
        return try DirectoryHandle(path: root).openDirectory(at: BytePath.components(of: path)[...]).names()
    }

    /// Opens an existing file.
    func open(_ path: [UInt8]) throws(BackupError) -> OwnedDescriptor {
        let components = BytePath.components(of: path)
        guard let name = components.last else { throw BackupError(.invalidArgument, "a name is empty", path: root) }
        return try DirectoryHandle(path: root).openDirectory(at: components.dropLast()).open(name, O_RDONLY | O_NONBLOCK)
    }
}

/// The outcome of restoring an archive's media files.
public struct MediaOutcome: Sendable, Equatable {
    /// Files that did not exist; with `replace`, all files of the archive.
    public var added = 0
    /// Files restored under another name, since another file has theirs.
    public var renamed = 0
    /// Files that already existed, byte for byte.
    public var alreadyThere = 0
    /// Files that only skipped records name, which have another version of them.
    public var skipped = 0

    /// A warning about files restored without all their metadata.
    var incomplete: Message?

    public init() {}

    /// Files that were restored.
    public var restoredCount: Int { added + renamed }
}

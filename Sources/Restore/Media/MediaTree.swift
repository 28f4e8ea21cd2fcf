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
        let components = path.split(separator: UInt8(ascii: "/"))
        return try find(components[...], depth: 0, in: DirectoryReader(path: root))
    }

    private func find(
        _ components: ArraySlice<ArraySlice<UInt8>>, depth: Int, in folder: borrowing DirectoryReader
    ) throws(BackupError) -> Found {
        guard let first = components.first else { return .folder }
        let name = FileName(bytes: Array(first))
        let status: FileStatus
        do {
            status = try folder.status(name)
        } catch let error where error.code == .notFound {
            return .nothing
        }
        let isLast = components.count == 1
        switch status.kind {
        case .directory:
            guard status.device == device else {
                throw BackupError(
                    .notSupported, "a folder of the media folder is a disk of its own", path: "\(folder.path)/\(name)",
                    remedy: "Restore while it is not mounted there, or restore into another folder with --target.")
            }
            return isLast ? .folder : try find(components.dropFirst(), depth: depth + 1, in: folder.openDirectory(name))
        case _ where !isLast: return .blocked(depth: depth + 1)
        case .regular: return .file(status)
        case .symbolicLink: return .link(try folder.readLink(name))
        default: return .other
        }
    }

    /// The names in a folder; none when the folder does not exist.
    func names(in path: [UInt8]) throws(BackupError) -> [FileName] {
        guard case .folder = try find(path) else { return [] }
        return try names(in: BytePath.components(of: path)[...], of: DirectoryReader(path: root))
    }

    private func names(in components: ArraySlice<FileName>, of folder: borrowing DirectoryReader) throws(BackupError)
        -> [FileName]
    {
        guard let first = components.first else { return try folder.names() }
        return try names(in: components.dropFirst(), of: folder.openDirectory(first))
    }

    /// Opens an existing file.
    func open(_ path: [UInt8]) throws(BackupError) -> OwnedDescriptor {
        let components = path.split(separator: UInt8(ascii: "/"))
        return try open(components[...], in: DirectoryReader(path: root))
    }

    private func open(
        _ components: ArraySlice<ArraySlice<UInt8>>, in folder: borrowing DirectoryReader
    ) throws(BackupError) -> OwnedDescriptor {
        guard let first = components.first else { throw BackupError(.invalidArgument, "a name is empty", path: root) }
        let name = FileName(bytes: Array(first))
        if components.count == 1 { return try folder.open(name, O_RDONLY | O_NONBLOCK) }
        return try open(components.dropFirst(), in: folder.openDirectory(name))
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

/// A change to the file system, as reported to `FileObserver`. Modes, owners and times are not included: no stored data depends on them.
public enum FileOperation: Sendable, Equatable {
    /// An open(2) that creates the file if it does not exist.
    case open(path: String, truncates: Bool)
    /// `path` is the path that the file was opened with.
    case write(path: String, offset: UInt64, bytes: [UInt8])
    case truncate(path: String, size: UInt64)
    /// A no-op when the folder exists.
    case makeDirectory(path: String)
    case makeLink(path: String, target: [UInt8])
    case rename(from: String, to: String)
    case exchange(String, String)
    /// For a file or link; a no-op when it does not exist.
    case remove(path: String)
    case removeDirectory(path: String)
    /// fsync(2) of a file or folder.
    case synchronize(path: String)
    /// syncfs(2).
    case synchronizeFileSystem(path: String)

    /// The path that changes; the first of two paths.
    public var path: String {
        switch self {
        case .open(let path, _), .write(let path, _, _), .truncate(let path, _), .makeDirectory(let path), .makeLink(let path, _),
            .rename(let path, _), .exchange(let path, _), .remove(let path), .removeDirectory(let path), .synchronize(let path),
            .synchronizeFileSystem(let path):
            path
        }
    }
}

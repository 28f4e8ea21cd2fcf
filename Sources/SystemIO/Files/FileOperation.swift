/// A change to the file system, as `FileObserver` is told of it. Modes, owners and times are not among them: nothing that is stored
/// hangs on them.
public enum FileOperation: Sendable, Equatable {
    /// An open(2) that makes the file if it is not there.
    case open(path: String, truncates: Bool)
    /// `path` is what the file was opened as.
    case write(path: String, offset: UInt64, bytes: [UInt8])
    case truncate(path: String, size: UInt64)
    /// Nothing happens when it is there.
    case makeDirectory(path: String)
    case makeLink(path: String, target: [UInt8])
    case rename(from: String, to: String)
    case exchange(String, String)
    /// Of a file or link; nothing happens when it is not there.
    case remove(path: String)
    case removeDirectory(path: String)
    /// fsync(2) of a file or folder.
    case synchronize(path: String)
    /// syncfs(2).
    case synchronizeFileSystem(path: String)

    /// What is changed; of two paths the first.
    public var path: String {
        switch self {
        case .open(let path, _), .write(let path, _, _), .truncate(let path, _), .makeDirectory(let path), .makeLink(let path, _),
            .rename(let path, _), .exchange(let path, _), .remove(let path), .removeDirectory(let path), .synchronize(let path),
            .synchronizeFileSystem(let path):
            path
        }
    }
}

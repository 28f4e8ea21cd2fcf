import BackupCore
import Synchronization

/// Lets tests observe every change to files below a folder, in order, and make it fail. They use it to show that a power cut or a
/// full disk at any moment does no harm. `OwnedDescriptor`, `FileSystem` and `DirectoryHandle` pass all their changes through
/// here; SQLite's writes are not observed. Without an observer, the cost is one check of a flag.
public enum FileObservation {
    private struct Registration: Sendable {
        let number: Int
        let root: String
        let observer: any FileObserver
    }

    private static let isOn = Atomic<Bool>(false)
    private static let registrations = Mutex<(list: [Registration], lastNumber: Int)>(([], 0))

    /// Until `body` returns, routes changes in and below `root`, from any thread, through `observer`.
    public static func observing<Result, Failure: Error>(
        below root: String, by observer: any FileObserver, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let number = registrations.withLock { registrations in
            registrations.lastNumber += 1
            registrations.list.append(Registration(number: registrations.lastNumber, root: root, observer: observer))
            isOn.store(true, ordering: .sequentiallyConsistent)
            return registrations.lastNumber
        }
        defer {
            registrations.withLock { registrations in
                registrations.list.removeAll { $0.number == number }
                isOn.store(!registrations.list.isEmpty, ordering: .sequentiallyConsistent)
            }
        }
        return try body()
    }

    /// Every change goes through here. `operation` is only evaluated when there is an observer.
    @inline(__always)
    @discardableResult
    static func perform<Result>(
        _ operation: @autoclosure () -> FileOperation, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        guard isOn.load(ordering: .relaxed) else { return try body() }
        return try performObserved(operation(), body)
    }

    private static func performObserved<Result>(
        _ operation: FileOperation, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        let path = operation.path
        let observer = registrations.withLock { registrations in
            registrations.list.last { path == $0.root || path.hasPrefix($0.root + "/") }?.observer
        }
        guard let observer else { return try body() }
        var result: Result?
        try observer.perform(operation) { () throws(BackupError) in result = try body() }
        guard let result else { throw BackupError(.invalidArgument, "an observer did not do what it was given", path: path) }
        return result
    }
}

/// Intercepts the program's changes to files: records them or makes them fail. For tests; see `FileObservation`.
public protocol FileObserver: Sendable {
    /// - Parameter body: makes the change. An observer that keeps the order of operations holds a lock during it.
    /// - Throws: errors of `body`, or an error of its own instead of calling it.
    func perform(_ operation: FileOperation, _ body: () throws(BackupError) -> Void) throws(BackupError)
}

/// A change to the file system, as reported to `FileObserver`. Modes, owners and times are not included: no stored data depends
/// on them.
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

import BackupCore
import Glibc

/// Detects whether a folder's list of names may have changed, at the cost of one stat(2).
public struct FolderVersion: Equatable, Sendable {
    private let inode: UInt64
    private let modificationTime: Timestamp
    private let changeTime: Timestamp
    /// A folder that changed just before it was read may have changed again without a trace: read it again next time.
    private let isSettled: Bool

    /// - Throws: as `FileSystem.status`.
    public init(path: String) throws(BackupError) { self.init(try FileSystem.status(path)) }

    /// - Parameter status: current; the caller lists the folder only after it got the status.
    public init(_ status: FileStatus) {
        inode = status.inode
        modificationTime = status.modificationTime
        changeTime = status.changeTime
        isSettled = status.isSettled
    }

    /// Whether a listing from the time of this stamp is still valid at the time of `later`.
    public func covers(_ later: FolderVersion) -> Bool {
        isSettled && inode == later.inode && modificationTime == later.modificationTime && changeTime == later.changeTime
    }
}

/// Reports when names in some folders appear, disappear or change (inotify(7)), also through other processes of this machine.
/// Does not see changes that another machine makes in a shared folder.
public final class FolderWatch: Sendable {
    private let thread: SystemThread
    private let ending: Pipe

    /// - Parameter onChange: called from a separate thread, once for a batch of changes; not after `end` has returned.
    /// - Throws: when the system is out of watches.
    public init(paths: [String], onChange: @escaping @Sendable () -> Void) throws(BackupError) {
        let number = try SystemCall.check("watch the folder", paths.first ?? "") { inotify_init1(Int32(IN_CLOEXEC)) }
        let watch = Events(OwnedDescriptor(owning: number, path: paths.first ?? ""))
        let changes = UInt32(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE)
        for path in paths {
            _ = try SystemCall.check("watch the folder", path) { inotify_add_watch(number, path, changes) }
        }
        let ending = try Pipe()
        let end = ending.reader.rawValue
        self.ending = ending
        thread = try SystemThread { watch.serve(until: end, onChange) }
    }

    /// Ends the watch. Call it once.
    public func end() {
        var byte: UInt8 = 0
        _ = write(ending.writer.rawValue, &byte, 1)
        thread.join()
    }

    private final class Events: Sendable {
        private let descriptor: OwnedDescriptor

        init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

        func serve(until end: Int32, _ onChange: () -> Void) {
            // The details of the events do not matter: the callback looks at the folders.
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            while true {
                var waiting = [
                    pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: end, events: Int16(POLLIN), revents: 0),
                ]
                guard poll(&waiting, 2, -1) > 0 else {
                    if errno == EINTR { continue }
                    return
                }
                if waiting[1].revents != 0 { return }
                guard read(descriptor.rawValue, &buffer, buffer.count) > 0 else { return }
                onChange()
            }
        }
    }
}

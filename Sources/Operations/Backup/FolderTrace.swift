import AppData
import BackupCore
import Restore
import Synchronization
import SystemIO

/// What a backup remembers about a media folder that it walked: enough to detect later whether anything was moved into, within or
/// out of it.
///
/// All folders are checked after the last one was listed. If each still has the same listing, all of it existed at one moment,
/// and no move between folders was missed. Nothing is remembered about files, since there may be a million.
final class FolderTrace: Sendable {
    private struct State {
        /// From before the folder was listed.
        var stamp: FolderVersion
        var listing = FolderDigest()
        /// Whether a listed file was gone when it was to be read: it may be back by now.
        var lacksListed = false
        var hasOwnMoves = false
        var hasMoves = false
        /// Files that could not be stored, with the reason.
        var notes: [FileName: Message] = [:]
        var children: [FileName: FolderTrace] = [:]
    }

    /// Above this length, a folder on the path is opened first: the kernel refuses longer paths.
    private static let pathByteLimit = 3_000

    private let state: Mutex<State>

    /// - Parameter status: the folder's status before it is listed.
    init(_ status: FileStatus) { state = Mutex(State(stamp: FolderVersion(status))) }

    /// Lists the folder and remembers the listing.
    func list(_ folder: DirectoryHandle, _ amongMedia: DatabaseAmongMedia) throws(BackupError) -> [FileName] {
        let (names, listing) = try FolderDigest.list(folder, amongMedia)
        state.withLock { $0.listing = listing }
        return names
    }

    func add(_ child: FolderTrace, named name: FileName) { state.withLock { $0.children[name] = child } }

    func child(_ name: FileName) -> FolderTrace? { state.withLock { $0.children[name] } }

    /// The subfolders, in no particular order.
    var children: [FileName: FolderTrace] { state.withLock { $0.children } }

    /// A listed file was gone when it was to be read.
    func noteGone() { state.withLock { $0.lacksListed = true } }

    /// A file could not be stored.
    func note(_ problem: Message, of name: FileName) { state.withLock { $0.notes[name] = problem } }

    func hasNote(of name: FileName) -> Bool { state.withLock { $0.notes[name] != nil } }

    /// The notes of the folder and everything in it.
    var allNotes: [Message] { state.withLock { Array($0.notes.values) } + children.values.flatMap(\.allNotes) }

    /// Whether `lookForMoves` found a move in this folder itself.
    var hasOwnMoves: Bool { state.withLock { $0.hasOwnMoves } }

    /// The same for the folder and all folders in it.
    var hasMoves: Bool { state.withLock { $0.hasMoves } }

    /// Checks the folder and everything in it again.
    /// - Parameter root: the folder, newly opened.
    /// - Returns: whether any listing differs from before.
    func lookForMoves(_ root: DirectoryHandle, _ amongMedia: DatabaseAmongMedia) throws(BackupError) -> Bool {
        try lookForMoves(root, [], amongMedia)
    }

    /// - Parameter path: relative to `base`.
    private func lookForMoves(
        _ base: DirectoryHandle, _ path: [UInt8], _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) -> Bool {
        try Cancellation.check()
        if path.count > Self.pathByteLimit, let inner = try? base.openDirectory(FileName(bytes: path)) {
            return try lookForMoves(inner, [], amongMedia)
        }
        let isStill = isStill(base, path, amongMedia)
        var hasMoves = !isStill
        for (name, child) in children {
            let inner = path.isEmpty ? name.bytes : path + [UInt8(ascii: "/")] + name.bytes
            if try child.lookForMoves(base, inner, amongMedia.entering(name)) { hasMoves = true }
        }
        state.withLock { state in
            state.hasOwnMoves = !isStill
            state.hasMoves = hasMoves
        }
        return hasMoves
    }

    /// Lists the names only where the times are inconclusive.
    private func isStill(_ base: DirectoryHandle, _ path: [UInt8], _ amongMedia: DatabaseAmongMedia) -> Bool {
        let (stamp, listing, lacksListed) = state.withLock { ($0.stamp, $0.listing, $0.lacksListed) }
        guard !lacksListed else { return false }
        do throws(BackupError) {
            let name = FileName(bytes: path)
            let now = FolderVersion(try path.isEmpty ? base.descriptor.status() : base.status(name))
            if stamp.covers(now) { return true }
            let isSame =
                if path.isEmpty {
                    try FolderDigest.list(base, amongMedia).digest == listing
                } else {
                    try FolderDigest.list(base.openDirectory(name), amongMedia).digest == listing
                }
            if isSame { state.withLock { $0.stamp = now } }
            return isSame
        } catch {
            return false
        }
    }
}

/// An eight-byte digest of a folder's listing: the names, and the file or folder behind each.
///
/// Excludes logs and journals of SQLite databases: an app creates and removes one with each commit, and they are stored with
/// their databases. A file that only has such a name, such as `notes-journal` beside the text `notes`, counts as any other file.
struct FolderDigest: Equatable {
    private var sum: UInt64 = 0

    /// Independent of order.
    private mutating func add(_ hash: UInt64) { sum &+= hash }

    /// - Returns: all names, sorted, and the digest of those that are media.
    static func list(
        _ folder: DirectoryHandle, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) -> (names: [FileName], digest: FolderDigest) {
        var digest = FolderDigest()
        var logs: [(database: FileName, hash: UInt64)] = []
        let names = try folder.names { name, inode, mayBeFile in
            guard !amongMedia.hides(name) else { return }
            let hash = hash(name, inode)
            if mayBeFile, let database = DatabaseLogs.database(of: name) {
                logs.append((database, hash))
            } else {
                digest.add(hash)
            }
        }
        if !logs.isEmpty {
            let present = Set(names)
            var databases: [FileName: Bool] = [:]
            for log in logs {
                if databases[log.database] == nil {
                    databases[log.database] =
                        present.contains(log.database) && MediaDatabases.mayBeDatabase(log.database, in: folder)
                }
                if databases[log.database] != true { digest.add(log.hash) }
            }
        }
        return (names, digest)
    }

    private static func hash(_ name: FileName, _ inode: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(name)
        hasher.combine(inode)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

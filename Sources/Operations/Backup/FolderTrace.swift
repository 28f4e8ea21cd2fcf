import BackupCore
import Restore
import Synchronization
import SystemIO

/// What a backup remembers of a folder of the media that it has gone through: enough to tell later whether anything was moved in it or out of it.
///
/// All folders are asked once the last one was listed. If each still lists what it did, there was a moment at which all of that was there, and nothing
/// was missed on its way from one to another. Of files nothing is remembered, since there may be a million.
final class FolderTrace: Sendable {
    private struct State {
        /// Of before it was listed.
        var stamp: FolderStamp
        var listing = FolderDigest()
        /// Whether a file was gone when its turn came: it may have come back since.
        var lacksListed = false
        var hasOwnMoves = false
        var hasMoves = false
        /// Files that could not be stored, and why.
        var notes: [FileName: Message] = [:]
        var children: [FileName: FolderTrace] = [:]
    }

    /// Beyond this a path is opened on its way: longer ones are refused by the kernel.
    private static let pathByteLimit = 3_000

    private let state: Mutex<State>

    /// - Parameter status: of the folder, before it is listed.
    init(_ status: FileStatus) { state = Mutex(State(stamp: FolderStamp(status))) }

    /// Lists the folder, and remembers what it lists.
    func list(_ folder: borrowing DirectoryReader, _ amongMedia: DatabaseAmongMedia) throws(BackupError) -> [FileName] {
        let (names, listing) = try FolderDigest.list(folder, amongMedia)
        state.withLock { $0.listing = listing }
        return names
    }

    func add(_ child: FolderTrace, named name: FileName) { state.withLock { $0.children[name] = child } }

    func child(_ name: FileName) -> FolderTrace? { state.withLock { $0.children[name] } }

    /// The folders in it, in no order.
    var children: [FileName: FolderTrace] { state.withLock { $0.children } }

    /// A listed file was not there when its turn came.
    func noteGone() { state.withLock { $0.lacksListed = true } }

    /// A file could not be stored.
    func note(_ problem: Message, of name: FileName) { state.withLock { $0.notes[name] = problem } }

    func hasNote(of name: FileName) -> Bool { state.withLock { $0.notes[name] != nil } }

    /// Of the folder and all in it.
    var allNotes: [Message] { state.withLock { Array($0.notes.values) } + children.values.flatMap(\.allNotes) }

    /// Whether anything was moved, as far as `lookForMoves` has found, in this folder alone.
    var hasOwnMoves: Bool { state.withLock { $0.hasOwnMoves } }

    /// The same for the folder and all folders in it.
    var hasMoves: Bool { state.withLock { $0.hasMoves } }

    /// Looks at the folder and all in it again.
    /// - Parameter root: the folder, just opened.
    /// - Returns: whether any of them lists something else than before.
    func lookForMoves(_ root: borrowing DirectoryReader, _ amongMedia: DatabaseAmongMedia) throws(BackupError) -> Bool {
        try lookForMoves(root, [], amongMedia)
    }

    /// - Parameter path: below `base`.
    private func lookForMoves(
        _ base: borrowing DirectoryReader, _ path: [UInt8], _ amongMedia: DatabaseAmongMedia
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

    /// Asks for the names only where the times do not answer.
    private func isStill(_ base: borrowing DirectoryReader, _ path: [UInt8], _ amongMedia: DatabaseAmongMedia) -> Bool {
        let (stamp, listing, lacksListed) = state.withLock { ($0.stamp, $0.listing, $0.lacksListed) }
        guard !lacksListed else { return false }
        do throws(BackupError) {
            let name = FileName(bytes: path)
            let now = FolderStamp(try path.isEmpty ? base.descriptor.status() : base.status(name))
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

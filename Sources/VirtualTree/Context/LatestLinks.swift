import BackupCore
import SystemIO

/// The target of `snapshots/latest`.
struct LatestSnapshot: Sendable {
    let name: FileName
    let time: Timestamp
}

/// To the kernel, `snapshots/latest` is another link each time the newest backup has another name. So what it keeps of a link
/// (the target) stays true of that link, and what it keeps of the name (which link it is) is harmless: a link that is not the
/// current one has no target any more.
final class LatestLinks: Sendable {
    struct Link: Sendable {
        let inode: InodeNumber
        let target: LatestSnapshot
    }

    private struct State {
        var current: Link?
        /// The number of links so far: none of their numbers is used again during the mount.
        var count: UInt64 = 0
    }

    static let name: FileName = "latest"
    /// The number that users see, which stays the same.
    static let shownInode = InodeNumber.root.child("snapshots").child(name)

    private let state = Monitor(State())

    /// - Parameters:
    ///   - newest: the target at this moment, from memory. Called under the lock: a caller that was held up must not replace the
    ///     result of a later one.
    ///   - onReplaced: called under the lock with the previous link, so that a caller who finds the new one also finds that
    ///     notification queued.
    /// - Returns: the current link.
    func update(newest: () -> LatestSnapshot?, onReplaced: (InodeNumber) -> Void) -> Link? {
        state.withLock { state in
            let newest = newest()
            let isSame = state.current?.target.name == newest?.name
            if let current = state.current, !isSame { onReplaced(current.inode) }
            guard let newest else {
                state.current = nil
                return nil
            }
            if !isSame { state.count += 1 }
            // The same name may be that of another backup by now, made at another time.
            let link = Link(inode: Self.shownInode.version(state.count), target: newest)
            state.current = link
            return link
        }
    }
}

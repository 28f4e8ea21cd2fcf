import BackupCore
import Synchronization

/// The nodes the kernel knows, by inode number, with the look-ups it has to give back.
final class NodeTable: Sendable {
    private struct Entry {
        let node: any Node
        var lookUpCount: UInt64
    }

    private let root: any Node
    private let entries = Mutex<[UInt64: Entry]>([:])

    init(root: any Node) { self.root = root }

    /// - Throws: `notFound` for a number the kernel has given back.
    func node(_ inode: InodeNumber) throws(BackupError) -> any Node {
        if inode == .root { return root }
        guard let node = entries.withLock({ $0[inode.rawValue]?.node }) else {
            throw BackupError(.notFound, "the file is not there any more")
        }
        return node
    }

    /// Counts one look-up of `node`. The newest node of a number takes its place: it knows the newest state.
    func retain(_ node: any Node) {
        guard node.inode != .root else { return }
        entries.withLock { entries in
            let count = entries[node.inode.rawValue]?.lookUpCount ?? 0
            entries[node.inode.rawValue] = Entry(node: node, lookUpCount: count + 1)
        }
    }

    func forget(_ inode: InodeNumber, count: UInt64) {
        entries.withLock { entries in
            guard let entry = entries[inode.rawValue] else { return }
            if entry.lookUpCount <= count {
                entries[inode.rawValue] = nil
            } else {
                entries[inode.rawValue]?.lookUpCount -= count
            }
        }
    }

    /// Nodes the kernel holds now.
    var count: Int { entries.withLock { $0.count } }
}

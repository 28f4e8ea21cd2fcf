import BackupCore
import Synchronization
import SystemIO

/// The nodes the kernel knows, by inode number, with the look-ups it has to give back.
final class NodeTable: Sendable {
    private struct Entry {
        let node: any Node
        var lookUpCount: UInt64
    }

    private let root: any Node
    private let entries = Monitor<[UInt64: Entry]>([:])
    /// How many there were at most since the table was last made smaller.
    private let peakCount = Atomic(0)

    /// A table smaller than this is left as it is.
    private static let smallCount = 10_000

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
        let count = entries.withLock { entries in
            let count = entries[node.inode.rawValue]?.lookUpCount ?? 0
            entries[node.inode.rawValue] = Entry(node: node, lookUpCount: count + 1)
            return entries.count
        }
        if count > peakCount.load(ordering: .relaxed) { peakCount.store(count, ordering: .relaxed) }
    }

    func forget(_ inode: InodeNumber, count: UInt64) {
        let left = entries.withLock { entries in
            guard let entry = entries[inode.rawValue] else { return entries.count }
            if entry.lookUpCount <= count {
                entries[inode.rawValue] = nil
            } else {
                entries[inode.rawValue]?.lookUpCount -= count
            }
            return entries.count
        }
        let peak = peakCount.load(ordering: .relaxed)
        if peak > Self.smallCount, left < peak / 4 { shrink(from: peak, to: left) }
    }

    /// The kernel forgets in tens of thousands, when memory is short: then ours should be given back, too.
    private func shrink(from peak: Int, to left: Int) {
        guard peakCount.compareExchange(expected: peak, desired: left, ordering: .relaxed).exchanged else { return }
        entries.withLock { entries in
            var smaller: [UInt64: Entry] = [:]
            smaller.reserveCapacity(entries.count)
            for (inode, entry) in entries { smaller[inode] = entry }
            entries = smaller
        }
        MemoryHeaps.giveBack()
    }

    /// Nodes the kernel holds now.
    var count: Int { entries.withLock { $0.count } }
}

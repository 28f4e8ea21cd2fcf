import BackupCore
import Synchronization
import SystemIO

/// The nodes that the kernel knows, by inode number, with their lookup counts.
final class NodeTable: Sendable {
    private struct Entry {
        let node: any Node
        var lookUpCount: UInt64
        /// The number of its only opening so far; 0 before it, and `manyOpenings` after another one.
        var opening: UInt32 = 0
    }

    private static let manyOpenings = UInt32.max

    private let root: any Node
    private let entries = Monitor<[UInt64: Entry]>([:])
    /// The largest number of nodes since the table was last shrunk.
    private let peakCount = Atomic(0)
    private let openingCount = Atomic<UInt32>(0)

    /// A table smaller than this is not shrunk.
    private static let smallCount = 10_000

    init(root: any Node) { self.root = root }

    /// - Throws: `notFound` for a number that the kernel has released.
    func node(_ inode: InodeNumber) throws(BackupError) -> any Node {
        if inode == .root { return root }
        guard let node = entries.withLock({ $0[inode.rawValue]?.node }) else {
            throw BackupError(.notFound, "the file no longer exists")
        }
        return node
    }

    /// Counts one lookup of `node`. The newest node for a number replaces the previous one: it knows the newest state.
    func retain(_ node: any Node) {
        guard node.inode != .root else { return }
        let count = entries.withLock { entries in
            let known = entries[node.inode.rawValue]
            entries[node.inode.rawValue] = Entry(
                node: node, lookUpCount: (known?.lookUpCount ?? 0) + 1, opening: known?.opening ?? 0)
            return entries.count
        }
        if count > peakCount.load(ordering: .relaxed) { peakCount.store(count, ordering: .relaxed) }
    }

    /// Notes that a file is being opened.
    /// - Returns: a number for the opening if it is the first one since the kernel got the node.
    func noteOpening(_ inode: InodeNumber) -> UInt32? {
        let number = openingCount.wrappingAdd(1, ordering: .relaxed).newValue % (Self.manyOpenings - 1) + 1
        return entries.withLock { entries in
            guard let known = entries[inode.rawValue]?.opening else { return nil }
            entries[inode.rawValue]?.opening = known == 0 ? number : Self.manyOpenings
            return known == 0 ? number : nil
        }
    }

    /// Whether a file has not been opened again since.
    /// - Parameter opening: from `noteOpening`.
    func isOnlyOpening(_ opening: UInt32, of inode: InodeNumber) -> Bool {
        entries.withLock { $0[inode.rawValue]?.opening == opening }
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

    /// The kernel forgets tens of thousands of nodes when memory is short: then our memory should be released, too.
    private func shrink(from peak: Int, to left: Int) {
        guard peakCount.compareExchange(expected: peak, desired: left, ordering: .relaxed).exchanged else { return }
        entries.withLock { entries in
            var smaller: [UInt64: Entry] = [:]
            smaller.reserveCapacity(entries.count)
            for (inode, entry) in entries { smaller[inode] = entry }
            entries = smaller
        }
        Malloc.trim()
    }

    /// The number of nodes that the kernel currently holds.
    var count: Int { entries.withLock { $0.count } }
}

extension InodeNumber {
    /// The number of a child, derived from its folder's number and its name: the same in every mount, without a table.
    ///
    /// FNV-1a over the parent's number and the name, finished with the 64-bit mixer of MurmurHash3 and cut to 63 bits. Among a
    /// million files, two share a number with a probability of 5e-8; numbers below 1,024 are reserved for the fixed nodes.
    func child(_ name: FileName) -> InodeNumber {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        var parent = rawValue
        for _ in 0..<8 {
            hash = (hash ^ (parent & 0xff)) &* 0x100_0000_01b3
            parent >>= 8
        }
        for byte in name.bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ (hash >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        hash = (hash ^ (hash >> 33)) & UInt64(Int64.max)
        return InodeNumber(hash < 1_024 ? hash + 1_024 : hash)
    }

    /// The number of a snapshot's folder: derived from the snapshot's ID, not from its name, which may change.
    func snapshot(_ id: SnapshotID) -> InodeNumber { child(FileName(bytes: id.digest.bytes)) }

    /// The number of a symbolic link whose target may change: the kernel keeps the target for the number.
    func link(to target: [UInt8]) -> InodeNumber { child(FileName(bytes: target)) }

    /// The number of one state of a file.
    func version(_ version: UInt64) -> InodeNumber {
        child(FileName(bytes: withUnsafeBytes(of: version.littleEndian) { Array($0) }))
    }
}

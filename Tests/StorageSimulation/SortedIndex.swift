import BackupCore
import Glibc
import ObjectStorage

/// Values in the order of the bytes of their names. Made of blocks, so that an insertion moves few of 100,000 values.
struct SortedIndex<Value> {
    private static var blockLimit: Int { 512 }

    private var blocks: [[(name: ObjectName, value: Value)]] = []
    private(set) var count = 0

    /// The value of a name; setting `nil` removes it.
    subscript(name: ObjectName) -> Value? {
        get {
            let place = place(of: name.text, isAfter: false)
            return holds(name, at: place) ? blocks[place.block][place.index].value : nil
        }
        set {
            let place = place(of: name.text, isAfter: false)
            let isThere = holds(name, at: place)
            guard let newValue else {
                guard isThere else { return }
                count -= 1
                blocks[place.block].remove(at: place.index)
                if blocks[place.block].isEmpty { blocks.remove(at: place.block) }
                return
            }
            if isThere { return blocks[place.block][place.index].value = newValue }
            count += 1
            // After the last one of the last block rather than in a block of its own.
            let block = place.block == blocks.count && place.block > 0 ? place.block - 1 : place.block
            if block == blocks.count { return blocks.append([(name, newValue)]) }
            blocks[block].insert((name, newValue), at: block == place.block ? place.index : blocks[block].count)
            guard blocks[block].count > Self.blockLimit else { return }
            let half = blocks[block].count / 2
            blocks.insert(Array(blocks[block][half...]), at: block + 1)
            blocks[block].removeLast(blocks[block].count - half)
        }
    }

    /// Passes values in order.
    /// - Parameters:
    ///   - text: only names from this one on.
    ///   - isAfter: whether only those after it.
    ///   - body: returns whether to continue.
    func forEach(from text: String, isAfter: Bool, _ body: (ObjectName, Value) -> Bool) {
        let start = place(of: text, isAfter: isAfter)
        for block in start.block..<max(start.block, blocks.count) {
            for index in (block == start.block ? start.index : 0)..<blocks[block].count {
                let entry = blocks[block][index]
                guard body(entry.name, entry.value) else { return }
            }
        }
    }

    private func holds(_ name: ObjectName, at place: (block: Int, index: Int)) -> Bool {
        place.block < blocks.count && Self.compare(blocks[place.block][place.index].name.text, name.text) == 0
    }

    /// The place of the first name that is not before a text, or that is after it.
    private func place(of text: String, isAfter: Bool) -> (block: Int, index: Int) {
        func isBefore(_ name: ObjectName) -> Bool { Self.compare(name.text, text) < (isAfter ? 1 : 0) }
        // No block is empty.
        let block = blocks.partitioningIndex { !isBefore($0[$0.count - 1].name) }
        return (block, block < blocks.count ? blocks[block].partitioningIndex { !isBefore($0.name) } : 0)
    }

    /// By bytes, as memcmp(3): the generic comparison takes most of the time of a debug build.
    static func compare(_ left: String, _ right: String) -> Int {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                let count = min(left.count, right.count)
                guard count > 0, let first = left.baseAddress, let second = right.baseAddress else {
                    return left.count - right.count
                }
                let order = memcmp(first, second, count)
                return order == 0 ? left.count - right.count : Int(order)
            }
        }
    }
}

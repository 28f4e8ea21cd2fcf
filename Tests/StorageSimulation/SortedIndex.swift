import Glibc
import ObjectStorage

/// Values in the order of the bytes of their names. Made of blocks, so that an insertion moves few of 100,000 values.
struct SortedIndex<Value> {
    private static var blockLimit: Int { 512 }

    /// No block is empty.
    private var names: [[ObjectName]] = []
    private var values: [[Value]] = []
    private(set) var count = 0

    /// The value of a name; setting `nil` removes it.
    subscript(name: ObjectName) -> Value? {
        get {
            let place = NamePlace(of: name.text, isAfter: false, in: names)
            return place.holds(name, in: names) ? values[place.block][place.index] : nil
        }
        set {
            let place = NamePlace(of: name.text, isAfter: false, in: names)
            let isThere = place.holds(name, in: names)
            if let newValue {
                if isThere { values[place.block][place.index] = newValue } else { insert(name, newValue, at: place) }
            } else if isThere {
                remove(at: place)
            }
        }
    }

    private mutating func insert(_ name: ObjectName, _ value: Value, at place: NamePlace) {
        count += 1
        guard !names.isEmpty else {
            names = [[name]]
            values = [[value]]
            return
        }
        // After the last name, in the last block.
        let block = min(place.block, names.count - 1)
        let index = block == place.block ? place.index : names[block].count
        names[block].insert(name, at: index)
        values[block].insert(value, at: index)
        guard names[block].count > Self.blockLimit else { return }
        let half = Self.blockLimit / 2
        names.insert(Array(names[block][half...]), at: block + 1)
        names[block].removeSubrange(half...)
        values.insert(Array(values[block][half...]), at: block + 1)
        values[block].removeSubrange(half...)
    }

    private mutating func remove(at place: NamePlace) {
        count -= 1
        names[place.block].remove(at: place.index)
        values[place.block].remove(at: place.index)
        guard names[place.block].isEmpty else { return }
        names.remove(at: place.block)
        values.remove(at: place.block)
    }

    /// Passes values in order.
    /// - Parameters:
    ///   - text: only names from this one on.
    ///   - isAfter: whether only those after it.
    ///   - body: returns whether to continue.
    func forEach(from text: String, isAfter: Bool, _ body: (ObjectName, Value) -> Bool) {
        let start = NamePlace(of: text, isAfter: isAfter, in: names)
        for block in start.block..<names.count {
            for index in (block == start.block ? start.index : 0)..<names[block].count {
                guard body(names[block][index], values[block][index]) else { return }
            }
        }
    }
}

/// The place of a name among sorted names: that of the first one that is not before it, or that is after it.
///
/// Loops over one type, and memcmp(3): generic code takes most of the time of a debug build.
private struct NamePlace {
    private(set) var block = 0
    private(set) var index = 0

    init(of text: String, isAfter: Bool, in names: [[ObjectName]]) {
        let limit = isAfter ? 1 : 0
        var end = names.count
        while block < end {
            let middle = (block + end) / 2
            if compareBytes(names[middle][names[middle].count - 1].text, text) < limit {
                block = middle + 1
            } else {
                end = middle
            }
        }
        guard block < names.count else { return }
        end = names[block].count
        while index < end {
            let middle = (index + end) / 2
            if compareBytes(names[block][middle].text, text) < limit { index = middle + 1 } else { end = middle }
        }
    }

    func holds(_ name: ObjectName, in names: [[ObjectName]]) -> Bool {
        block < names.count && compareBytes(names[block][index].text, name.text) == 0
    }
}

/// Negative, zero or positive, as memcmp(3).
func compareBytes(_ left: String, _ right: String) -> Int {
    var (left, right) = (left, right)
    return left.withUTF8 { left in
        right.withUTF8 { right in
            let count = min(left.count, right.count)
            guard count > 0, let first = left.baseAddress, let second = right.baseAddress else { return left.count - right.count }
            let order = memcmp(first, second, count)
            return order == 0 ? left.count - right.count : Int(order)
        }
    }
}

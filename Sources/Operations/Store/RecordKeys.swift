import Formats

/// Keys of records, in the least memory. Sorted, it finds one at once.
struct RecordKeys: Sendable {
    private(set) var numbers: [Int64] = []
    private(set) var texts: [[UInt8]] = []

    var count: Int { numbers.count + texts.count }
    /// In memory: an array has a header of 32 bytes, and a reference to it.
    var sizeBytes: Int { numbers.count * 8 + texts.reduce(0) { $0 + $1.count + 40 } }

    mutating func append(_ key: JSONKey) {
        switch key {
        case .integer(let number): numbers.append(number)
        case .text(let bytes): texts.append(bytes)
        }
    }

    mutating func sort() {
        numbers.sort()
        texts.sort { $0.lexicographicallyPrecedes($1) }
    }

    func contains(_ key: JSONKey) -> Bool {
        switch key {
        case .integer(let number): Self.contains(number, in: numbers, <)
        case .text(let bytes): Self.contains(bytes, in: texts) { $0.lexicographicallyPrecedes($1) }
        }
    }

    private static func contains<Key: Equatable>(_ key: Key, in keys: [Key], _ precedes: (Key, Key) -> Bool) -> Bool {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if precedes(keys[middle], key) { low = middle + 1 } else { high = middle }
        }
        return low < keys.count && keys[low] == key
    }
}

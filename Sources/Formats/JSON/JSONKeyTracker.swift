import BackupCore

/// The keys of the open objects, to detect duplicates. A limit per object and a total limit bound the memory.
final class JSONKeyTracker {
    static let keyCountLimit = 100_000
    static let byteLimit = 64 << 20

    private struct Entry {
        let hash: UInt64
        let offset: Int
        let count: Int
    }

    // Not arrays: this is the hot path of every key, and an array inside a class pays for exclusivity and uniqueness checks.
    private var entries: UnsafeMutablePointer<Entry>
    private var entryCount = 0
    private var entryCapacity = 64
    private var bytes: UnsafeMutableRawPointer
    private var byteCount = 0
    private var byteCapacity = 1_024
    /// Index in `entries` where the keys of each open object begin.
    private let starts: UnsafeMutablePointer<Int>
    private var depth = 0

    /// For an object with many keys: maps a hash to its entries.
    private var index: [UInt64: [Int]] = [:]
    private var indexedDepth = -1
    /// Makes the hashes unpredictable.
    private let seed = UInt64.random(in: 1...UInt64.max)

    /// - Parameter depthLimit: the maximum nesting of objects that the caller opens.
    init(depthLimit: Int) {
        entries = .allocate(capacity: entryCapacity)
        bytes = .allocate(byteCount: byteCapacity, alignment: 8)
        starts = .allocate(capacity: depthLimit)
    }

    deinit {
        entries.deallocate()
        bytes.deallocate()
        starts.deallocate()
    }

    func beginObject() {
        starts[depth] = entryCount
        depth += 1
    }

    func endObject() {
        depth -= 1
        if indexedDepth == depth {
            index = [:]
            indexedDepth = -1
        }
        guard entryCount > starts[depth] else { return }
        entryCount = starts[depth]
        byteCount = entries[entryCount].offset
    }

    /// Whether the innermost object is so far from the limits that a few keys may be recorded late.
    var isFarFromLimits: Bool { entryCount - starts[depth - 1] < 1_000 && byteCount < 1 << 20 }

    enum Outcome { case new, repeated, tooMany }

    func record(_ key: UnsafeRawBufferPointer) -> Outcome {
        let start = starts[depth - 1]
        let hash = hash(key)
        guard entryCount - start < Self.keyCountLimit, byteCount + key.count <= Self.byteLimit else { return .tooMany }
        if entryCount - start < 48 {
            for entry in start..<entryCount where entries[entry].hash == hash && isEqual(entry, key) { return .repeated }
        } else {
            if indexedDepth != depth - 1 { buildIndex(from: start) }
            for entry in index[hash] ?? [] where isEqual(entry, key) { return .repeated }
            index[hash, default: []].append(entryCount)
        }
        append(key, hash)
        return .new
    }

    private func append(_ key: UnsafeRawBufferPointer, _ hash: UInt64) {
        if entryCount == entryCapacity {
            let grown = UnsafeMutablePointer<Entry>.allocate(capacity: entryCapacity * 2)
            grown.update(from: entries, count: entryCount)
            entries.deallocate()
            entries = grown
            entryCapacity *= 2
        }
        while byteCount + key.count > byteCapacity {
            let grown = UnsafeMutableRawPointer.allocate(byteCount: byteCapacity * 2, alignment: 8)
            grown.copyMemory(from: bytes, byteCount: byteCount)
            bytes.deallocate()
            bytes = grown
            byteCapacity *= 2
        }
        entries[entryCount] = Entry(hash: hash, offset: byteCount, count: key.count)
        entryCount += 1
        if let base = key.baseAddress { (bytes + byteCount).copyMemory(from: base, byteCount: key.count) }
        byteCount += key.count
    }

    private func buildIndex(from start: Int) {
        index = [:]
        for entry in start..<entryCount { index[entries[entry].hash, default: []].append(entry) }
        indexedDepth = depth - 1
    }

    private func isEqual(_ entry: Int, _ key: UnsafeRawBufferPointer) -> Bool {
        let known = entries[entry]
        guard known.count == key.count else { return false }
        return UnsafeRawBufferPointer(start: bytes + known.offset, count: known.count).elementsEqual(key)
    }

    @inline(__always)
    private func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
        var hash = seed &+ UInt64(key.count)
        var offset = 0
        while offset < key.count {
            var word: UInt64 = 0
            if offset + 8 <= key.count {
                word = key.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            } else {
                for index in offset..<key.count { word = word << 8 | UInt64(key[index]) }
            }
            let product = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            hash = product.high ^ product.low
            offset += 8
        }
        return hash
    }
}

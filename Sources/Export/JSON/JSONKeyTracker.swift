import BackupCore

/// The keys of the objects that are open, so that one that comes twice is noticed. Memory is bounded by a limit for each object
/// and one for all.
struct JSONKeyTracker: ~Copyable {
    static let keyCountLimit = 100_000
    static let byteLimit = 64 << 20

    private struct Entry {
        let hash: UInt64
        let offset: Int
        let count: Int
    }

    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    /// Index in `entries` where the keys of each open object begin.
    private var starts: [Int] = []
    /// For objects of many keys: by hash the entries that have it.
    private var index: [UInt64: [Int]] = [:]
    private var indexedDepth = -1
    /// Hashes that nobody can prepare for.
    private let seed = UInt64.random(in: 1...UInt64.max) | 1

    mutating func beginObject() { starts.append(entries.count) }

    mutating func endObject() {
        guard let start = starts.popLast() else { return }
        if indexedDepth == starts.count {
            index = [:]
            indexedDepth = -1
        }
        if start < entries.count {
            bytes.removeSubrange(entries[start].offset...)
            entries.removeSubrange(start...)
        }
    }

    enum Outcome { case new, repeated, tooMany }

    mutating func note(_ key: UnsafeRawBufferPointer) -> Outcome {
        guard let start = starts.last else { return .new }
        let hash = hash(key)
        let count = entries.count - start
        guard count < Self.keyCountLimit, bytes.count + key.count <= Self.byteLimit else { return .tooMany }
        if count < 48 {
            for entry in start..<entries.count where entries[entry].hash == hash && isEqual(entry, key) { return .repeated }
        } else {
            if indexedDepth != starts.count - 1 { buildIndex(from: start) }
            for entry in index[hash] ?? [] where isEqual(entry, key) { return .repeated }
            index[hash, default: []].append(entries.count)
        }
        entries.append(Entry(hash: hash, offset: bytes.count, count: key.count))
        bytes.append(contentsOf: key)
        return .new
    }

    private mutating func buildIndex(from start: Int) {
        index = [:]
        for entry in start..<entries.count { index[entries[entry].hash, default: []].append(entry) }
        indexedDepth = starts.count - 1
    }

    private func isEqual(_ entry: Int, _ key: UnsafeRawBufferPointer) -> Bool {
        let known = entries[entry]
        guard known.count == key.count else { return false }
        return bytes[known.offset..<known.offset + known.count].elementsEqual(key)
    }

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

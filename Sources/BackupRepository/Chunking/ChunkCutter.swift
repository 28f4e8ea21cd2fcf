/// Decides where the chunks of one file end.
enum ChunkCutter {
    case contentDefined(ContentDefinedCutter)
    case fixed(FixedCutter)

    /// As `ContentDefinedCutter.scan`.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int? {
        switch self {
        case .contentDefined(var cutter):
            let cut = cutter.scan(bytes)
            self = .contentDefined(cutter)
            return cut
        case .fixed(var cutter):
            let cut = cutter.scan(bytes)
            self = .fixed(cutter)
            return cut
        }
    }
}

/// FastCDC: derives chunk boundaries from the bytes themselves, so that an insertion moves the cuts along with the content.
///
/// A gear hash rolls over the last 64 bytes. The first `minimumBytes` of a chunk are skipped without hashing. After each further
/// byte the chunk ends if the hash's uppermost bits are all zero: `log2(average) + 2` bits up to the average length,
/// `log2(average) - 2` bits after it (normalised chunking). It always ends at `maximumBytes`.
///
/// It accepts the bytes in pieces of any size; the cuts do not depend on the pieces.
struct ContentDefinedCutter {
    private let minimum: Int
    private let average: Int
    private let maximum: Int
    private let shiftBeforeAverage: UInt64
    private let shiftAfterAverage: UInt64
    private let gear: GearTable
    private var position = 0
    private var hash: UInt64 = 0

    init(sizes: ChunkerParameters.Sizes, gear: GearTable) {
        minimum = sizes.minimumBytes
        average = sizes.averageBytes
        maximum = sizes.maximumBytes
        let averageBits = UInt64(sizes.averageBytes.trailingZeroBitCount)
        shiftBeforeAverage = 64 - (averageBits + 2)
        shiftAfterAverage = 64 - (averageBits - 2)
        self.gear = gear
    }

    /// Continues with `bytes`.
    /// - Returns: how many of the bytes belong to the current chunk, if it ends among them; the next call starts the next chunk.
    ///   `nil` when all of them belong to it and it continues.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        let skipped = min(max(0, minimum - position), bytes.count)
        var index = skipped
        position += skipped
        if position < average, roll(base, bytes.count, &index, until: average, shift: shiftBeforeAverage) { return cut(index) }
        if roll(base, bytes.count, &index, until: maximum, shift: shiftAfterAverage) { return cut(index) }
        return position == maximum ? cut(index) : nil
    }

    /// - Returns: whether the hash ended the chunk; `index` is then just after its last byte.
    @inline(__always)
    private mutating func roll(
        _ base: UnsafeRawPointer, _ count: Int, _ index: inout Int, until limit: Int, shift: UInt64
    ) -> Bool {
        let end = min(count, index + (limit - position))
        guard index < end else { return false }
        // Local copies: this is the program's hottest loop and must keep everything in registers.
        let values = gear.values
        var current = hash
        var cursor = index
        var found = false
        while cursor < end {
            current = (current &<< 1) &+ values[Int(base.load(fromByteOffset: cursor, as: UInt8.self))]
            cursor &+= 1
            if current &>> shift == 0 {
                found = true
                break
            }
        }
        position += cursor - index
        index = cursor
        hash = current
        return found
    }

    private mutating func cut(_ index: Int) -> Int {
        position = 0
        hash = 0
        return index
    }
}

/// 256 random 64-bit numbers, one for each byte value, that the gear hash adds up. SplitMix64 derives them from the repository's
/// seed, so they are not stored.
///
/// `@unchecked Sendable`: the numbers are written once, in `init`, before another thread can see them.
final class GearTable: @unchecked Sendable {
    let values: UnsafePointer<UInt64>
    private let storage: UnsafeMutablePointer<UInt64>

    init(seed: UInt64) {
        storage = .allocate(capacity: 256)
        values = UnsafePointer(storage)
        var state = seed
        for index in 0..<256 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var number = state
            number = (number ^ (number >> 30)) &* 0xbf58_476d_1ce4_e5b9
            number = (number ^ (number >> 27)) &* 0x94d0_49bb_1331_11eb
            storage[index] = number ^ (number >> 31)
        }
    }

    deinit { storage.deallocate() }
}

/// Cuts pieces of equal length, for databases, whose pages do not move.
struct FixedCutter {
    private let lengthBytes: Int
    private var position = 0

    init(lengthBytes: Int) { self.lengthBytes = lengthBytes }

    /// As `ContentDefinedCutter.scan`.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let missing = lengthBytes - position
        if bytes.count < missing {
            position += bytes.count
            return nil
        }
        position = 0
        return missing
    }
}

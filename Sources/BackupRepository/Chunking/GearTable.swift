/// 256 random 64-bit numbers, one for each byte value, that the gear hash adds up. SplitMix64 derives them from the repository's seed, so they are not stored.
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

import BackupCore
import Synchronization

/// Rules out most chunks that are not in the repository without asking the catalog (a Bloom filter): a catalog query for each new chunk would take longer than
/// storing it. It has no false negatives. Several threads may use it concurrently.
///
/// Source: B. Bloom, *Space/Time Trade-offs in Hash Coding with Allowable Errors*, CACM 13 (1970). With 16 bits and four probes for each chunk, the false
/// positive rate is one in 400.
///
/// `@unchecked Sendable`: the words are atomic.
final class ChunkFilter: @unchecked Sendable {
    private static let bitsPerChunk = 16
    private static let largestBitCount = 1 << 29

    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let bitCount: Int

    /// - Parameter expectedCount: number of chunks to insert; more make the filter less effective, not wrong. It takes two bytes for each, 64 MiB at most.
    init(expectedCount: Int) {
        var bitCount = 1 << 16
        while bitCount < expectedCount * Self.bitsPerChunk, bitCount < Self.largestBitCount { bitCount *= 2 }
        self.bitCount = bitCount
        words = .allocate(capacity: bitCount / 64)
        for index in 0..<bitCount / 64 { (words + index).initialize(to: Atomic(0)) }
    }

    deinit {
        words.deinitialize(count: bitCount / 64)
        words.deallocate()
    }

    func insert(_ id: ChunkID) { insert(DigestKey(id.digest)) }

    func insert(_ key: DigestKey) {
        forEachBit(key) { word, mask in
            words[word].bitwiseOr(mask, ordering: .relaxed)
            return true
        }
    }

    /// - Returns: false only for a chunk that was never inserted.
    func mayContain(_ id: ChunkID) -> Bool {
        forEachBit(DigestKey(id.digest)) { word, mask in words[word].load(ordering: .relaxed) & mask != 0 }
    }

    /// The digest's own bits are as good as any hash of them.
    /// - Returns: whether `body` was true for all four.
    @discardableResult
    private func forEachBit(_ key: DigestKey, _ body: (_ word: Int, _ mask: UInt64) -> Bool) -> Bool {
        func visit(_ number: Int64) -> Bool {
            let bit = Int(truncatingIfNeeded: number) & (bitCount - 1)
            return body(bit >> 6, 1 << UInt64(bit & 63))
        }
        return visit(key.words.0) && visit(key.words.1) && visit(key.words.2) && visit(key.words.3)
    }
}

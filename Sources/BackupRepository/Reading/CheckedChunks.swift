import BackupCore
import SystemIO

/// Remembers the chunks whose stored bytes have been compared with their CRC-32, so that each is checked only at its first use.
final class CheckedChunks: Sendable {
    private final class Shard: Sendable {
        let keys = Monitor<Set<UInt64>>([])
    }

    private static let shardCount = 16
    /// A full shard is emptied, and its chunks are checked once more: 512 Ki chunks are remembered in about 10 MB.
    private static let shardLimit = 32 << 10

    private let shards = (0..<shardCount).map { _ in Shard() }

    /// A chunk in its place, as one number. If two collide, the second one is not checked.
    private static func key(_ chunk: StoredChunk) -> UInt64 {
        let id = chunk.id.digest.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        let pack = chunk.pack.digest.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        return id ^ (pack &* 0x9e37_79b9_7f4a_7c15) ^ (chunk.packOffset &* 0xbf58_476d_1ce4_e5b9)
    }

    func contains(_ chunk: StoredChunk) -> Bool {
        let key = Self.key(chunk)
        return shards[Int(key % UInt64(Self.shardCount))].keys.withLock { $0.contains(key) }
    }

    func insert(_ chunk: StoredChunk) {
        let key = Self.key(chunk)
        shards[Int(key % UInt64(Self.shardCount))].keys.withLock { keys in
            if keys.count >= Self.shardLimit { keys.removeAll(keepingCapacity: true) }
            keys.insert(key)
        }
    }
}

import BackupCore
import SystemIO

/// A bounded, thread-safe cache: its keys are spread over shards, each with its own lock.
final class ShardedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private final class Shard: Sendable {
        let cache: Monitor<BoundedCache<Key, Value>>
        init(costLimit: Int) { cache = Monitor(BoundedCache(costLimit: costLimit)) }
    }

    private let shards: [Shard]

    /// - Parameter costLimit: of all shards together.
    init(shardCount: Int, costLimit: Int) {
        shards = (0..<shardCount).map { _ in Shard(costLimit: costLimit / shardCount) }
    }

    private func shard(for key: Key) -> Shard { shards[Int(UInt(bitPattern: key.hashValue) % UInt(shards.count))] }

    func value(for key: Key) -> Value? { shard(for: key).cache.withLock { $0.value(for: key) } }

    func insert(_ value: Value, for key: Key, cost: Int) {
        shard(for: key).cache.withLock { $0.insert(value, for: key, cost: cost) }
    }
}

import BackupCore
import SystemIO

/// An LRU cache with a limited total cost. Not thread-safe by itself.
struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Slot: Sendable {
        var key: Key
        var value: Value
        var cost: Int
        var newer: Int
        var older: Int
    }

    private let costLimit: Int
    private var totalCost = 0
    private var slots: [Slot?] = []
    private var freeSlots: [Int] = []
    private var positions: [Key: Int] = [:]
    /// Ends of the list from the most to the least recently used value; -1 when it is empty.
    private var newest = -1
    private var oldest = -1

    init(costLimit: Int) { self.costLimit = costLimit }

    var count: Int { positions.count }

    /// Finds a value and marks it as recently used.
    mutating func value(for key: Key) -> Value? {
        guard let position = positions[key] else { return nil }
        if position != newest {
            unlink(position)
            link(position)
        }
        return slots[position]?.value
    }

    /// Adds or replaces a value, and evicts the least recently used ones until the limit holds. The new value always stays, even
    /// if it costs more than the limit: the caller is about to use it.
    mutating func insert(_ value: Value, for key: Key, cost: Int) {
        remove(key)
        let slot = Slot(key: key, value: value, cost: cost, newer: -1, older: -1)
        let position: Int
        if let free = freeSlots.popLast() {
            position = free
            slots[position] = slot
        } else {
            position = slots.count
            slots.append(slot)
        }
        positions[key] = position
        totalCost += cost
        link(position)
        while totalCost > costLimit, oldest != newest, let slot = slots[oldest] { remove(slot.key) }
    }

    mutating func remove(_ key: Key) {
        guard let position = positions.removeValue(forKey: key) else { return }
        unlink(position)
        totalCost -= slots[position]?.cost ?? 0
        slots[position] = nil
        freeSlots.append(position)
    }

    mutating func removeAll(where shouldBeRemoved: (Value) -> Bool) {
        for slot in slots {
            if let slot, shouldBeRemoved(slot.value) { remove(slot.key) }
        }
    }

    private mutating func link(_ position: Int) {
        slots[position]?.older = newest
        slots[position]?.newer = -1
        if newest >= 0 { slots[newest]?.newer = position } else { oldest = position }
        newest = position
    }

    private mutating func unlink(_ position: Int) {
        guard let slot = slots[position] else { return }
        if slot.newer >= 0 { slots[slot.newer]?.older = slot.older } else { newest = slot.older }
        if slot.older >= 0 { slots[slot.older]?.newer = slot.newer } else { oldest = slot.newer }
    }
}

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

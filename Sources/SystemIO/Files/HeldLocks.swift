import Synchronization

/// The locks that this process holds, for an end that cannot wait for their holders: a thread that the kernel cannot interrupt keeps its descriptors, and
/// with them their locks, for as long as it waits.
enum HeldLocks {
    private static let held = Mutex<[Int32: @Sendable (Int32) -> Int32]>([:])

    /// - Parameter unlock: gives the lock of this descriptor back; without effect where there is none.
    static func add(_ descriptor: Int32, unlock: @escaping @Sendable (Int32) -> Int32) {
        held.withLock { $0[descriptor] = unlock }
    }

    /// Gives one lock back. Without effect the second time.
    static func release(_ descriptor: Int32) {
        guard let unlock = held.withLock({ $0.removeValue(forKey: descriptor) }) else { return }
        _ = unlock(descriptor)
    }

    /// Gives every lock of this process back, which ends at once after this.
    static func releaseAll() {
        held.withLock { held in
            for (descriptor, unlock) in held { _ = unlock(descriptor) }
        }
    }
}

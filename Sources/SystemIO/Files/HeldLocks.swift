import Synchronization

/// The locks that this process holds, for an exit that cannot wait for their holders: a thread in uninterruptible sleep (D state) keeps its descriptors,
/// and with them their locks, until it wakes.
enum HeldLocks {
    private static let held = Mutex<[Int32: @Sendable (Int32) -> Int32]>([:])

    /// - Parameter unlock: releases the lock of this descriptor; a no-op where there is none.
    static func add(_ descriptor: Int32, unlock: @escaping @Sendable (Int32) -> Int32) {
        held.withLock { $0[descriptor] = unlock }
    }

    /// Releases one lock. A no-op the second time.
    static func release(_ descriptor: Int32) {
        guard let unlock = held.withLock({ $0.removeValue(forKey: descriptor) }) else { return }
        _ = unlock(descriptor)
    }

    /// Releases every lock of this process, which exits immediately afterwards.
    static func releaseAll() {
        held.withLock { held in
            for (descriptor, unlock) in held { _ = unlock(descriptor) }
        }
    }
}

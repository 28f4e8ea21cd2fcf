import CLinux

/// The heaps of malloc(3).
public enum MemoryHeaps {
    /// Makes all threads share one heap. By default glibc creates up to eight per core, and a thread cannot use memory that another one freed in its heap:
    /// a process that serves from many threads for weeks then keeps several times the memory it needs.
    ///
    /// Call it before other threads start; a no-op where the C library does not support it.
    public static func useOne() { _ = backupfs_limit_heaps(1) }

    /// Returns free memory to the system, also from between used blocks: for after a large task that will not repeat soon. Takes milliseconds.
    public static func giveBack() { backupfs_trim_heaps() }
}

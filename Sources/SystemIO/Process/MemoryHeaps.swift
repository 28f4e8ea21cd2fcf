import CLinux

/// Where malloc(3) takes memory from.
public enum MemoryHeaps {
    /// Leaves the process one heap for all threads. By default glibc makes up to eight for each core, and what one thread freed there no other
    /// can use: a process that serves from many threads for weeks then keeps several times what it needs.
    ///
    /// To be called before other threads are started; does nothing where the C library cannot.
    public static func useOne() { _ = backupfs_limit_heaps(1) }

    /// Gives what is free back to the system, also between what is in use: after something large that will not come again soon. It takes
    /// milliseconds.
    public static func giveBack() { backupfs_trim_heaps() }
}

import CLinux

/// How many files a process may have open.
public enum DescriptorLimit {
    /// Raises the limit to what the system allows: 1,024 is for programs that use select(2), and a tree of folders, or many programs that look at
    /// `live/`, need more. Where it cannot be raised it stays.
    public static func raise() { _ = backupfs_raise_descriptor_limit() }
}

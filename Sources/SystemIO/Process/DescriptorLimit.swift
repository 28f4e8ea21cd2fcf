import CLinux

/// The number of files that a process may have open.
public enum DescriptorLimit {
    /// Raises the limit to the system's maximum: 1,024 is for programs that use select(2). A tree of folders, or many programs that read `live/`, need
    /// more. On failure the limit stays.
    public static func raise() { _ = backupfs_raise_descriptor_limit() }
}

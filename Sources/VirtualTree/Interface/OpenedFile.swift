/// The properties of an open file for the kernel.
public struct OpenedFile: Sendable {
    public let handle: HandleNumber
    /// Pages cached during an earlier open are still valid (immutable files).
    public let keepsCache: Bool
    /// Reads and writes bypass the page cache (files that change without the kernel's knowledge).
    public let usesDirectIO: Bool

    public init(handle: HandleNumber, keepsCache: Bool, usesDirectIO: Bool) {
        self.handle = handle
        self.keepsCache = keepsCache
        self.usesDirectIO = usesDirectIO
    }
}

/// What an open file is to the kernel.
public struct OpenedFile: Sendable {
    public let handle: HandleNumber
    /// The pages of an earlier open are still right (immutable files).
    public let keepsCache: Bool
    /// Reads and writes go past the page cache (files that change under the kernel).
    public let usesDirectIO: Bool

    public init(handle: HandleNumber, keepsCache: Bool, usesDirectIO: Bool) {
        self.handle = handle
        self.keepsCache = keepsCache
        self.usesDirectIO = usesDirectIO
    }
}

/// What an open folder is to the kernel.
public struct OpenedDirectory: Sendable {
    public let handle: HandleNumber
    /// The list of names may be kept for the next open (folders that never change).
    public let keepsCache: Bool

    public init(handle: HandleNumber, keepsCache: Bool) {
        self.handle = handle
        self.keepsCache = keepsCache
    }
}

/// The properties of an open folder for the kernel.
public struct OpenedDirectory: Sendable {
    public let handle: HandleNumber
    /// The list of names may be cached for the next open (immutable folders).
    public let keepsCache: Bool

    public init(handle: HandleNumber, keepsCache: Bool) {
        self.handle = handle
        self.keepsCache = keepsCache
    }
}

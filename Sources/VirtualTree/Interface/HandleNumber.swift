/// An open file or folder, as long as the kernel keeps it open.
public struct HandleNumber: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

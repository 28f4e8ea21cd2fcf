/// A run of bytes that an older and a newer version of a file have in common.
public struct CommonRange: Sendable, Equatable {
    /// Where it begins in the older version, in bytes.
    public let oldStart: UInt64
    /// Where it begins in the newer version, in bytes.
    public let newStart: UInt64
    /// In bytes.
    public let length: UInt64

    public init(oldStart: UInt64, newStart: UInt64, length: UInt64) {
        self.oldStart = oldStart
        self.newStart = newStart
        self.length = length
    }

    public var oldEnd: UInt64 { oldStart + length }
    public var newEnd: UInt64 { newStart + length }
}

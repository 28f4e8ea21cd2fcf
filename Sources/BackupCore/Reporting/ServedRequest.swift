/// A request of the kernel to a mount, after its reply. It names no file: file names are data of the user.
public struct ServedRequest: Sendable {
    /// `read`, `lookup`.
    public let operation: String
    /// The file or folder as the kernel knows it while it is in use.
    public let inode: UInt64
    /// In bytes, for requests that read or write.
    public let range: (offset: UInt64, length: UInt64)?
    /// The name of the errno; `nil` for success.
    public let error: String?
    /// From its arrival to the reply.
    public let durationMicroseconds: UInt64

    public init(
        operation: String, inode: UInt64, range: (offset: UInt64, length: UInt64)?, error: String?, durationMicroseconds: UInt64
    ) {
        self.operation = operation
        self.inode = inode
        self.range = range
        self.error = error
        self.durationMicroseconds = durationMicroseconds
    }
}

/// How many requests a mount has answered since it began.
public struct RequestCounts: Sendable, Equatable {
    /// By operation.
    public var served: [String: UInt64] = [:]
    /// By the name of the errno.
    public var failed: [String: UInt64] = [:]

    public init() {}
}

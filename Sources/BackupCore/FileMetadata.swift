/// What a name of a tree stands for. The raw values are part of the repository format.
public enum FileKind: UInt8, Sendable {
    case file = 1
    case directory = 2
    case symbolicLink = 3

    /// The file type in `st_mode`.
    public var modeBits: UInt32 {
        switch self {
        case .file: 0o100000
        case .directory: 0o040000
        case .symbolicLink: 0o120000
        }
    }
}

/// The owner of a file: user and group, as numbers.
public struct FileOwner: Hashable, Sendable {
    /// The user ID.
    public let user: UInt32
    /// The group ID.
    public let group: UInt32

    public init(user: UInt32, group: UInt32) {
        self.user = user
        self.group = group
    }
}

/// An extended attribute of a file (xattr(7)): its name with the namespace, and its value.
public struct ExtendedAttribute: Hashable, Sendable {
    /// With the namespace ("user.comment").
    public let name: [UInt8]
    /// Any bytes, not necessarily text.
    public let value: [UInt8]

    public init(name: [UInt8], value: [UInt8]) {
        self.name = name
        self.value = value
    }
}

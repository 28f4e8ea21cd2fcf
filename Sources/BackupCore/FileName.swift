/// One component of a path, as the file system stores it: any bytes but `/` and NUL, not necessarily UTF-8.
/// Text is never normalised: two names are equal only if their bytes are.
public struct FileName: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// Linux's limit for one component.
    public static let byteCountLimit = 255

    public let bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }
    public init(_ text: some StringProtocol) { bytes = Array(text.utf8) }
    public init(stringLiteral text: String) { bytes = Array(text.utf8) }

    /// For display; bytes that are not UTF-8 become U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    public static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

    /// Whether a backup can have this name: valid UTF-8 without control characters, not hidden, and not `latest`.
    public var isSnapshotName: Bool {
        isSafeComponent && self != "latest" && bytes.first != UInt8(ascii: ".")
            && String(validating: bytes, as: UTF8.self) != nil && !bytes.contains { $0 < 32 || $0 == 127 }
    }

    /// Whether it can be stored and restored as a single component: not empty, `.`, `..` or too long, and without `/` or NUL.
    public var isSafeComponent: Bool { isSafeComponent(upTo: Self.byteCountLimit) }

    /// The same for a name that will be shortened before use.
    public func isSafeComponent(upTo byteCountLimit: Int) -> Bool {
        guard !bytes.isEmpty, bytes.count <= byteCountLimit else { return false }
        guard bytes != [46], bytes != [46, 46] else { return false }
        return !bytes.contains { $0 == 0 || $0 == 47 }
    }
}

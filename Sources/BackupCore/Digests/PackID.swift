/// The name of a pack: the SHA-256 of its index, which names every chunk in it and so determines its content.
public struct PackID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let digest: SHA256Digest

    public init(_ digest: SHA256Digest) { self.digest = digest }

    /// - Returns: `nil` unless `hexadecimal` is 64 hexadecimal digits.
    public init?(hexadecimal: some StringProtocol) {
        guard let digest = SHA256Digest(hexadecimal: hexadecimal) else { return nil }
        self.init(digest)
    }

    public var hexadecimal: String { digest.hexadecimal }
    public var description: String { hexadecimal }

    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }
}

import BackupCore
import SystemIO

/// Identifies the origin of snapshots: the line of backups of one store. 16 random bytes, so that two stores never have the same one by chance.
public struct SourceID: Hashable, Sendable, Comparable, CustomStringConvertible {
    private static let digitCount = 32

    /// 32 lower-case hexadecimal digits.
    public let hexadecimal: String

    /// - Returns: `nil` unless it is 32 lower-case hexadecimal digits.
    public init?(hexadecimal: String) {
        guard hexadecimal.utf8.count == Self.digitCount, hexadecimal == hexadecimal.lowercased(),
            Hexadecimal.decode(hexadecimal.utf8) != nil
        else { return nil }
        self.hexadecimal = hexadecimal
    }

    private init(token: String) { hexadecimal = token }

    public static func random() -> SourceID { SourceID(token: RandomToken.make()) }

    /// Enough of it for a user to distinguish a repository's sources.
    public var short: String { String(hexadecimal.prefix(8)) }

    public var description: String { hexadecimal }

    public static func < (left: SourceID, right: SourceID) -> Bool { left.hexadecimal < right.hexadecimal }
}

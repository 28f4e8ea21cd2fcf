import BackupCore
import SystemIO

/// The name of a photo in content-addressed storage: `photos/yyyy/MM/<md5>.<ext>`. The month is that of the file's modification time in UTC.
public struct StorageKey: Sendable, Equatable {
    /// For names without a usable extension.
    private static let defaultExtension = "jpg"
    private static let extensionLengthLimit = 16

    /// `photos/2024/06/9e107d9d372bb6826bd81d3542a419d6.jpg`.
    public let text: String

    /// - Returns: `nil` for a file with unknown checksums.
    public init?(_ file: MediaFileFacts) {
        guard let checksums = file.checksums else { return nil }
        let day = ISO8601.format(file.modificationTime.wholeSeconds)
        let year = day.prefix { $0 != "-" }
        let month = day.dropFirst(year.count + 1).prefix(2)
        text = "photos/\(year)/\(month)/\(checksums.md5.hexadecimal).\(Self.fileExtension(of: file.name))"
    }

    /// The lower-case extension of a name: letters and digits after the last dot.
    static func fileExtension(of name: ArraySlice<UInt8>) -> String {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return defaultExtension }
        let bytes = name[(dot + 1)...]
        let isPlain = bytes.allSatisfy { (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) }
        guard isPlain, (1...extensionLengthLimit).contains(bytes.count) else { return defaultExtension }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }
}

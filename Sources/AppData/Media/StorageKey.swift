import BackupCore
import SystemIO

/// The name of a photo in content-addressed storage: `photos/yyyy/MM/<md5>.<ext>`. The month is that of the file's modification
/// time in UTC.
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

/// The name in an export for a file whose name is not UTF-8, which JSON cannot contain: each invalid byte becomes U+FFFD and its
/// two hexadecimal digits, so that two such names stay different. Older programs wrote U+FFFD alone.
public enum PathText {
    private static let longestScalarBytes = 4

    /// The text in UTF-8; the same bytes if they are UTF-8 already.
    public static func text(of path: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(path)
        guard !isText(bytes[...]) else { return bytes }
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let length = (1...longestScalarBytes).first { index + $0 <= bytes.count && isText(bytes[index..<index + $0]) }
            if let length {
                text += bytes[index..<index + length]
            } else {
                text += Array("\u{FFFD}\(Hexadecimal.encode([bytes[index]]).uppercased())".utf8)
            }
            index += length ?? 1
        }
        return text
    }

    /// All names that exports use, or have used, for it.
    public static func texts(of path: [UInt8]) -> [[UInt8]] {
        isText(path[...]) ? [path] : [text(of: path), Array(String(decoding: path, as: UTF8.self).utf8)]
    }

    private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool { String(validating: bytes, as: UTF8.self) != nil }
}

/// The archive names of the files of one export's records. Shortened names can be equal: those get numbers.
struct ArchiveFileNames {
    /// Shorter names have not been shortened: a character has at most four bytes.
    private static let longNameBytes = FileName.byteCountLimit - 4

    let naming: ArchiveNaming
    private var taken: Set<[UInt8]> = []

    init(_ naming: ArchiveNaming) { self.naming = naming }

    /// To be called once for each record, in export order.
    mutating func name(of path: [UInt8], key: String) -> [UInt8] {
        let name = naming.name(of: path, key: key)
        guard naming == .keyed, name.count >= Self.longNameBytes else { return name }
        var candidate = name
        var number = 2
        while !taken.insert(candidate).inserted {
            candidate = FileName.fitting(name, "_\(number)")
            number += 1
        }
        return candidate
    }
}

/// Records whose file is missing from the media folder.
public struct MissingFiles: Sendable, Equatable {
    /// The number of examples; further records are only counted.
    static let exampleLimit = 100

    /// All records without their file, also beyond the examples.
    public private(set) var count = 0
    /// "photo 4: gone.jpg": the first ones.
    public private(set) var examples: [Message] = []

    public init() {}

    mutating func add(_ text: Message) {
        count += 1
        if examples.count < Self.exampleLimit { examples.append(text) }
    }

    /// For people: the examples, and the number of further ones.
    public var lines: [Message] {
        count > examples.count
            ? examples + [
                .plural(
                    count - examples.count, one: "\(count - examples.count) more file",
                    other: "\(count - examples.count) more files")
            ] : examples
    }
}

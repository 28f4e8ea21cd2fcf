/// One component of a path, as the file system stores it: any bytes but `/` and NUL, not necessarily UTF-8.
/// Text is never normalised: two names are equal only if their bytes are.
public struct FileName: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// Linux's limit for one component.
    public static let byteCountLimit = 255

    /// Without a terminating NUL.
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }
    /// The text in UTF-8.
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

extension FileName {
    /// Including the dot: a longer suffix is not an extension.
    private static let endingLimitBytes = 17

    /// A name with text inserted before its extension, shortened to the length limit: keeps the extension, and does not split a
    /// character.
    /// - Parameters:
    ///   - addition: a number, if the name is already taken. Only one that is longer than a name makes the result too long.
    ///   - reservedBytes: space to leave in the name for a later suffix.
    public static func fitting(_ name: [UInt8], _ addition: String = "", reservedBytes: Int = 0) -> [UInt8] {
        let dot = name.lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        // A name whose only dot is its first character has no extension.
        let isEnding = dot > 0 && name.count - dot <= endingLimitBytes
        let stem = isEnding ? name[..<dot] : name[...]
        let end = Array(addition.utf8) + (isEnding ? name[dot...] : [])
        var count = max(0, min(stem.count, byteCountLimit - reservedBytes - end.count))
        while count > 1, count < stem.count, stem[count] & 0xC0 == 0x80 { count -= 1 }
        return stem.prefix(count) + end
    }

    /// `NAME_2`: for a folder name that is taken; a folder has no extension. Shortened to the length limit without splitting a
    /// character.
    public func numbered(_ number: Int) -> FileName {
        let end = Array("_\(number)".utf8)
        var count = min(bytes.count, Self.byteCountLimit - end.count)
        while count > 1, count < bytes.count, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        return FileName(bytes: bytes.prefix(count) + end)
    }
}

/// Files created within the same second have the same name: they get `_2`, `_3`, … before their extension, oldest first.
public enum UniqueFileNames {
    /// - Returns: the names in the same order, each of them once.
    public static func make(_ names: [String]) -> [String] {
        var taken: Set<String> = []
        return names.map { name in
            var candidate = name
            var number = 2
            while !taken.insert(candidate).inserted {
                let dot = name.lastIndex(of: ".") ?? name.endIndex
                candidate = "\(name[..<dot])_\(number)\(name[dot...])"
                number += 1
            }
            return candidate
        }
    }
}

/// Paths as file systems and archives store them: components joined by `/`, which may contain any other bytes.
public enum BytePath {
    private static let slash = UInt8(ascii: "/")

    /// The components, without empty ones.
    public static func components(of path: [UInt8]) -> [FileName] {
        path.split(separator: slash).map { FileName(bytes: Array($0)) }
    }

    /// The path of components; empty for none.
    public static func joined(_ names: some Sequence<FileName>) -> [UInt8] {
        Array(names.map(\.bytes).joined(separator: [slash]))
    }

    /// The part after the last slash.
    public static func lastComponent(of path: [UInt8]) -> [UInt8] {
        path.lastIndex(of: slash).map { Array(path[($0 + 1)...]) } ?? path
    }

    /// The part before the last slash; empty when there is none.
    public static func folder(of path: [UInt8]) -> [UInt8] { path.lastIndex(of: slash).map { Array(path[..<$0]) } ?? [] }

    /// The path of `name` in a folder; an empty folder is the root of the paths.
    public static func join(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] { folder.isEmpty ? name : folder + [slash] + name }
}

/// The archive formats in which all files appear as one.
public enum ArchiveFormat: Hashable, Sendable, CaseIterable {
    case tar
    case zip

    /// The archive's name, beside the files it consists of.
    public var fileName: FileName {
        switch self {
        case .tar: "archive.tar"
        case .zip: "archive.zip"
        }
    }
}

/// One entry of an archive view: the data of a file that a ZIP or tar layout needs.
public struct ArchiveMember: Sendable {
    /// Path in the archive, components joined by `/`, no leading slash; folders end with `/`.
    public let path: [UInt8]
    /// Permission bits and file type, as in `st_mode`; without set-user-ID and set-group-ID, since an archive records no owners:
    /// if root unpacked it, the file would run as root.
    public let mode: UInt32
    /// An archive keeps what its format can hold of it: a ZIP whole seconds.
    public let modificationTime: Timestamp
    /// Of the content, in bytes.
    public let size: UInt64
    /// Of the content; only a ZIP needs it.
    public let crc32: UInt32
    /// A symbolic link's content is its target, as literal pieces.
    public let content: [ContentPiece]

    public init(
        path: [UInt8], mode: UInt32, modificationTime: Timestamp, size: UInt64, crc32: UInt32, content: [ContentPiece]
    ) {
        self.path = path
        self.mode = mode & ~0o6000
        self.modificationTime = modificationTime
        self.size = size
        self.crc32 = crc32
        self.content = content
    }

    /// Whether the path ends with `/`.
    public var isDirectory: Bool { path.last == UInt8(ascii: "/") }

    /// Whether it is a symbolic link, by its mode; the content is then the target.
    public var isSymbolicLink: Bool { mode & 0o170000 == 0o120000 && !isDirectory }
}

/// Maps the files of a snapshot to their paths in an archive, and back: `archiveLayout` of an app's definition.
///
/// A path that begins with the `from` of a rule begins with its `to` in the archive. Without rules the archive has the paths of
/// the snapshot; with rules, a file that matches none is left out. A definition is refused when two of its rules match the same
/// file. The record of a snapshot, which may come from another definition, can contain such rules: the longest match counts, in
/// both directions.
public struct ArchivePathMap: Sendable, Hashable {
    /// A path that begins with `from` begins with `to` in the archive.
    public struct Rule: Sendable, Hashable {
        /// The prefix in the snapshot.
        public let from: String
        /// The prefix in the archive.
        public let to: String

        public init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    /// The archive has the paths of the snapshot.
    public static let identity = ArchivePathMap([])

    /// The longest `from` first; equal lengths in byte order.
    public let rules: [Rule]
    /// The longest `to` first.
    private let inverseRules: [Rule]

    /// - Parameter rules: in any order. Of two with the same `from` the first counts.
    public init(_ rules: [Rule]) {
        let unique = Dictionary(rules.map { ($0.from, $0.to) }) { first, _ in first }
        self.init(prefixes: unique)
    }

    /// - Parameter prefixes: each `from` with its `to`, as in the record of a snapshot.
    public init(prefixes: [String: String]) {
        func isBefore(_ one: Substring.UTF8View, _ other: Substring.UTF8View) -> Bool {
            one.count == other.count ? one.lexicographicallyPrecedes(other) : one.count > other.count
        }
        let rules = prefixes.map { Rule(from: $0, to: $1) }.sorted { isBefore($0.from[...].utf8, $1.from[...].utf8) }
        self.rules = rules
        // Of two with the same `to`, the longer `from` stays first.
        inverseRules = rules.enumerated().sorted { one, other in
            let lengths = (one.element.to.utf8.count, other.element.to.utf8.count)
            return lengths.0 == lengths.1 ? one.offset < other.offset : lengths.0 > lengths.1
        }.map(\.element)
    }

    /// Each `from` with its `to`.
    public var prefixes: [String: String] { Dictionary(uniqueKeysWithValues: rules.map { ($0.from, $0.to) }) }

    /// Whether the archive has the paths of the snapshot.
    public var isIdentity: Bool { rules.isEmpty }

    /// The path in the archive; `nil` for a file that is left out.
    public func archivePath(of path: [UInt8]) -> [UInt8]? {
        if isIdentity { return path }
        guard let rule = rules.first(where: { path.starts(with: $0.from.utf8) }) else { return nil }
        return Array(rule.to.utf8) + path.dropFirst(rule.from.utf8.count)
    }

    /// The path in the snapshot; `nil` for a file of the archive that matches no rule.
    public func snapshotPath(of archivePath: [UInt8]) -> [UInt8]? {
        if isIdentity { return archivePath }
        guard let rule = inverseRules.first(where: { archivePath.starts(with: $0.to.utf8) }) else { return nil }
        return Array(rule.from.utf8) + archivePath.dropFirst(rule.to.utf8.count)
    }

    /// Also includes places of the snapshot that would otherwise be left out, under separate names that no other rule uses.
    public func including(_ places: [String]) -> ArchivePathMap {
        guard !isIdentity else { return self }
        var prefixes = prefixes
        for place in places where archivePath(of: Array(place.utf8)) == nil {
            prefixes[place] = Self.unusedTarget(place, in: prefixes.values)
        }
        return ArchivePathMap(prefixes: prefixes)
    }

    /// Gives rules a separate name if another rule's `to` is inside theirs: there, two files of a snapshot could get the same
    /// path.
    public var withoutNestedTargets: ArchivePathMap {
        var prefixes = prefixes
        for rule in rules where prefixes.contains(where: { $0.key != rule.from && $0.value.utf8.starts(with: rule.to.utf8) }) {
            prefixes[rule.from] = Self.unusedTarget("backup-\(rule.from)", in: prefixes.values)
        }
        return ArchivePathMap(prefixes: prefixes)
    }

    /// A target that is not a prefix of another one. Targets nested in an empty one are not lost: the empty one is replaced.
    private static func unusedTarget(_ wanted: String, in targets: some Sequence<String>) -> String {
        var target = wanted
        while targets.contains(where: { $0.utf8.starts(with: target.utf8) }) { target = "backup-\(target)" }
        return target
    }

    /// The first rule, in the order of the definition, that matches files which an earlier one also matches; and that earlier
    /// rule.
    public static func firstOverlap(of rules: [Rule]) -> (rule: Int, earlier: Int)? {
        for (index, rule) in rules.enumerated() {
            for (earlier, other) in rules[..<index].enumerated()
            where rule.from.utf8.starts(with: other.from.utf8) || other.from.utf8.starts(with: rule.from.utf8)
                // Two encodings of an accented letter are one key of a dictionary: one of the rules would be lost.
                || rule.from == other.from
            {
                return (index, earlier)
            }
        }
        return nil
    }
}

extension ArchivePathMap: ExpressibleByDictionaryLiteral {
    /// - Parameter elements: each `from` with its `to`.
    public init(dictionaryLiteral elements: (String, String)...) { self.init(elements.map { Rule(from: $0, to: $1) }) }
}

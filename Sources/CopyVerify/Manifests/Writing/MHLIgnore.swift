import BackupCore

/// The patterns of names that an ASC MHL history leaves out, in the style of `.gitignore`. They can come from a stranger.
struct MHLIgnore {
    /// Of those with wildcards. The names of links are literal, and can be many.
    private static let wildcardLimit = 256
    /// Of those with wildcards together: each may be compared with all of a name.
    private static let wildcardLimitBytes = 8 << 10

    /// One with wildcards.
    private struct Pattern {
        /// For each component of a path; for the last one alone, if it is not anchored.
        let components: [GlobPattern]
        let isAnchored: Bool
        let isForFolders: Bool

        func matches(_ path: [FileName]) -> Bool {
            let path = isAnchored ? path[...] : path.suffix(1)
            return path.count == components.count && zip(components, path).allSatisfy { $0.matches($1.bytes) }
        }
    }

    /// Names and paths without wildcards.
    private struct Literals {
        var names: Set<[UInt8]> = []
        var paths: Set<[UInt8]> = []

        func contains(_ path: [FileName]) -> Bool {
            if let name = path.last, names.contains(name.bytes) { return true }
            return !paths.isEmpty && paths.contains(BytePath.joined(path))
        }
    }

    let patterns: [String]
    private var wildcards: [Pattern] = []
    private var wildcardBytes = 0
    private var literals = Literals()
    private var folderLiterals = Literals()

    /// - Parameters:
    ///   - earlier: the patterns of the history's last generation.
    ///   - list: that generation, for errors.
    init(earlier: [String], list: String) throws(BackupError) {
        patterns = earlier + MHLFormat.ignoredPatterns.filter { !earlier.contains($0) }
        for pattern in patterns where !pattern.isEmpty { add(pattern) }
        guard wildcards.count <= Self.wildcardLimit else {
            throw BackupError(
                .notSupported, "its history leaves out more than \(Self.wildcardLimit) patterns with wildcards", path: list,
                remedy: "The copies are complete; copy without --manifest ascmhl.")
        }
        guard wildcardBytes <= Self.wildcardLimitBytes else {
            throw BackupError(
                .notSupported, "it has too many patterns of names that are left out", path: list,
                remedy: "The copies are complete; copy without --manifest ascmhl.")
        }
    }

    private mutating func add(_ pattern: String) {
        let isForFolders = pattern.hasSuffix("/")
        let body = isForFolders ? pattern.dropLast() : pattern[...]
        let isAnchored = body.contains("/")
        let components = body.drop { $0 == "/" }.split(separator: "/", omittingEmptySubsequences: false)
            .map { GlobPattern(String($0)) }
        let names = components.compactMap(\.literal)
        guard names.count == components.count else {
            wildcardBytes += pattern.utf8.count
            return wildcards.append(Pattern(components: components, isAnchored: isAnchored, isForFolders: isForFolders))
        }
        let path = Array(names.joined(separator: [UInt8(ascii: "/")]))
        let place = isAnchored ? \Literals.paths : \Literals.names
        if isForFolders {
            folderLiterals[keyPath: place].insert(path)
        } else {
            literals[keyPath: place].insert(path)
        }
    }

    /// Whether each pattern is of a kind that `matches` understands.
    var isUnderstood: Bool {
        patterns.allSatisfy {
            !$0.isEmpty && !$0.hasPrefix("!") && !$0.hasPrefix("#") && !$0.contains("**") && !$0.contains("[[:")
        }
    }

    /// Takes time at most proportional to the product of the path's length and that of all patterns with wildcards.
    /// - Parameter path: not empty.
    func matches(_ path: [FileName], isFolder: Bool) -> Bool {
        if literals.contains(path) || (isFolder && folderLiterals.contains(path)) { return true }
        return wildcards.contains { (isFolder || !$0.isForFolders) && $0.matches(path) }
    }

    /// A pattern for exactly this path.
    static func pattern(of path: String) -> String {
        "/"
            + path.reduce(into: "") { text, character in
                if "*?[]\\!#".contains(character) { text.append("\\") }
                text.append(character)
            }
    }
}

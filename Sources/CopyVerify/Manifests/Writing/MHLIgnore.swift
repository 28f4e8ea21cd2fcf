import BackupCore
import Glibc

/// The patterns of names that an ASC MHL history leaves out, in the style of `.gitignore`.
struct MHLIgnore {
    let patterns: [String]

    /// - Parameter earlier: those of the history's last generation.
    init(earlier: [String]) {
        patterns = earlier + MHLFormat.ignoredPatterns.filter { !earlier.contains($0) }
    }

    /// Whether each pattern is of a kind that `matches` understands.
    var isUnderstood: Bool {
        patterns.allSatisfy { !$0.isEmpty && !$0.hasPrefix("!") && !$0.hasPrefix("#") && !$0.contains("**") }
    }

    /// - Parameter path: not empty.
    func matches(_ path: [FileName], isFolder: Bool) -> Bool {
        for pattern in patterns {
            let isForFolders = pattern.hasSuffix("/")
            let body = isForFolders ? String(pattern.dropLast()) : pattern
            if isForFolders, !isFolder { continue }
            if body.contains("/") {
                let anchored = body.hasPrefix("/") ? String(body.dropFirst()) : body
                if Self.matches(anchored, BytePath.joined(path)) { return true }
            } else if let name = path.last, Self.matches(body, name.bytes) {
                return true
            }
        }
        return false
    }

    /// fnmatch(3).
    private static func matches(_ pattern: String, _ bytes: [UInt8]) -> Bool {
        fnmatch(pattern, bytes.map { CChar(bitPattern: $0) } + [0], FNM_PATHNAME) == 0
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

import BackupCore
import BackupRepository

/// Finds files in backups by name, path or content: `backupfs find`.
public struct SnapshotSearch {
    public struct Match {
        public let snapshot: Snapshot
        public let path: FileName
        public let entry: TreeEntry
    }

    private enum Pattern {
        case name(GlobPattern)
        case path(GlobPattern)
        /// The first hexadecimal digits of a SHA-256.
        case content(String)
    }

    private static let contentPrefix = "sha256:"
    private static let shortestDigits = 8
    /// Cache limit for folders known to contain no match; beyond it the cache is cleared.
    private static let knownFolderLimit = 200_000

    private let repository: Repository
    private let pattern: Pattern
    /// A folder, with its path if that matters.
    private struct Place: Hashable {
        let content: FileContent
        let prefix: [UInt8]
    }

    /// Folders without a match at any depth. If the next backup has the same folder, it need not be walked.
    private var barren: Set<Place> = []

    /// - Parameter text: a name or a pattern for names; with a slash in it, a pattern for paths relative to the backup's folder; or `sha256:` and 8 to 64
    ///   digits.
    /// - Throws: `usage` for `sha256:` with anything else.
    public init(_ text: String, in store: Store) throws(BackupError) {
        repository = store.repository
        if text.hasPrefix(Self.contentPrefix) {
            let digits = text.dropFirst(Self.contentPrefix.count).lowercased()
            guard (Self.shortestDigits...64).contains(digits.utf8.count), digits.utf8.allSatisfy({ Self.isDigit($0) }) else {
                throw BackupError(
                    .usage, "sha256: is followed by \(Self.shortestDigits) to 64 hexadecimal digits", path: text,
                    remedy: "Take them from sha256sum.")
            }
            pattern = .content(digits)
        } else if text.contains("/") {
            var path = text[...]
            // Ignored, as a slash before the paths of a backup's folder is.
            while path.hasPrefix("/") { path = path.dropFirst() }
            while path.hasSuffix("/") { path = path.dropLast() }
            pattern = .path(GlobPattern(String(path)))
        } else {
            pattern = .name(GlobPattern(text))
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    /// Searches the backups in the given order, and each one's folders in order of their names.
    /// - Parameter found: called for each match.
    /// - Throws: `repositoryDamaged` naming the backup, and what `found` throws.
    public mutating func run(
        in snapshots: [Snapshot], _ found: (Match) throws(BackupError) -> Void
    ) throws(BackupError) {
        for snapshot in snapshots {
            do throws(BackupError) {
                _ = try search(try repository.rootDirectory(of: snapshot), prefix: []) { (path, entry) throws(BackupError) in
                    try found(Match(snapshot: snapshot, path: FileName(bytes: path), entry: entry))
                }
            } catch {
                throw error.at(snapshot.name.description)
            }
        }
    }

    /// - Returns: whether anything was found.
    private mutating func search(
        _ directory: Directory, prefix: [UInt8], _ found: ([UInt8], TreeEntry) throws(BackupError) -> Void
    ) throws(BackupError) -> Bool {
        var hasMatch = false
        for entry in directory.entries {
            let path = prefix + entry.name.bytes
            if matches(entry, path) {
                hasMatch = true
                try found(path, entry)
            }
            guard entry.kind == .directory else { continue }
            let place = Place(content: entry.content, prefix: dependsOnPath ? path : [])
            if barren.contains(place) { continue }
            if try search(repository.directory(of: entry), prefix: path + [UInt8(ascii: "/")], found) {
                hasMatch = true
            } else {
                if barren.count >= Self.knownFolderLimit { barren.removeAll(keepingCapacity: true) }
                barren.insert(place)
            }
        }
        return hasMatch
    }

    /// If so, a folder without a match here may have one at another path.
    private var dependsOnPath: Bool { if case .path = pattern { true } else { false } }

    private func matches(_ entry: TreeEntry, _ path: [UInt8]) -> Bool {
        switch pattern {
        case .name(let glob): glob.matches(entry.name.bytes)
        case .path(let glob): glob.matches(path)
        case .content(let digits): entry.checksums?.sha256.hexadecimal.hasPrefix(digits) ?? false
        }
    }
}

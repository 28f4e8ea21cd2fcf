import BackupCore
import BackupRepository

/// Finds files in backups by name, path or content: `backupfs find`.
public struct SnapshotSearch {
    /// A file or folder that fits the search.
    public struct Match {
        public let snapshot: Snapshot
        /// Below the folder of the backup.
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

    /// - Parameter text: a name or a pattern for names; with a slash in it, a pattern for paths relative to the backup's folder;
    ///   or `sha256:` and 8 to 64 digits.
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
                try search(snapshot, found)
            } catch {
                throw error.at(snapshot.name.description)
            }
        }
    }

    private mutating func search(_ snapshot: Snapshot, _ found: (Match) throws(BackupError) -> Void) throws(BackupError) {
        var cursor = TreeCursor(try repository.rootDirectory(of: snapshot), in: repository)
        // Of each entered folder, how many matches there were before it.
        var counts: [Int] = []
        var count = 0
        while let step = try cursor.next() {
            switch step {
            case .entry(let entry):
                if try matches(entry, cursor.path) {
                    // The folder's own match is not one in it.
                    count += 1
                    try found(Match(snapshot: snapshot, path: FileName(bytes: cursor.path), entry: entry))
                }
                guard entry.kind == .directory else { continue }
                if barren.contains(place(of: entry, cursor.path)) { cursor.skipFolder() } else { counts.append(count) }
            case .end(let folder):
                guard counts.removeLast() == count else { continue }
                if barren.count >= Self.knownFolderLimit { barren.removeAll(keepingCapacity: true) }
                barren.insert(place(of: folder, cursor.path))
            }
        }
    }

    /// A folder without a match here may have one at another path if paths are compared.
    private func place(of folder: TreeEntry, _ path: [UInt8]) -> Place {
        if case .path = pattern { return Place(content: folder.content, prefix: path) }
        return Place(content: folder.content, prefix: [])
    }

    private func matches(_ entry: TreeEntry, _ path: [UInt8]) throws(BackupError) -> Bool {
        switch pattern {
        case .name(let glob): return glob.matches(entry.name.bytes)
        case .path(let glob): return glob.matches(path)
        case .content(let digits):
            return try repository.checksumsIfReadable(of: entry)?.sha256.hexadecimal.hasPrefix(digits) ?? false
        }
    }
}

import BackupCore
import SystemIO

/// Copies the tree of one snapshot: its files' contents, and its folders, which name these contents. For one thread.
///
/// It does not recurse, and holds the folders from the root to the present one only.
struct TreeCopier {
    /// How contents are copied.
    enum Method {
        case chunks(ChunkCopier)
        case cutting(ContentRecutter)
    }

    private struct Level {
        /// The same folder in an earlier snapshot of the target.
        let earlier: Directory?
        /// With contents in the target.
        var entries: [TreeEntry] = []
        /// With contents in the source.
        var pending: [TreeEntry] = []
    }

    /// The numbers of files and elements that are copied at once.
    private static let pendingCount = 1_024

    private let source: Repository
    private let target: Repository
    private let writer: BackupWriter
    private let method: Method
    private let reading: SourceReading
    private var levels: [Level]

    /// - Parameter earlier: the root folder of an earlier snapshot of the target, whose files may be similar.
    init(
        from source: Repository, to target: Repository, _ writer: BackupWriter, _ method: Method, _ reading: SourceReading,
        earlier: Directory?
    ) {
        self.source = source
        self.target = target
        self.writer = writer
        self.method = method
        self.reading = reading
        levels = [Level(earlier: earlier)]
    }

    /// - Returns: the folder in the target.
    /// - Throws: errors of the source, noted in `reading`; errors of the target.
    mutating func copy(_ root: StoredDirectory) throws(BackupError) -> StoredDirectory {
        var cursor = TreeCursor(root, in: source)
        while let step = try reading.run({ () throws(BackupError) in try cursor.next() }) {
            switch step {
            case .entry(let entry):
                if entry.kind == .directory {
                    levels.append(Level(earlier: earlierFolder(entry.name)))
                } else if case .cutting(let recutter) = method {
                    let earlier = levels[levels.count - 1].earlier?.entry(named: entry.name)
                    let content = try recutter.copy(
                        entry, at: cursor.path, earlier: earlier?.kind == .file ? earlier?.content : nil)
                    levels[levels.count - 1].entries.append(entry.replacing(content: content))
                } else {
                    levels[levels.count - 1].pending.append(entry)
                    if levels[levels.count - 1].pending.count >= Self.pendingCount { try copyPending() }
                }
            case .end(let folder):
                let stored = try endFolder(of: folder.totals)
                levels[levels.count - 1].entries.append(folder.replacing(content: stored.content))
            }
        }
        return try endFolder(of: root.totals)
    }

    /// Stores the innermost folder, and leaves it.
    private mutating func endFolder(of totals: DirectoryTotals?) throws(BackupError) -> StoredDirectory {
        try copyPending()
        let stored = try writer.store(levels.removeLast().entries)
        guard stored.totals == totals else {
            throw reading.note(
                BackupError(
                    .repositoryDamaged, "a folder's totals are not those that the folder above it has", path: source.location))
        }
        return stored
    }

    private mutating func copyPending() throws(BackupError) {
        guard case .chunks(let copier) = method, let pending = levels.last?.pending, !pending.isEmpty else { return }
        levels[levels.count - 1].pending = []
        let contents = try copier.copy(pending.map(\.content))
        for (entry, content) in zip(pending, contents) {
            levels[levels.count - 1].entries.append(entry.replacing(content: content))
        }
    }

    /// It only helps to store less: one that cannot be read counts as none.
    private func earlierFolder(_ name: FileName) -> Directory? {
        guard let entry = levels.last?.earlier?.entry(named: name), entry.kind == .directory else { return nil }
        return try? target.directory(of: entry)
    }
}

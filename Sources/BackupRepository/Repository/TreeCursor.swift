import BackupCore

/// Walks a stored tree step by step: the entries of a folder in the order of their names, and each folder before what is in it.
///
/// It does not recurse: a hostile repository may nest folders deeper than a thread's stack allows. It holds only the folders from
/// the root to the present one.
public struct TreeCursor {
    /// What the walk meets next.
    public enum Step {
        /// A file, a link, or a folder that the next step enters.
        case entry(TreeEntry)
        /// The end of a folder that was entered, even if it could not be read.
        case end(TreeEntry)
    }

    private struct Level {
        /// `nil` at the root.
        let folder: TreeEntry?
        let pathLength: Int
        var entries: [TreeEntry]
        var next = 0
    }

    private let repository: Repository
    private var levels: [Level]
    /// The folder that the next step enters.
    private var ahead: (stored: StoredDirectory, entry: TreeEntry?)?
    /// The path of the step's entry, or of the folder that could not be read.
    public private(set) var path: [UInt8]

    /// The entries of the folder in which the step is.
    var siblings: [TreeEntry] { levels.last?.entries ?? [] }
    /// The number of open folders, with the root.
    var depth: Int { levels.count }

    /// Walks what is in a folder.
    /// - Parameter path: begins all paths.
    public init(_ root: Directory, at path: [UInt8] = [], in repository: Repository) {
        self.init(root.entries, path, repository)
    }

    /// Walks what is in a folder that the first step reads.
    public init(_ root: StoredDirectory, in repository: Repository) {
        self.init([], [], repository)
        levels = []
        ahead = (root, nil)
    }

    /// Begins with the snapshot's folder itself, under the snapshot's name.
    init(_ snapshot: Snapshot, in repository: Repository) {
        let root = TreeEntry.directory(
            name: snapshot.name, mode: 0, modificationTime: snapshot.creationTime, stored: snapshot.record.root)
        self.init([root], [], repository)
    }

    private init(_ entries: [TreeEntry], _ path: [UInt8], _ repository: Repository) {
        self.repository = repository
        self.path = path
        levels = [Level(folder: nil, pathLength: path.count, entries: entries)]
    }

    /// - Returns: `nil` after the last one.
    /// - Throws: when the folder ahead cannot be read; the next step is its end.
    public mutating func next() throws(BackupError) -> Step? {
        if let folder = ahead {
            ahead = nil
            levels.append(Level(folder: folder.entry, pathLength: path.count, entries: []))
            levels[levels.count - 1].entries = try repository.directory(folder.stored).entries
        }
        guard let level = levels.last else { return nil }
        path.removeLast(path.count - level.pathLength)
        guard level.next < level.entries.count else {
            levels.removeLast()
            return level.folder.map { .end($0) }
        }
        levels[levels.count - 1].next += 1
        let entry = level.entries[level.next]
        if !path.isEmpty { path.append(UInt8(ascii: "/")) }
        path += entry.name.bytes
        ahead = entry.storedDirectory.map { ($0, entry) }
        return .entry(entry)
    }

    /// The next step, taking folders that cannot be read as empty.
    /// - Parameter unreadable: called with the path of such a folder.
    public mutating func nextReadable(_ unreadable: (BackupError, [UInt8]) -> Void = { _, _ in }) -> Step? {
        while true {
            do {
                return try next()
            } catch {
                unreadable(error, path)
            }
        }
    }

    /// The next entry, for walks that need not know where folders end.
    public mutating func nextEntry() throws(BackupError) -> TreeEntry? {
        while let step = try next() { if case .entry(let entry) = step { return entry } }
        return nil
    }

    /// Does not enter the folder of this step.
    public mutating func skipFolder() { ahead = nil }
}

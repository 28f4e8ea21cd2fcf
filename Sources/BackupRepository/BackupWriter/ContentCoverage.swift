import BackupCore

/// Whether a backup's writer has seen each chunk that the backup needs. Then the packs that it has noted are all that are needed,
/// and a copy of the repository learns from them that it lacks nothing, without a walk through the backup's folders.
///
/// A writer sees the chunks that it stores or looks for. A list or a folder that is taken from an earlier backup by its name
/// alone leads to chunks that it has not seen.
struct ContentCoverage {
    /// Lists of which each chunk was seen.
    private var lists: Set<ChunkID> = []
    /// The contents of folders below which each chunk was seen.
    private var folders: Set<FileContent> = []
    /// False for ever once something was used that is not covered.
    private(set) var isComplete = true

    mutating func cover(list: ChunkID) { lists.insert(list) }

    mutating func cover(folder: FileContent) { folders.insert(folder) }

    /// Notes that a folder of the backup has an entry. The chunks of its content are looked for by the writer.
    mutating func use(_ entry: TreeEntry) {
        if entry.kind == .directory { use(folder: entry.content) } else { use(lists: entry.content) }
    }

    mutating func use(folder: FileContent) {
        if !folders.contains(folder) { isComplete = false }
    }

    mutating func use(lists content: FileContent) {
        for case .list(let id, _) in content.elements where !lists.contains(id) { isComplete = false }
    }
}

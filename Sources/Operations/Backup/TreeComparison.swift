import BackupCore
import BackupRepository

/// Which files differ between two stored folders. Folders that are the same object are not walked.
struct TreeComparison {
    /// Paths beyond this number are counted but not listed.
    static let pathLimit = 10_000

    struct Changes {
        var count = 0
        var paths: [[UInt8]] = []

        mutating func add(_ path: [UInt8]) {
            count = count.addingSaturating(1)
            if paths.count < TreeComparison.pathLimit { paths.append(path) }
        }

        /// Counts the content of a folder without reading it, once no more paths are listed.
        /// - Returns: false when it must be walked.
        mutating func addUntold(_ folder: TreeEntry) -> Bool {
            guard paths.count >= TreeComparison.pathLimit, let totals = folder.totals else { return false }
            count = count.addingSaturating(Int(clamping: totals.fileCount)).addingSaturating(
                Int(clamping: totals.symbolicLinkCount))
            return true
        }
    }

    private let repository: Repository
    private(set) var added = Changes()
    private(set) var changed = Changes()
    private(set) var removed = Changes()

    init(repository: Repository) { self.repository = repository }

    mutating func compare(_ old: Directory?, _ new: Directory?, prefix: [UInt8]) throws(BackupError) {
        let names = Set((old?.entries ?? []).map(\.name)).union((new?.entries ?? []).map(\.name)).sorted()
        for name in names {
            try compare(old?.entry(named: name), new?.entry(named: name), path: prefix + name.bytes)
        }
    }

    private mutating func compare(_ old: TreeEntry?, _ new: TreeEntry?, path: [UInt8]) throws(BackupError) {
        let oldFolder = old?.kind == .directory ? old : nil
        let newFolder = new?.kind == .directory ? new : nil
        if oldFolder != nil || newFolder != nil {
            if let oldFolder, let newFolder, oldFolder.content == newFolder.content { return }
            try compareBelow(oldFolder, newFolder, path: path)
        }
        switch (oldFolder == nil ? old : nil, newFolder == nil ? new : nil) {
        case (nil, .some): added.add(path)
        case (.some, nil): removed.add(path)
        case (.some(let old), .some(let new)) where old.checksums != new.checksums || old.linkTarget != new.linkTarget:
            changed.add(path)
        default: break
        }
    }

    /// Compares the folders that one name refers to on both sides.
    private mutating func compareBelow(_ old: TreeEntry?, _ new: TreeEntry?, path: [UInt8]) throws(BackupError) {
        if old == nil, let new, added.addUntold(new) { return }
        if new == nil, let old, removed.addUntold(old) { return }
        var oldDirectory: Directory?
        var newDirectory: Directory?
        if let old { oldDirectory = try repository.directory(of: old) }
        if let new { newDirectory = try repository.directory(of: new) }
        try compare(oldDirectory, newDirectory, prefix: path + [UInt8(ascii: "/")])
    }
}

import BackupCore
import BackupRepository

/// Which files differ between two stored folders. Folders that are the same object are not walked.
struct TreeComparison {
    /// Paths beyond this number are counted, but not told.
    static let pathLimit = 10_000

    struct Changes {
        var count = 0
        var paths: [[UInt8]] = []

        mutating func add(_ path: [UInt8]) {
            count += 1
            if paths.count < TreeComparison.pathLimit { paths.append(path) }
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
            var oldDirectory: Directory?
            var newDirectory: Directory?
            if let oldFolder { oldDirectory = try repository.directory(of: oldFolder) }
            if let newFolder { newDirectory = try repository.directory(of: newFolder) }
            try compare(oldDirectory, newDirectory, prefix: path + [UInt8(ascii: "/")])
        }
        switch (oldFolder == nil ? old : nil, newFolder == nil ? new : nil) {
        case (nil, .some): added.add(path)
        case (.some, nil): removed.add(path)
        case (.some(let old), .some(let new)) where old.checksums != new.checksums || old.linkTarget != new.linkTarget:
            changed.add(path)
        default: break
        }
    }
}

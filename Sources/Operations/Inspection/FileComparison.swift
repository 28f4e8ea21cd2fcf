import BackupCore
import BackupRepository

/// Which files differ between two states. Folders that are the same object are not walked.
struct FileComparison {
    typealias Change = DifferenceDocument.Change

    struct Difference {
        let change: Change
        let path: [UInt8]
        let old: ComparedFile?
        let new: ComparedFile?
    }

    /// How many changes of each kind are listed; further ones are only counted.
    private let limit: Int
    private var links = LinkComparison()
    /// Hard links already reported as changed because of their content.
    private var changedLinks: Set<[UInt8]> = []
    private(set) var counts: [Change: Int] = [:]
    private(set) var differences: [Difference] = []

    init(limit: Int) { self.limit = limit }

    /// Call once.
    /// - Parameters: the files of two folders, sorted by name.
    mutating func compare(_ old: [ComparedFile], _ new: [ComparedFile]) throws(BackupError) {
        try compare(old, new, prefix: [])
        for difference in try links.differences() where changedLinks.remove(difference.path) == nil {
            add(.changed, difference.path, difference.old, difference.new)
        }
        differences.sort { $0.path.lexicographicallyPrecedes($1.path) }
    }

    private mutating func compare(_ old: [ComparedFile], _ new: [ComparedFile], prefix: [UInt8]) throws(BackupError) {
        var (before, after) = (old[...], new[...])
        while let name = [before.first?.name, after.first?.name].compactMap({ $0 }).min() {
            let oldFile = before.first?.name == name ? before.popFirst() : nil
            let newFile = after.first?.name == name ? after.popFirst() : nil
            try compare(oldFile, newFile, path: prefix + name.bytes)
        }
    }

    private mutating func compare(_ old: ComparedFile?, _ new: ComparedFile?, path: [UInt8]) throws(BackupError) {
        let oldFolder = old.flatMap { $0.isFolder ? $0 : nil }
        let newFolder = new.flatMap { $0.isFolder ? $0 : nil }
        if oldFolder != nil || newFolder != nil {
            if let oldFolder, let newFolder {
                // A folder's metadata is recorded in its parent folder.
                if !oldFolder.hasMetadata(of: newFolder) { add(.changed, path + [UInt8(ascii: "/")], oldFolder, newFolder) }
                if oldFolder.isSameFolder(as: newFolder) { return links.noteSame(oldFolder) }
            }
            try compare(oldFolder?.children() ?? [], newFolder?.children() ?? [], prefix: path + [UInt8(ascii: "/")])
        }
        let oldFile = oldFolder == nil ? old : nil
        let newFile = newFolder == nil ? new : nil
        links.note(oldFile, newFile, path: path)
        switch (oldFile, newFile) {
        case (nil, nil): return
        case (nil, .some): add(.added, path, oldFile, newFile)
        case (.some, nil): add(.removed, path, oldFile, newFile)
        case (.some(let before), .some(let after)):
            do {
                guard try !before.hasContent(of: after) || !before.hasMetadata(of: after) else { return }
                add(.changed, path, oldFile, newFile)
                if before.link != nil || after.link != nil { changedLinks.insert(path) }
            } catch {
                throw error.at(FileName(bytes: path).description)
            }
        }
    }

    private mutating func add(_ change: Change, _ path: [UInt8], _ old: ComparedFile?, _ new: ComparedFile?) {
        counts[change, default: 0] += 1
        if counts[change, default: 0] <= limit { differences.append(Difference(change: change, path: path, old: old, new: new)) }
    }
}

/// Whether the same names are hard links to one file on both sides of a comparison. Inodes change with every restore, so this
/// compares which names share one, not the inodes. A name that shares its file with no other in the backup is not a link.
struct LinkComparison {
    private typealias Link = EntryMetadata.Link

    private struct Name {
        let path: [UInt8]
        let old: ComparedFile?
        let new: ComparedFile?
    }

    private var names: [Name] = []
    /// Folders that are the same object on both sides, and were not walked.
    private var sameFolders: [ComparedFile] = []
    /// Whether any name could differ.
    private var mayDiffer = false

    /// - Parameters: one name, present on both sides or on one.
    mutating func note(_ old: ComparedFile?, _ new: ComparedFile?, path: [UInt8]) {
        if let old, let new { guard old.tellsLinks, new.tellsLinks else { return } }
        guard old?.link != nil || new?.link != nil else { return }
        names.append(Name(path: path, old: old, new: new))
        if old?.link != new?.link { mayDiffer = true }
    }

    mutating func noteSame(_ folder: ComparedFile) { sameFolders.append(folder) }

    /// Names on both sides that are now links to other names.
    func differences() throws(BackupError) -> [(path: [UInt8], old: ComparedFile, new: ComparedFile)] {
        guard mayDiffer else { return [] }
        var shared: [Link: Int] = [:]
        for folder in sameFolders { try Self.count(folder, &shared) }
        var (oldCounts, newCounts) = (shared, shared)
        for name in names {
            if let link = name.old?.link { oldCounts[link, default: 0] += 1 }
            if let link = name.new?.link { newCounts[link, default: 0] += 1 }
        }
        // An inode used by unchanged names is the same file on both sides. For the others, the first name seen determines which
        // file it is.
        var newOfOld = Dictionary(uniqueKeysWithValues: shared.keys.map { ($0, $0) })
        var oldOfNew = newOfOld
        var differences: [(path: [UInt8], old: ComparedFile, new: ComparedFile)] = []
        for name in names {
            guard let old = name.old, let new = name.new else { continue }
            let oldLink = old.link.flatMap { oldCounts[$0, default: 0] > 1 ? $0 : nil }
            let newLink = new.link.flatMap { newCounts[$0, default: 0] > 1 ? $0 : nil }
            guard let oldLink, let newLink else {
                if oldLink != nil || newLink != nil { differences.append((name.path, old, new)) }
                continue
            }
            if newOfOld[oldLink] ?? newLink != newLink || oldOfNew[newLink] ?? oldLink != oldLink {
                differences.append((name.path, old, new))
            } else {
                newOfOld[oldLink] = newLink
                oldOfNew[newLink] = oldLink
            }
        }
        return differences
    }

    private static func count(_ folder: ComparedFile, _ counts: inout [Link: Int]) throws(BackupError) {
        for file in try folder.children() {
            if file.isFolder { try count(file, &counts) } else if let link = file.link { counts[link, default: 0] += 1 }
        }
    }
}

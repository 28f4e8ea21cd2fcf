import BackupCore

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

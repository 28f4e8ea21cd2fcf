import BackupCore
import BackupRepository

/// Whether the same names are hard links to one file on both sides of a comparison. Inodes change with every restore, so this compares which names share one,
/// not the inodes. A name that shares its file with no other in the backup is not a link.
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
        // An inode used by unchanged names is the same file on both sides. For the others, the first name seen determines which file it is.
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

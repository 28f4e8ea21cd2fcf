import BackupRepository

/// Whether the same names are hard links to one file on both sides of a comparison. Inodes change with every restore, so it is not they that are compared,
/// but which names share one.
struct LinkComparison {
    private var newOfOld: [EntryMetadata.Link: EntryMetadata.Link] = [:]
    private var oldOfNew: [EntryMetadata.Link: EntryMetadata.Link] = [:]

    /// - Parameters: one name on both sides. Called once for each name.
    mutating func isSame(_ old: ComparedFile, _ new: ComparedFile) -> Bool {
        guard old.tellsLinks, new.tellsLinks else { return true }
        guard let oldLink = old.link, let newLink = new.link else { return old.link == nil && new.link == nil }
        // The first name of a file that is seen says which file it is on the other side.
        let isSame = newOfOld[oldLink] ?? newLink == newLink && oldOfNew[newLink] ?? oldLink == oldLink
        if newOfOld[oldLink] == nil { newOfOld[oldLink] = newLink }
        if oldOfNew[newLink] == nil { oldOfNew[newLink] = oldLink }
        return isSame
    }
}

import BackupCore

/// `snapshots/latest`: the backup that is being made, or else the newest.
final class LatestLink: LinkNode {
    var inode: InodeNumber { found.inode }
    private let found: LatestLinks.Link
    private let context: TreeContext

    init(_ found: LatestLinks.Link, context: TreeContext) {
        self.found = found
        self.context = context
    }

    /// As found a moment ago.
    func attributesWhenFound() -> NodeAttributes { attributes(of: found) }

    func attributes() throws(BackupError) -> NodeAttributes { attributes(of: try current()) }

    private func attributes(of link: LatestLinks.Link) -> NodeAttributes {
        NodeAttributes(
            inode: link.inode, shownInode: LatestLinks.shownInode, kind: .symbolicLink, permissions: 0o777,
            size: UInt64(link.target.name.bytes.count), modificationTime: link.target.time,
            // The attributes are asked for each time: no path through the link needs them.
            entryTimeoutSeconds: context.latestTimeoutSeconds)
    }

    func target() throws(BackupError) -> [UInt8] { try current().target.name.bytes }

    /// - Throws: `notFound` when there is no newest backup, and `stale` when it has another name by now: the kernel then looks up
    ///   `latest` again, and gets another link.
    private func current() throws(BackupError) -> LatestLinks.Link {
        guard let current = try context.latestLink() else { throw .notFound(LatestLinks.name) }
        guard current.inode == inode else {
            throw BackupError(
                .stale, "the newest backup has just changed", path: "snapshots/\(LatestLinks.name)", remedy: "Try again.")
        }
        return current
    }
}

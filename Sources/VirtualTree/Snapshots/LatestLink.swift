import BackupCore

/// `snapshots/latest`: the backup that is being made, or else the newest.
final class LatestLink: LinkNode {
    let inode: InodeNumber
    private let latest: LatestSnapshot
    private let context: TreeContext

    init(inode: InodeNumber, target: LatestSnapshot, context: TreeContext) {
        self.inode = inode
        latest = target
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .symbolicLink, permissions: 0o777, size: UInt64(latest.name.bytes.count),
            modificationTime: latest.time)
    }

    /// Determined each time, since the newest backup may have changed or gone.
    func target() throws(BackupError) -> [UInt8] {
        guard let newest = try context.latestSnapshot() else { throw .notFound(SnapshotsFolder.latestName) }
        return newest.name.bytes
    }
}

/// The target of `snapshots/latest`.
struct LatestSnapshot: Sendable {
    let name: FileName
    let time: Timestamp
}

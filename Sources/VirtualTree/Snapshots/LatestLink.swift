import BackupCore
import BackupRepository

/// `snapshots/latest`.
final class LatestLink: LinkNode {
    let inode: InodeNumber
    private let snapshot: Snapshot
    private let context: TreeContext

    init(inode: InodeNumber, target: Snapshot, context: TreeContext) {
        self.inode = inode
        snapshot = target
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .symbolicLink, permissions: 0o777, size: UInt64(snapshot.name.bytes.count),
            modificationTime: snapshot.creationTime)
    }

    /// Asked for each time, since the newest may be another by now, or none.
    func target() throws(BackupError) -> [UInt8] {
        guard let newest = try context.latestSnapshot() else { throw .notFound(SnapshotsFolder.latestName) }
        return newest.name.bytes
    }
}

import BackupCore
import Synchronization

/// An open folder. Its listing is taken at the first read and after every rewind, so that changes in between neither repeat nor skip a name.
final class OpenFolder: Sendable {
    let node: any FolderNode
    private let current = Mutex<FolderListing?>(nil)

    init(_ node: any FolderNode) { self.node = node }

    func listing(from offset: UInt64) throws(BackupError) -> FolderListing {
        if offset > 0, let listing = current.withLock({ $0 }) { return listing }
        let listing = try node.listing()
        current.withLock { $0 = listing }
        return listing
    }
}

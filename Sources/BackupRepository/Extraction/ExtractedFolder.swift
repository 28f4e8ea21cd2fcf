import BackupCore
import Glibc
import SystemIO

/// A folder that is being extracted. It gets its mode and time when nobody fills it any more: with its last reference, which its files hold while
/// they are written, and its folders until they are finished themselves.
final class ExtractedFolder: Sendable {
    let handle: FolderHandle
    /// Seen from the folder that is extracted, with a slash at its end; empty for that folder itself.
    let path: [UInt8]
    private let parent: ExtractedFolder?
    private let permissions: UInt32?
    private let modificationTime: Timestamp
    private let ledger: ExtractionLedger

    /// The folder that is extracted into, which is left as it is.
    init(_ handle: FolderHandle, _ ledger: ExtractionLedger) {
        self.handle = handle
        self.ledger = ledger
        path = []
        parent = nil
        permissions = nil
        modificationTime = Timestamp(seconds: 0)
    }

    /// Makes the folder.
    init(_ entry: TreeEntry, in parent: ExtractedFolder) throws(BackupError) {
        handle = try parent.handle.makeFolder(entry.name)
        path = parent.path + entry.name.bytes + [UInt8(ascii: "/")]
        self.parent = parent
        permissions = entry.restoredPermissions
        modificationTime = entry.modificationTime
        ledger = parent.ledger
    }

    deinit {
        guard let permissions else { return }
        do {
            try handle.finish(permissions: mode_t(permissions), modificationTime: modificationTime)
        } catch {
            ledger.add(error, path: path.dropLast())
        }
    }
}

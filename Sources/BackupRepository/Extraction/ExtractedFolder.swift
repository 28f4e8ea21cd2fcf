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
    /// `nil` for the folder that is extracted into.
    private let entry: TreeEntry?
    /// Of what lies in it and names no other.
    private let ownerInside: FileOwner?
    private let permissions: UInt32?
    private let modificationTime: Timestamp
    private let ledger: ExtractionLedger

    /// The folder that is extracted into, which is left as it is.
    init(_ handle: FolderHandle, _ ledger: ExtractionLedger) {
        self.handle = handle
        self.ledger = ledger
        path = []
        parent = nil
        entry = nil
        ownerInside = nil
        permissions = nil
        modificationTime = Timestamp(seconds: 0)
    }

    /// Makes the folder.
    init(_ entry: TreeEntry, in parent: ExtractedFolder) throws(BackupError) {
        handle = try parent.handle.makeFolder(entry.name)
        path = parent.path + entry.name.bytes + [UInt8(ascii: "/")]
        self.parent = parent
        self.entry = entry
        ledger = parent.ledger
        let isMedia = parent.path.isEmpty && entry.name == Self.mediaName
        ownerInside = isMedia ? parent.ledger.mediaOwner : parent.ownerInside
        permissions = entry.restoredPermissions
        modificationTime = entry.modificationTime
    }

    private static let mediaName: FileName = "media"

    /// Whom a file, folder or link in it is to be given to; `nil` for nobody but who makes it.
    func owner(of entry: TreeEntry) -> FileOwner? {
        ledger.restoresOwners ? entry.metadata?.owner ?? ownerInside : nil
    }

    /// The folder's own. Where it cannot be had the folder stays, and that is noted.
    private func restoreMetadata(_ entry: TreeEntry) {
        var problem: BackupError?
        // The media folder's own owner is that of what lies in it.
        if let owner = entry.metadata?.owner ?? ownerInside, ledger.restoresOwners {
            do throws(BackupError) { try handle.setOwner(owner) } catch { problem = error }
        }
        if let attributes = entry.metadata?.extendedAttributes, !attributes.isEmpty {
            let failure = handle.setExtendedAttributes(attributes, permissions: 0o700)
            problem = problem ?? failure
        }
        if let problem { ledger.addIncomplete(problem, path: path.dropLast()) }
    }

    deinit {
        guard let permissions, let entry else { return }
        restoreMetadata(entry)
        do {
            try handle.finish(permissions: mode_t(permissions), modificationTime: modificationTime)
        } catch {
            ledger.add(error, path: path.dropLast())
        }
    }
}

import BackupCore
import Glibc
import SystemIO

/// A folder that is being extracted. It gets its mode and time when its last reference is released, that is, when nothing more is written into it. Its files
/// hold a reference while they are written, and its subfolders until they are finished.
final class ExtractedFolder: Sendable {
    let handle: FolderHandle
    /// Relative to the extracted folder, with a slash at its end; empty for that folder itself.
    let path: [UInt8]
    private let parent: ExtractedFolder?
    /// `nil` for the target folder of the extraction.
    private let entry: TreeEntry?
    /// The owner of entries below it that name none.
    private let ownerInside: FileOwner?
    private let permissions: UInt32?
    private let modificationTime: Timestamp
    private let ledger: ExtractionLedger

    /// The target folder of the extraction; its own attributes are not changed.
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

    /// Creates the folder.
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

    /// The owner to set for an entry in this folder; `nil` to leave it with the user who runs the extraction.
    func owner(of entry: TreeEntry) -> FileOwner? {
        ledger.restoresOwners ? entry.metadata?.owner ?? ownerInside : nil
    }

    /// Restores the folder's own metadata. If that fails, the folder stays and the failure is recorded.
    private func restoreMetadata(_ entry: TreeEntry) {
        var problem: BackupError?
        // The media folder has the same owner as its contents.
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

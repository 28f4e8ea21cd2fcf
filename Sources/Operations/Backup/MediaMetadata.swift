import BackupCore
import BackupRepository
import Synchronization
import SystemIO

/// The metadata that a backup keeps with media files: owner, extended attributes, hard links and holes (decision 40).
final class MediaMetadata: Sendable {
    /// The value in the record when metadata was collected from all files.
    private static let version = "1"

    /// The owner of files whose entries name no other.
    private let owner: FileOwner
    /// The device of the media folder, recorded as 0: device numbers change.
    private let device: UInt64
    /// Whether the entries of the backup that this one compares itself with include metadata.
    let isKnown: Bool
    private let problems = Mutex<(count: Int, first: Message)?>(nil)

    /// - Parameters:
    ///   - earlier: the backup whose entries are reused.
    ///   - status: the media folder's status.
    init(earlier: Snapshot?, _ status: FileStatus) {
        isKnown = earlier?.record.attributes[Snapshot.mediaMetadataAttribute] == Self.version
        // The meaning of reused entries must not change.
        owner = (isKnown ? earlier?.mediaOwner : nil) ?? FileOwner(user: status.owner, group: status.group)
        device = status.device
    }

    /// For the snapshot's record.
    var attributes: [String: String] {
        [
            Snapshot.mediaMetadataAttribute: Self.version,
            Snapshot.mediaOwnerAttribute: "\(owner.user):\(owner.group)",
        ]
    }

    /// The metadata of an open file or folder.
    /// - Parameter path: within the media folder.
    func of(
        _ descriptor: borrowing OwnedDescriptor, _ status: FileStatus, path: @autoclosure () -> String
    ) -> EntryMetadata? {
        var attributes: [ExtendedAttribute] = []
        do throws(BackupError) { attributes = try descriptor.extendedAttributes() } catch { note(error, path()) }
        let isFile = status.kind == .regular
        return .of(
            owner: otherOwner(status), link: isFile ? link(status) : nil, holeBytes: isFile ? holeBytes(descriptor, status) : 0,
            extendedAttributes: attributes)
    }

    /// The metadata of a symbolic link: only an owner.
    func ofLink(_ status: FileStatus) -> EntryMetadata? { .of(owner: otherOwner(status)) }

    private func otherOwner(_ status: FileStatus) -> FileOwner? {
        let own = FileOwner(user: status.owner, group: status.group)
        return own == owner ? nil : own
    }

    private func link(_ status: FileStatus) -> EntryMetadata.Link? {
        guard status.linkCount > 1 else { return nil }
        return EntryMetadata.Link(fileSystem: status.device == device ? 0 : status.device, inode: status.inode)
    }

    /// Only a file that occupies less space than its size can have holes. Other files do too on file systems that compress, or that store small files
    /// elsewhere.
    private func holeBytes(_ descriptor: borrowing OwnedDescriptor, _ status: FileStatus) -> UInt64 {
        status.allocatedBytes < status.size ? descriptor.holeBytes(size: status.size) : 0
    }

    private func note(_ error: BackupError, _ path: String) {
        problems.withLock { known in
            guard let before = known else {
                known = (1, "\(path): \(error.message)")
                return
            }
            known = (before.count + 1, before.first)
        }
    }

    /// The warning for the user: the files themselves are in the backup.
    var warning: BackupWarning? {
        problems.withLock { $0 }.map { known in
            BackupWarning(
                .attributes,
                .plural(
                    known.count, one: "the backup lacks the extended attributes of \(known.count) file: \(known.first)",
                    other: "the backup lacks the extended attributes of \(known.count) files; of the first: \(known.first)"))
        }
    }
}

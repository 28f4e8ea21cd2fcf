import BackupCore
import Glibc
import SystemIO

/// Conditions that would prevent a restore from exchanging the media, as far as visible without trying (`MediaTrial`).
struct MediaObstacles {
    static let remedy: Message =
        "Run the restore as the owner of the media, or restore into another folder with --target. Nothing was changed."

    /// Folders that must not be among the media, and their content.
    let foreignFolders: ForeignFolders

    /// - Throws: `notSupported` for a mount in the media folder, since its content could be neither moved nor brought back; for folders nested too
    ///   deep; for entries in the media folder that are not media; and for entries that may not be moved.
    func check(_ mediaPath: String, _ amongMedia: DatabaseAmongMedia) throws(BackupError) {
        try check(DirectoryReader(path: mediaPath), amongMedia, moves: true, depth: 0)
    }

    /// - Parameter moves: whether the folder's own entries are moved, rather than moved with the folder.
    private func check(
        _ folder: borrowing DirectoryReader, _ amongMedia: DatabaseAmongMedia, moves: Bool, depth: Int
    ) throws(BackupError) {
        let rule = moves ? try MovingRule(folder) : nil
        let device = try folder.descriptor.status().device
        for name in try folder.names() where !amongMedia.hides(name) {
            let status: FileStatus
            do {
                status = try folder.status(name)
            } catch let error where error.code == .notFound {
                continue
            }
            let path = "\(folder.path)/\(name)"
            let isFolder = status.kind == .directory
            guard depth < MediaFolder.depthLimit || !isFolder else { throw MediaFolder.tooDeep(path) }
            let attributes = try folder.attributes(name)
            // Files of an overlay may have the device of one of its layers.
            if attributes.isMountRoot || isFolder && status.device != device {
                throw BackupError(
                    .notSupported,
                    isFolder
                        ? "something is mounted on a folder of the media folder, which a restore would have to replace"
                        : "something is mounted on a file of the media folder, which a restore would have to replace",
                    path: path,
                    remedy: "Unmount it and restore again, or restore into another folder with --target. Nothing was changed.")
            }
            let isBelow = amongMedia.isBelow(name)
            if let rule, !isBelow { try rule.check(name, status, attributes, in: folder) }
            guard isFolder else { continue }
            try foreignFolders.check(status, path)
            try check(folder.openDirectory(name), amongMedia.entering(name), moves: moves && isBelow, depth: depth + 1)
        }
    }
}

/// Who may move the entries of a folder.
private struct MovingRule {
    private let isSticky: Bool
    private let owner: UInt32

    /// - Throws: `notSupported` for a folder out of which no entry may be moved.
    init(_ folder: borrowing DirectoryReader) throws(BackupError) {
        let status = try folder.descriptor.status()
        let attributes = try folder.attributes(".")
        guard folder.isWritable(".") else { throw Self.refusal("the folder cannot be written to", folder.path) }
        guard !attributes.isUnchangeable else {
            throw Self.refusal("an attribute of the folder forbids it (lsattr)", folder.path)
        }
        isSticky = status.mode & UInt32(S_ISVTX) != 0
        owner = status.owner
    }

    /// - Throws: `notSupported` for an entry that may not be moved out of the folder.
    func check(
        _ name: FileName, _ status: FileStatus, _ attributes: EntryAttributes, in folder: borrowing DirectoryReader
    ) throws(BackupError) {
        let path = "\(folder.path)/\(name)"
        guard !attributes.isUnchangeable else { throw Self.refusal("an attribute forbids it (lsattr)", path) }
        let user = geteuid()
        guard user != 0, status.owner != user else { return }
        // A folder's “..” changes.
        guard status.kind != .directory || folder.isWritable(name) else {
            throw Self.refusal("the folder is another user's", path)
        }
        guard !isSticky || owner == user else {
            throw Self.refusal("it is another user's, in a folder with the sticky bit", path)
        }
    }

    private static func refusal(_ reason: Message, _ path: String) -> BackupError {
        BackupError(.notSupported, "the media cannot be exchanged: \(reason)", path: path, remedy: MediaObstacles.remedy)
    }
}

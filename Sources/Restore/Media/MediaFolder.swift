import BackupCore
import Glibc
import SystemIO

/// The app's media folder, for restores and backups. A restore stages near it under our own name, on the same mount, so that
/// publishing only needs renames.
public enum MediaFolder {
    /// The maximum depth of folders below the media folder.
    public static let depthLimit = 128

    static let stagingPrefix = ".backupfs-staging-"

    /// Whether an entry of the media folder itself is a restore's staging folder: its name must match exactly, with the 32
    /// hexadecimal digits of an operation. Deeper entries, and all others with that prefix, are the user's.
    public static func isOurs(_ name: FileName) -> Bool {
        name.bytes.starts(with: stagingPrefix.utf8) && RandomToken.isToken(name.bytes.dropFirst(stagingPrefix.utf8.count))
    }

    /// Where a restore can stage the new media, the better place first: beside the media folder, or in it if moves from beside it
    /// are impossible, since it is a separate mount or this program may not write to its parent folder.
    /// - Parameter mediaPath: without links
    static func stagingPaths(of mediaPath: String, operation: String) throws(BackupError) -> [String] {
        let parent = FileSystem.parentPath(mediaPath)
        let isBeside = FileSystem.isWritable(parent) ? try FileSystem.areOnOneMount(mediaPath, parent) : false
        return (isBeside ? [parent, mediaPath] : [mediaPath]).map { "\($0)/\(stagingPrefix)\(operation)" }
    }

    /// A folder for files that a restore must keep, beside its staging folder: `NAME-kept-OPERATION`. Truncates NAME if needed.
    static func keptPath(of mediaPath: String, stagingPath: String) -> String {
        let end = "-kept-\(FileSystem.lastComponent(stagingPath).dropFirst(stagingPrefix.count))"
        var stem = FileSystem.lastComponent(mediaPath)
        while stem.utf8.count + end.utf8.count > FileName.byteCountLimit { stem.removeLast() }
        return "\(FileSystem.parentPath(stagingPath))/\(stem)\(end)"
    }

    static func tooDeep(_ path: String) -> BackupError {
        BackupError(
            .notSupported, "the folder is inside more than \(depthLimit) others", path: MessageText.shortened(path),
            remedy: "Move it up, and try again. Nothing was changed.")
    }
}

/// Folders that must not be in the media folder, by their identities: a bind mount makes one folder appear in two places, which
/// paths do not show.
public struct ForeignFolders: Sendable {
    /// No such folders.
    public static let none = ForeignFolders([:])

    /// What each folder contains, for messages.
    private let names: [FileIdentity: Message]

    public init(_ names: [FileIdentity: Message]) { self.names = names }

    /// - Throws: `notSupported` when the given folder of the media folder is one of these.
    public func check(_ status: FileStatus, _ path: String) throws(BackupError) {
        guard !names.isEmpty, let name = names[FileIdentity(status)] else { return }
        throw BackupError(
            .notSupported, "\(name) is in the media folder, through another mount", path: path,
            remedy: "A backup would hold itself, and a restore would replace it: use folders that are not inside one another.")
    }

    /// Checks every folder of the media folder.
    /// - Throws: `notSupported` when one of them is one of these.
    public func check(in mediaPath: String) throws(BackupError) {
        guard !names.isEmpty, try FileSystem.exists(mediaPath) else { return }
        try check(DirectoryHandle(path: mediaPath), depth: 0)
    }

    /// Skips unreadable folders: the backup reports them.
    private func check(_ folder: DirectoryHandle, depth: Int) throws(BackupError) {
        try check(folder.descriptor.status(), folder.path)
        guard depth < MediaFolder.depthLimit, let names = try? folder.folderNames() else { return }
        for name in names where depth > 0 || !MediaFolder.isOurs(name) {
            guard let inner = try? folder.openDirectory(name) else { continue }
            try check(inner, depth: depth + 1)
        }
    }
}

/// Conditions that would prevent a restore from exchanging the media, as far as visible without trying (`MediaExchangeProbe`).
struct MediaObstacles {
    static let remedy: Message =
        "Run the restore as the owner of the media, or restore into another folder with --target. Nothing was changed."

    /// Folders that must not be among the media, and their content.
    let foreignFolders: ForeignFolders

    /// - Throws: `notSupported` for a mount in the media folder, since its content could be neither moved nor brought back; for
    ///   folders nested too deep; for entries in the media folder that are not media; and for entries that may not be moved.
    func check(_ mediaPath: String, _ amongMedia: DatabaseAmongMedia) throws(BackupError) {
        try check(DirectoryHandle(path: mediaPath), amongMedia, moves: true, depth: 0)
    }

    /// - Parameter moves: whether the folder's own entries are moved, rather than moved with the folder.
    private func check(
        _ folder: DirectoryHandle, _ amongMedia: DatabaseAmongMedia, moves: Bool, depth: Int
    ) throws(BackupError) {
        let rule = moves ? try MovingRule(folder) : nil
        let device = try folder.descriptor.status().device
        for name in try folder.names() where !amongMedia.hides(name) {
            guard let status = try folder.statusIfPresent(name) else { continue }
            let path = "\(folder.path)/\(name)"
            let isFolder = status.kind == .directory
            guard depth < MediaFolder.depthLimit || !isFolder else { throw MediaFolder.tooDeep(path) }
            let attributes = folder.attributes(name)
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
            if let rule, !isBelow { try rule.check(name, status, isUnchangeable: attributes.isUnchangeable, in: folder) }
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
    init(_ folder: DirectoryHandle) throws(BackupError) {
        let status = try folder.descriptor.status()
        let attributes = folder.attributes(".")
        guard folder.isWritable(".") else { throw Self.refusal("the folder cannot be written to", folder.path) }
        guard !attributes.isUnchangeable else {
            throw Self.refusal("an attribute of the folder forbids it (lsattr)", folder.path)
        }
        isSticky = status.mode & UInt32(S_ISVTX) != 0
        owner = status.owner
    }

    /// - Throws: `notSupported` for an entry that may not be moved out of the folder.
    func check(
        _ name: FileName, _ status: FileStatus, isUnchangeable: Bool, in folder: DirectoryHandle
    ) throws(BackupError) {
        let path = "\(folder.path)/\(name)"
        guard !isUnchangeable else { throw Self.refusal("an attribute forbids it (lsattr)", path) }
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

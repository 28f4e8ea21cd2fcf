import BackupCore
import SystemIO

/// Folders that must not be in the media folder, by their identities: a bind mount makes one folder appear in two places, which paths do not show.
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
        try check(DirectoryReader(path: mediaPath), depth: 0)
    }

    /// Skips unreadable folders: the backup reports them.
    private func check(_ folder: borrowing DirectoryReader, depth: Int) throws(BackupError) {
        try check(folder.descriptor.status(), folder.path)
        guard depth < MediaFolder.depthLimit, let names = try? folder.folderNames() else { return }
        for name in names where depth > 0 || !MediaFolder.isOurs(name) {
            guard let inner = try? folder.openDirectory(name) else { continue }
            try check(inner, depth: depth + 1)
        }
    }
}

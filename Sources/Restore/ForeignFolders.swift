import BackupCore
import SystemIO

/// Folders that must not lie in the media folder, by their identities: a bind mount makes one folder appear in two places, of which the paths do not
/// tell.
public struct ForeignFolders: Sendable {
    /// There are none.
    public static let none = ForeignFolders([:])

    /// What lies in each.
    private let names: [FileIdentity: Message]

    public init(_ names: [FileIdentity: Message]) { self.names = names }

    /// - Throws: `notSupported` when a folder of the media folder is one of these.
    public func check(_ status: FileStatus, _ path: String) throws(BackupError) {
        guard !names.isEmpty, let name = names[FileIdentity(status)] else { return }
        throw BackupError(
            .notSupported, "\(name) lies in the media folder, by way of another mount", path: path,
            remedy: "A backup would hold itself, and a restore would replace it: use folders of which none lies in another.")
    }

    /// Looks at every folder of the media folder.
    /// - Throws: `notSupported` when one of them is one of these.
    public func check(in mediaPath: String) throws(BackupError) {
        guard !names.isEmpty, try FileSystem.exists(mediaPath) else { return }
        try check(DirectoryReader(path: mediaPath), depth: 0)
    }

    /// Folders that cannot be looked at are left to the backup, which says so.
    private func check(_ folder: borrowing DirectoryReader, depth: Int) throws(BackupError) {
        try check(folder.descriptor.status(), folder.path)
        guard depth < MediaFolder.depthLimit, let names = try? folder.folderNames() else { return }
        for name in names where depth > 0 || !MediaFolder.isOurs(name) {
            guard let inner = try? folder.openDirectory(name) else { continue }
            try check(inner, depth: depth + 1)
        }
    }
}

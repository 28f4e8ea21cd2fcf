import BackupCore
import Glibc
import SystemIO

/// The mounted tree, for reading. A path never leads out of it: a symbolic link is followed only to a place in it.
public struct ServedTree: Sendable {
    /// Links of one path; a longer way is a circle.
    private static let linkLimit = 16

    private let rootPath: String

    /// - Parameter rootPath: the mountpoint.
    public init(rootPath: String) { self.rootPath = rootPath }

    /// A file or folder of the tree.
    struct Item {
        /// The path in the tree without links.
        let path: [FileName]
        let status: FileStatus
        /// Its folder; the root itself for the root.
        let folder: DirectoryHandle

        var isFolder: Bool { status.kind == .directory }

        /// The folder that it is.
        func opened() throws(BackupError) -> DirectoryHandle {
            guard let name = path.last else { return folder }
            return try folder.openDirectory(name)
        }
    }

    /// - Returns: `nil` when there is no such file, or a link in the path leads out of the tree.
    /// - Throws: `notFound` when the tree is not mounted; errors of the file system.
    func item(at path: [FileName]) throws(BackupError) -> Item? {
        var folders = [try root()]
        var done: [FileName] = []
        var left = path[...]
        var linkCount = 0
        while let name = left.popFirst() {
            if name.bytes == [46] { continue }
            if name.bytes == [46, 46] {
                // Only of a link: the parser refuses it in an address.
                guard !done.isEmpty else { return nil }
                done.removeLast()
                folders.removeLast()
                continue
            }
            let folder = folders[folders.count - 1]
            guard let status = try folder.statusIfPresent(name) else { return nil }
            switch status.kind {
            case .symbolicLink:
                linkCount += 1
                guard linkCount <= Self.linkLimit, let target = try folder.readLinkIfPresent(name), target.first != 47 else {
                    return nil
                }
                left = target.split(separator: 47).map { FileName(bytes: Array($0)) } + left
            case .directory:
                guard let inner = try folder.openFolder(name) else { return nil }
                folders.append(inner)
                done.append(name)
            case .regular:
                guard left.isEmpty else { return nil }
                return Item(path: done + [name], status: status, folder: folder)
            case .other: return nil
            }
        }
        let folder = folders[folders.count - 1]
        let parent = folders.count > 1 ? folders[folders.count - 2] : folder
        return Item(path: done, status: try folder.descriptor.status(), folder: parent)
    }

    /// The names in a folder, with what they are; links that lead out of the tree, and what is neither file nor folder, are left
    /// out.
    func entries(of folder: Item) throws(BackupError) -> [(name: FileName, status: FileStatus)] {
        let handle = try folder.opened()
        var entries: [(name: FileName, status: FileStatus)] = []
        for name in try handle.names().sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
            guard var status = try handle.statusIfPresent(name) else { continue }
            if status.kind == .symbolicLink {
                guard let target = try item(at: folder.path + [name]) else { continue }
                status = target.status
            }
            if status.kind != .other { entries.append((name, status)) }
        }
        return entries
    }

    /// Opened for each request: the tree may have been mounted once more.
    private func root() throws(BackupError) -> DirectoryHandle {
        let root: DirectoryHandle
        do {
            root = try DirectoryHandle(path: rootPath)
        } catch let error where error.code != .accessDenied {
            // Also a mount whose process has died.
            throw BackupError(.notFound, "the store is not mounted", path: rootPath, cause: .error(error))
        }
        // The empty folder below an unmounted tree must not look like one without backups: a program that synchronizes would
        // remove its copies.
        guard FileSystem.isFUSE(root.descriptor) else {
            throw BackupError(.notFound, "the store is not mounted", path: rootPath)
        }
        return root
    }
}

import BackupCore
import SystemIO

/// Opens the folders of files that come in the order of a tree: the last one stays open for the next file.
final class FolderCursor {
    let root: DirectoryHandle
    private var path: [UInt8]?
    private var folder: DirectoryHandle?

    init(_ root: String) throws(BackupError) { self.root = try DirectoryHandle(path: root, followsLink: false) }

    /// - Parameter path: of a file below the root.
    /// - Returns: its folder and its name; `nil` when there is no such folder, or a component is a link or not safe.
    func place(of path: [UInt8]) throws(BackupError) -> (folder: DirectoryHandle, name: FileName)? {
        let names = BytePath.components(of: path)
        guard let name = names.last, names.allSatisfy({ $0.isSafeComponent }) else { return nil }
        let folderPath = BytePath.folder(of: path)
        if folderPath != self.path {
            folder = names.count == 1 ? root : try root.openFolder(at: names.dropLast())
            self.path = folder == nil ? nil : folderPath
        }
        return folder.map { ($0, name) }
    }
}

import AppData
import BackupCore
import BackupRepository

/// `by-key/`: a snapshot's media once more, as links whose names are those that storage addressed by content gives them:
/// `by-key/photos/2024/06/<md5>.jpg`. Files with the same content, month and extension have one link.
struct StorageView {
    static let folderName: FileName = "by-key"

    private final class Folder {
        var folders: [String: Folder] = [:]
        var links: [String: TreeEntry] = [:]
    }

    /// - Returns: the folder's entry in the snapshot.
    static func store(
        _ catalog: any MediaCatalog, with writer: BackupWriter, time: Timestamp
    ) throws(BackupError) -> TreeEntry {
        let root = Folder()
        try catalog.forEachFile { (file) throws(BackupError) in
            guard let key = StorageKey(file) else { return }
            let parts = key.text.split(separator: "/").map(String.init)
            var folder = root
            for name in parts.dropLast() {
                let inner = folder.folders[name] ?? Folder()
                folder.folders[name] = inner
                folder = inner
            }
            let name = parts[parts.count - 1]
            guard folder.links[name] == nil else { return }
            // From the folder of the link up to the snapshot's.
            let up = Array(String(repeating: "../", count: parts.count).utf8)
            folder.links[name] = .symbolicLink(
                name: FileName(name), target: up + Array("media/".utf8) + file.path, modificationTime: file.modificationTime)
        }
        return try store(root, folderName, with: writer, time)
    }

    private static func store(
        _ folder: Folder, _ name: FileName, with writer: BackupWriter, _ time: Timestamp
    ) throws(BackupError) -> TreeEntry {
        var entries = Array(folder.links.values)
        for (name, inner) in folder.folders { entries.append(try store(inner, FileName(name), with: writer, time)) }
        return .directory(name: name, mode: 0o700, modificationTime: time, stored: try writer.store(entries))
    }
}

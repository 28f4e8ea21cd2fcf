import AppData
import BackupCore
import Glibc
import SystemIO

/// The media files that a restore has taken out of their folder, on their way out. What the safety backup holds is removed. What the app has added
/// or changed since that was made is in no backup: it is kept in a folder beside the media folder. It may be interrupted and run again.
struct ReplacedMedia {
    let isSaved: SavedMedia.Check
    /// The folder for what is kept; made when there is something.
    let keptPath: String

    /// Removes what is in `root`, and leaves the empty folder.
    func remove(in root: String) throws(BackupError) {
        try remove(DirectoryReader(path: root), FolderHandle(path: root), [])
        guard try FileSystem.identityIfPresent(keptPath) != nil else { return }
        try FolderHandle(path: keptPath).synchronizeFileSystem()
    }

    private func remove(
        _ reader: borrowing DirectoryReader, _ handle: FolderHandle, _ path: [UInt8]
    ) throws(BackupError) {
        for name in try reader.names() {
            let status = try reader.status(name)
            let inner = BytePath.join(path, name.bytes)
            if status.kind == .directory {
                try reader.requireNoMount(name)
                // Its owner may have closed it.
                if status.mode & 0o700 != 0o700 { handle.makeAccessible(name) }
                guard let folder = try handle.openFolder(name) else { continue }
                try remove(reader.openDirectory(name), folder, inner)
                try reader.remove(name, isDirectory: true)
            } else if isKnownToBeSaved(inner, status) {
                try reader.remove(name, isDirectory: false)
            } else {
                try keep(name, handle, path)
            }
        }
    }

    /// What cannot be told is not saved.
    private func isKnownToBeSaved(_ path: [UInt8], _ status: FileStatus) -> Bool { (try? isSaved(path, status)) ?? false }

    private func keep(_ name: FileName, _ folder: FolderHandle, _ path: [UInt8]) throws(BackupError) {
        try FileSystem.makeDirectories(keptPath)
        try StagedPath.makeDirectories(path, in: keptPath)
        var target = try FolderHandle(path: keptPath)
        for component in BytePath.components(of: path) {
            guard let next = try target.openFolder(component) else {
                throw BackupError(.notADirectory, "a file is in the way of a folder", path: keptPath)
            }
            target = next
        }
        try MediaContentExchange.moveAside(name, folder, to: target)
    }
}

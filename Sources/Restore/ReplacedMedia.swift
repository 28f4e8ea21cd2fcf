import AppData
import BackupCore
import SystemIO

/// The media files that a restore has taken out of their folder, on their way out. What the safety backup holds is removed. What the app has added
/// or changed since that was made is in no backup: the folder with it is moved beside the media folder. That needs no room but what was made by the
/// removals. It may be interrupted and run again.
struct ReplacedMedia {
    let isSaved: SavedMedia.Check
    /// The folder for what is kept; made when there is something.
    let keptPath: String

    /// Removes what is in `root`, or moves it to the folder for what is kept.
    func remove(_ root: String) throws(BackupError) {
        guard try FileSystem.look(root) != nil else { return }
        let folder = try FolderHandle(path: root)
        try removeSaved(in: folder, [])
        guard try !folder.reader().names().isEmpty else { return }
        let parent = try FolderHandle(path: FileSystem.parentPath(keptPath))
        if try FileSystem.identityIfPresent(keptPath) == nil {
            let staging = try FolderHandle(path: FileSystem.parentPath(root))
            try staging.move(
                FileName(FileSystem.lastComponent(root)), to: parent, as: FileName(FileSystem.lastComponent(keptPath)))
        } else {
            let kept = try FolderHandle(path: keptPath)
            for name in try folder.reader().names() { try MediaMove.aside(name, folder, to: kept) }
            try kept.synchronizeFileSystem()
        }
        try parent.synchronize()
    }

    private func removeSaved(in folder: FolderHandle, _ path: [UInt8]) throws(BackupError) {
        let reader = try folder.reader()
        let names = try reader.names()
        var kept: Set<FileName> = []
        // Backwards: with a log that is kept, its database is.
        for name in names.reversed() {
            guard let status = try folder.status(name) else { continue }
            let inner = BytePath.join(path, name.bytes)
            do throws(BackupError) {
                if status.kind == .directory {
                    try removeSaved(in: name, status, folder, inner)
                } else if !DatabaseLogs.names(of: name).contains(where: kept.contains), isKnownToBeSaved(inner, status) {
                    try reader.remove(name, isDirectory: false)
                } else {
                    kept.insert(name)
                }
            } catch {
                // What may not be removed is kept.
                guard [.accessDenied, .notPermitted, .notEmpty].contains(error.code) else { throw error }
            }
        }
    }

    private func removeSaved(
        in name: FileName, _ status: FileStatus, _ folder: FolderHandle, _ path: [UInt8]
    ) throws(BackupError) {
        let reader = try folder.reader()
        try reader.requireNoMount(name)
        // Its owner may have closed it.
        if status.mode & 0o700 != 0o700 { folder.makeAccessible(name) }
        guard let inner = try folder.openFolder(name) else { return }
        try removeSaved(in: inner, path)
        try reader.remove(name, isDirectory: true)
    }

    /// What cannot be told is not saved.
    private func isKnownToBeSaved(_ path: [UInt8], _ status: FileStatus) -> Bool { (try? isSaved(path, status)) ?? false }
}

import AppData
import BackupCore
import SystemIO

/// The media files that a restore has taken out of their folder, on their way out. What the safety backup holds is removed. What the app has added
/// or changed since that was made is in no backup: the folder with it is moved beside the media folder. That needs no room but what was made by the
/// removals. A database and its logs are kept together, since each is worth little without the others. It may be interrupted and run again.
struct ReplacedMedia {
    let isSaved: SavedMedia.Check
    let moved: MovedMedia
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
        let units = DatabaseUnits(Set(names.map(\.bytes))) { name in
            (try? folder.status(FileName(bytes: name)))??.kind == .regular
        }
        let savedUnits = try savedUnits(units, reader, folder, path)
        for name in names {
            guard let status = try folder.status(name) else { continue }
            do throws(BackupError) {
                if status.kind == .directory {
                    try removeSaved(in: name, status, folder, BytePath.join(path, name.bytes))
                } else if savedUnits[units.database(of: name.bytes) ?? name.bytes] ?? isKnownToBeSaved(name, folder, path, status)
                {
                    try reader.remove(name, isDirectory: false)
                }
            } catch {
                // What may not be removed is kept.
                guard [.accessDenied, .notPermitted, .notEmpty].contains(error.code) else { throw error }
            }
        }
    }

    /// Whether each database that has something beside it is saved with all of that.
    private func savedUnits(
        _ units: DatabaseUnits, _ reader: borrowing DirectoryReader, _ folder: FolderHandle, _ path: [UInt8]
    ) throws(BackupError) -> [[UInt8]: Bool] {
        var saved: [[UInt8]: Bool] = [:]
        for (database, companions) in units.companions {
            saved[database] = true
            for name in [database] + companions where saved[database] == true {
                let name = FileName(bytes: name)
                saved[database] = isKnownToBeSaved(name, folder, path, try reader.status(name))
            }
        }
        return saved
    }

    /// What cannot be read or compared is not saved.
    private func isKnownToBeSaved(
        _ name: FileName, _ folder: FolderHandle, _ path: [UInt8], _ status: FileStatus
    ) -> Bool {
        // There is nothing in it.
        if status.isSocket { return true }
        // A log without anything in it comes and goes with each program that looks at its database.
        if status.kind == .regular, status.size == 0, DatabaseLogs.isLog(name.bytes) { return true }
        let file = ReplacedFile(
            name, in: folder, path: BytePath.join(path, name.bytes), status, changeTime: moved.changeTime(status))
        return (try? isSaved(file)) ?? false
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

}

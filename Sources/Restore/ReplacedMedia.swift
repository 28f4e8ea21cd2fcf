import AppData
import BackupCore
import Glibc
import SystemIO

/// The media files that a restore has taken out of their folder, on their way out. What the safety backup holds is removed. What the app has added
/// or changed since that was made is in no backup: it is kept in a folder beside the media folder. A database and its logs are kept together, since
/// each is worth little without the others. It may be interrupted and run again.
struct ReplacedMedia {
    let isSaved: SavedMedia.Check
    let moved: MovedMedia
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
        let names = try reader.names()
        let units = DatabaseUnits(Set(names.map(\.bytes)))
        let savedUnits = try savedUnits(units, reader, handle, path)
        for name in names {
            let status = try reader.status(name)
            let inner = BytePath.join(path, name.bytes)
            if status.kind == .directory {
                try reader.requireNoMount(name)
                // Its owner may have closed it.
                if status.mode & 0o700 != 0o700 { handle.makeAccessible(name) }
                guard let folder = try handle.openFolder(name) else { continue }
                try remove(reader.openDirectory(name), folder, inner)
                try reader.remove(name, isDirectory: true)
            } else if savedUnits[units.database(of: name.bytes) ?? name.bytes] ?? isKnownToBeSaved(name, handle, path, status) {
                try reader.remove(name, isDirectory: false)
            } else {
                try keep(name, handle, path)
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
        // A log without anything in it comes and goes with each program that looks at its database.
        if status.kind == .regular, status.size == 0, DatabaseLogs.isLog(name.bytes) { return true }
        let file = ReplacedFile(
            name, in: folder, path: BytePath.join(path, name.bytes), status, changeTime: moved.changeTime(status))
        return (try? isSaved(file)) ?? false
    }

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

import AppData
import BackupCore
import SystemIO

/// Disposes of the media files that a restore has taken out of their folder. Files that the safety backup holds are removed.
/// Files that the app has added or changed since are in no backup: the folder with them is moved beside the media folder. That
/// needs no space beyond what the removals free. A database and its logs are kept together, since each is worth little without
/// the others. It may be interrupted and run again.
struct ReplacedMedia {
    let isSaved: SavedMedia.Check
    let moved: MovedMedia
    /// The folder for kept files; created on demand.
    let keptPath: String
    /// The media folder: a file that is still in its place there is only a second name (`UnchangedMedia`). `nil` if none can be.
    var placePath: String?

    /// Removes the content of `root`, or moves it to the folder for kept files.
    func remove(_ root: String) throws(BackupError) {
        guard try FileSystem.look(root) != nil else { return }
        let folder = try DirectoryHandle(path: root, followsLink: false)
        try removeSaved(in: folder, place(), [])
        guard try !folder.names().isEmpty else { return }
        let parent = try DirectoryHandle(path: FileSystem.parentPath(keptPath), followsLink: false)
        if try FileSystem.identityIfPresent(keptPath) == nil {
            let staging = try DirectoryHandle(path: FileSystem.parentPath(root), followsLink: false)
            try staging.move(
                FileName(FileSystem.lastComponent(root)), to: parent, as: FileName(FileSystem.lastComponent(keptPath)))
        } else {
            let kept = try DirectoryHandle(path: keptPath, followsLink: false)
            for name in try folder.names() { try MediaMove.aside(name, folder, to: kept) }
            try kept.descriptor.synchronizeFileSystem()
        }
        try parent.synchronize()
    }

    private func place() throws(BackupError) -> DirectoryHandle? {
        guard let placePath, try FileSystem.look(placePath) != nil else { return nil }
        return try DirectoryHandle(path: placePath, followsLink: false)
    }

    /// - Parameter place: the folder of that path in the media folder, if there is one.
    private func removeSaved(in folder: DirectoryHandle, _ place: DirectoryHandle?, _ path: [UInt8]) throws(BackupError) {
        let names = try folder.names()
        let units = DatabaseUnits(Set(names.map(\.bytes))) { name in
            (try? folder.statusIfPresent(FileName(bytes: name)))??.kind == .regular
        }
        let savedUnits = try savedUnits(units, folder, place, path)
        for name in names {
            guard let status = try folder.statusIfPresent(name) else { continue }
            do throws(BackupError) {
                if status.kind == .directory {
                    try removeSaved(in: name, status, folder, place?.openFolder(name), BytePath.join(path, name.bytes))
                } else if savedUnits[units.database(of: name.bytes) ?? name.bytes]
                    ?? isKnownToBeSaved(name, folder, place, path, status)
                {
                    try folder.remove(name, isDirectory: false)
                }
            } catch {
                // An entry that cannot be removed is kept.
                guard [.accessDenied, .notPermitted, .notEmpty].contains(error.code) else { throw error }
            }
        }
    }

    /// Whether each database that has files beside it is saved with all of them.
    private func savedUnits(
        _ units: DatabaseUnits, _ folder: DirectoryHandle, _ place: DirectoryHandle?, _ path: [UInt8]
    ) throws(BackupError) -> [[UInt8]: Bool] {
        var saved: [[UInt8]: Bool] = [:]
        for (database, companions) in units.companions {
            saved[database] = true
            for name in [database] + companions where saved[database] == true {
                let name = FileName(bytes: name)
                saved[database] = isKnownToBeSaved(name, folder, place, path, try folder.status(name))
            }
        }
        return saved
    }

    /// A file that cannot be read or compared counts as not saved.
    private func isKnownToBeSaved(
        _ name: FileName, _ folder: DirectoryHandle, _ place: DirectoryHandle?, _ path: [UInt8], _ status: FileStatus
    ) -> Bool {
        // A socket has no content.
        if status.isSocket { return true }
        // Programs create and remove an empty log whenever they open its database.
        if status.kind == .regular, status.size == 0, DatabaseLogs.isLog(name.bytes) { return true }
        if status.kind == .regular, status.linkCount > 1, let present = try? place?.statusIfPresent(name),
            FileIdentity(present) == FileIdentity(status)
        {
            return true
        }
        let file = ReplacedFile(
            name, in: folder, path: BytePath.join(path, name.bytes), status, changeTime: moved.changeTime(status))
        return (try? isSaved(file)) ?? false
    }

    private func removeSaved(
        in name: FileName, _ status: FileStatus, _ folder: DirectoryHandle, _ place: DirectoryHandle?, _ path: [UInt8]
    ) throws(BackupError) {
        try folder.requireNoMount(name)
        // Its owner may have removed the access bits.
        if status.mode & 0o700 != 0o700 { folder.makeAccessible(name) }
        guard let inner = try folder.openFolder(name) else { return }
        try removeSaved(in: inner, place, path)
        try folder.remove(name, isDirectory: true)
    }

}

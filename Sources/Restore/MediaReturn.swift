import AppData
import BackupCore
import SystemIO

/// The way back of an exchange: for media whose records turn out not to be the new ones, and for those that cannot be exchanged.
extension MediaContentExchange {
    /// Brings back what was taken out. What was brought in, and what the app has made since under the name of something old, is moved to `aside`, with
    /// what the app may have done to it. It may be interrupted and run again. Durable when it returns; `old` is empty then.
    func undo() throws(BackupError) {
        guard try FileSystem.exists(oldPath) else { return }
        let old = try FolderHandle(path: oldPath)
        let hasMark = try FileSystem.identityIfPresent(markPath) != nil
        try removeProbes()
        let isEmpty = try old.reader().names().isEmpty
        guard hasMark || !isEmpty else { return }
        try FileSystem.makeDirectory(asidePath)
        let media = try FolderHandle(path: mediaPath)
        let aside = try FolderHandle(path: asidePath)
        if hasMark { try takeOutStaged(media, to: aside) }
        try putBack(old, to: media, aside)
        for folder in [media, old, aside] { try folder.synchronize() }
    }

    /// Takes out what was brought in, with the logs that the app has made for it.
    private func takeOutStaged(_ media: FolderHandle, to aside: FolderHandle) throws(BackupError) {
        for entry in try StagedEntries(at: markPath).entries {
            guard let name = entry.path.last else { continue }
            var (folder, target) = (Optional(media), aside)
            for component in entry.path.dropLast() {
                folder = try folder?.openFolder(component)
                if folder != nil { target = try target.openFolderMakingIt(component) }
            }
            guard let folder, try folder.status(name)?.inode == entry.inode else { continue }
            for log in DatabaseLogs.names(of: name) { try MediaMove.aside(log, folder, to: target) }
            try MediaMove.aside(name, folder, to: target)
        }
    }

    private func putBack(_ old: FolderHandle, to folder: FolderHandle, _ aside: FolderHandle) throws(BackupError) {
        for name in try old.reader().names() { try putBack(name, old, to: folder, aside) }
    }

    /// Moves an entry of `old` back to its folder.
    /// - Parameter aside: gets what has its name.
    func putBack(_ name: FileName, _ old: FolderHandle, to folder: FolderHandle, _ aside: FolderHandle) throws(BackupError) {
        for _ in 1...MediaMove.tryLimit {
            guard let status = try old.status(name) else { return }
            // Its own logs have left the folder before it.
            for log in DatabaseLogs.names(of: name) { try MediaMove.aside(log, folder, to: aside) }
            do {
                return try old.move(name, to: folder, as: name)
            } catch let error where error.code == .alreadyExists {
                guard let present = try folder.status(name) else { continue }
                if FileIdentity(present) == FileIdentity(status) { return try old.removeFile(name) }
                if let inner = try old.openFolder(name), let place = try folder.openFolder(name) {
                    try putBack(inner, to: place, aside.openFolderMakingIt(name))
                    for changed in [place, inner] { try changed.synchronize() }
                    return try old.removeFolder(name)
                }
                try MediaMove.aside(name, folder, to: aside)
            }
        }
        throw MediaMove.tooManyTries("\(folder.path)/\(name)")
    }
}

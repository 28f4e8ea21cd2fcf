import AppData
import BackupCore
import SystemIO

/// The rollback of an exchange: for media whose records turn out not to be the new ones, and for media that cannot be exchanged.
extension MediaContentExchange {
    /// Brings back the old entries. Entries that were brought in, and entries that the app has created since under an old name,
    /// are moved to `aside`, with any changes by the app. It may be interrupted and run again. Durable when it returns; `old` is
    /// empty then.
    func undo() throws(BackupError) {
        guard try FileSystem.exists(oldPath) else { return }
        let old = try DirectoryHandle(path: oldPath, followsLink: false)
        let hasMark = try FileSystem.identityIfPresent(markPath) != nil
        try removeProbes()
        let isEmpty = try old.names().isEmpty
        guard hasMark || !isEmpty else { return }
        try FileSystem.makeDirectory(asidePath)
        let media = try DirectoryHandle(path: mediaPath, followsLink: false)
        let aside = try DirectoryHandle(path: asidePath, followsLink: false)
        if hasMark { try takeOutStaged(media, to: aside) }
        try putBack(old, to: media, aside)
        for folder in [media, old, aside] { try folder.synchronize() }
    }

    /// Takes out the entries that were brought in, with the logs that the app has created for their databases.
    private func takeOutStaged(_ media: DirectoryHandle, to aside: DirectoryHandle) throws(BackupError) {
        for entry in try StagedEntries(at: markPath).entries {
            guard let name = entry.path.last else { continue }
            var (folder, target) = (Optional(media), aside)
            for component in entry.path.dropLast() {
                folder = try folder?.openFolder(component)
                if folder != nil { target = try target.openOrMakeFolder(component) }
            }
            guard let folder, let status = try folder.statusIfPresent(name), status.inode == entry.inode else { continue }
            if status.kind == .regular {
                for log in DatabaseLogs.names(of: name) { try MediaMove.aside(log, folder, to: target) }
            }
            try MediaMove.aside(name, folder, to: target)
        }
    }

    private func putBack(_ old: DirectoryHandle, to folder: DirectoryHandle, _ aside: DirectoryHandle) throws(BackupError) {
        // Left by an interrupted trial.
        for place in [old, folder] { try place.removeFile(probeName) }
        let names = try old.names()
        let coming = Set(names)
        for name in names {
            // The log left the folder without its database, or a crash came before it was back beside it.
            if let database = DatabaseLogs.database(of: name), !coming.contains(database),
                try MediaUnit.isSeparated(name, in: old, from: database, in: folder)
            {
                try MediaUnit.separate(name, old, in: DirectoryHandle(path: asidePath, followsLink: false))
            } else {
                try putBack(name, old, to: folder, aside)
            }
        }
    }

    /// Moves an entry of `old` back to its folder.
    /// - Parameter aside: receives entries that have its name.
    func putBack(_ name: FileName, _ old: DirectoryHandle, to folder: DirectoryHandle, _ aside: DirectoryHandle)
        throws(BackupError)
    {
        for _ in 1...MediaMove.tryLimit {
            guard let status = try old.statusIfPresent(name) else { return }
            if try hasForeignLogs(name, status, old, folder) {
                for log in DatabaseLogs.names(of: name) { try MediaMove.aside(log, folder, to: aside) }
            }
            do {
                return try old.move(name, to: folder, as: name)
            } catch let error where error.code == .alreadyExists {
                guard let present = try folder.statusIfPresent(name) else { continue }
                if FileIdentity(present) == FileIdentity(status) { return try old.removeFile(name) }
                if let inner = try old.openFolder(name), let place = try folder.openFolder(name) {
                    try putBack(inner, to: place, aside.openOrMakeFolder(name))
                    for changed in [place, inner] { try changed.synchronize() }
                    return try old.removeFolder(name)
                }
                try MediaMove.aside(name, folder, to: aside)
            }
        }
        throw MediaMove.tooManyTries("\(folder.path)/\(name)")
    }

    /// Whether the logs of `name` in the folder are not its own. The logs of a file left the folder before it, so they belong to
    /// a present or former replacement of the file, unless an app has it open. Beside a folder or a link they are ordinary files.
    private func hasForeignLogs(
        _ name: FileName, _ status: FileStatus, _ old: DirectoryHandle, _ folder: DirectoryHandle
    ) throws(BackupError) -> Bool {
        if let present = try folder.statusIfPresent(name) { return present.kind == .regular || status.kind == .regular }
        return status.kind == .regular && !old.isLocked(name)
    }
}

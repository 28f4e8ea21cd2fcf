import BackupCore
import BackupRepository
import Glibc
import Restore
import SystemIO

/// The app's current media folder. Paths are lists of names as bytes; links are never followed.
struct LiveMedia: Sendable {
    let path: String
    /// Entries of the folder that are not media.
    let amongMedia: DatabaseAmongMedia

    struct Item: Sendable {
        let name: FileName
        let status: FileStatus
        /// For links.
        let target: [UInt8]
        /// Whether no program can hide a change of the file: see `FileSystem.keepsChangeTime`.
        let keepsChangeTime: Bool
    }

    /// The content of the folder, sorted by name; `nil` when it is not a folder.
    func items(in folder: ArraySlice<FileName>) throws(BackupError) -> [Item]? {
        guard folder.count <= MediaFolder.depthLimit else { return nil }
        do {
            let directory = try directory(folder)
            let amongMedia = folder.reduce(amongMedia) { $0.entering($1) }
            let keepsChangeTime = FileSystem.keepsChangeTime(directory.descriptor)
            // Gone since the folder was listed, or a device: not shown.
            return try directory.names().filter { !amongMedia.hides($0) }
                .compactMap { try? Self.item($0, directory, keepsChangeTime) }
        } catch let error where error.code == .notFound || error.code == .notADirectory {
            // Media on a disk that is not mounted are not gone.
            _ = try FileSystem.lookBehindLinks(path)
            return nil
        }
    }

    func item(at path: ArraySlice<FileName>) throws(BackupError) -> Item? {
        guard path.count <= MediaFolder.depthLimit + 1, let name = path.last,
            !path.dropLast().reduce(amongMedia, { $0.entering($1) }).hides(name)
        else { return nil }
        do {
            let directory = try directory(path.dropLast())
            return try Self.item(name, directory, FileSystem.keepsChangeTime(directory.descriptor))
        } catch let error where error.code == .notFound || error.code == .notADirectory {
            _ = try FileSystem.lookBehindLinks(self.path)
            return nil
        }
    }

    /// Opens a file for reading.
    /// - Parameter expected: the file's status when its size was reported.
    /// - Throws: `inputOutput` when the file has changed since.
    func open(_ path: ArraySlice<FileName>, expected: FileStatus) throws(BackupError) -> SharedFile {
        guard let name = path.last else { throw BackupError(.isADirectory, "this is a folder") }
        let file = try SharedFile(directory(path.dropLast()).openFile(name))
        guard file.size == expected.size else {
            throw BackupError(.inputOutput, "the file changed while it was opened", path: name.description, remedy: "Try again.")
        }
        return file
    }

    private static func item(
        _ name: FileName, _ directory: DirectoryHandle, _ keepsChangeTime: Bool
    ) throws(BackupError) -> Item? {
        let status = try directory.status(name)
        switch status.kind {
        case .other: return nil
        case .symbolicLink:
            return Item(name: name, status: status, target: try directory.readLink(name), keepsChangeTime: keepsChangeTime)
        case .regular, .directory: return Item(name: name, status: status, target: [], keepsChangeTime: keepsChangeTime)
        }
    }

    private func directory(_ folder: ArraySlice<FileName>) throws(BackupError) -> DirectoryHandle {
        try DirectoryHandle(path: path).openDirectory(at: folder)
    }
}

extension TreeEntry {
    /// Whether a file of the app is the one that this entry was made from, unchanged: same size, times and inode. (A mode change
    /// updates the change time.) Where the file system keeps no change times, it may still differ.
    func isUnchanged(_ status: FileStatus) -> Bool {
        sourceIdentity == SourceIdentity(inode: status.inode, changeTime: status.changeTime) && size == status.size
            && modificationTime == status.modificationTime
    }

    /// Whether a file of the app is certainly the one that this entry was made from.
    func isUnchanged(_ item: LiveMedia.Item) -> Bool { item.keepsChangeTime && isUnchanged(item.status) }
}

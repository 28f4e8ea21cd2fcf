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
        return try reading(folder) { (reader: borrowing DirectoryReader) throws(BackupError) in
            var items: [Item] = []
            let amongMedia = folder.reduce(amongMedia) { $0.entering($1) }
            let keepsChangeTime = FileSystem.keepsChangeTime(reader.descriptor)
            for name in try reader.names() where !amongMedia.hides(name) {
                // Gone since the folder was listed, or a device: not shown.
                guard let item = try? Self.item(name, reader, keepsChangeTime) else { continue }
                items.append(item)
            }
            return items
        }
    }

    func item(at path: ArraySlice<FileName>) throws(BackupError) -> Item? {
        guard path.count <= MediaFolder.depthLimit + 1, let name = path.last,
            !path.dropLast().reduce(amongMedia, { $0.entering($1) }).hides(name)
        else { return nil }
        return try reading(path.dropLast()) { (reader: borrowing DirectoryReader) throws(BackupError) in
            try Self.item(name, reader, FileSystem.keepsChangeTime(reader.descriptor))
        }
    }

    /// Opens a file for reading.
    /// - Parameter expected: the file's status when its size was reported.
    /// - Throws: `inputOutput` when the file has changed since.
    func open(_ path: ArraySlice<FileName>, expected: FileStatus) throws(BackupError) -> SharedFile {
        guard let name = path.last else { throw BackupError(.isADirectory, "this is a folder") }
        let file = try Self.descend(path.dropLast(), DirectoryReader(path: self.path)) {
            (reader: borrowing DirectoryReader) throws(BackupError) in
            try SharedFile(reader.openFile(name))
        }
        guard file.size == expected.size else {
            throw BackupError(.inputOutput, "the file changed while it was opened", path: name.description, remedy: "Try again.")
        }
        return file
    }

    private static func item(
        _ name: FileName, _ reader: borrowing DirectoryReader, _ keepsChangeTime: Bool
    ) throws(BackupError) -> Item? {
        let status = try reader.status(name)
        switch status.kind {
        case .other: return nil
        case .symbolicLink:
            return Item(name: name, status: status, target: try reader.readLink(name), keepsChangeTime: keepsChangeTime)
        case .regular, .directory: return Item(name: name, status: status, target: [], keepsChangeTime: keepsChangeTime)
        }
    }

    /// - Returns: `nil` when there is no such folder, or no such entry in it.
    private func reading<Result>(
        _ folder: ArraySlice<FileName>, _ body: (borrowing DirectoryReader) throws(BackupError) -> Result?
    ) throws(BackupError) -> Result? {
        do {
            return try Self.descend(folder, DirectoryReader(path: path), body)
        } catch let error where error.code == .notFound || error.code == .notADirectory {
            // Media on a disk that is not mounted are not gone.
            _ = try FileSystem.lookBehindLinks(path)
            return nil
        }
    }

    private static func descend<Result>(
        _ folder: ArraySlice<FileName>, _ reader: borrowing DirectoryReader,
        _ body: (borrowing DirectoryReader) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        guard let first = folder.first else { return try body(reader) }
        return try descend(folder.dropFirst(), reader.openDirectory(first), body)
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

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

/// `live/media`: the app's media folder in its current state.
final class LiveMediaView: LiveView {
    let media: LiveMedia
    private let checksums: LiveChecksums

    init(_ media: LiveMedia, _ checksums: LiveChecksums) {
        self.media = media
        self.checksums = checksums
    }

    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? {
        guard path.first == "media", let items = try media.items(in: path.dropFirst()) else { return nil }
        return items.map { entry($0, path + [$0.name]) }
    }

    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? {
        guard path.first == "media" else { return nil }
        guard path.count > 1 else {
            return try FileSystem.lookBehindLinks(media.path).map {
                .folder("media", permissions: UInt16($0.mode & 0o777), modificationTime: $0.modificationTime)
            }
        }
        return try media.item(at: path.dropFirst()).map { entry($0, path) }
    }

    /// - Parameter path: the item's path relative to `live/`.
    func entry(_ item: LiveMedia.Item, _ path: [FileName]) -> LiveEntry {
        let permissions = UInt16(item.status.mode & 0o777)
        let mediaPath = path.dropFirst()
        switch item.status.kind {
        case .directory:
            return .folder(item.name, permissions: permissions, modificationTime: item.status.modificationTime)
        case .symbolicLink:
            return LiveEntry(
                name: item.name, kind: .symbolicLink, permissions: permissions, size: UInt64(item.target.count),
                modificationTime: item.status.modificationTime, content: { ExtentTable(literal: item.target) },
                checksums: { ContentHasher.hash(item.target) })
        case .regular, .other:
            return LiveEntry(
                name: item.name, kind: .file, permissions: permissions, size: item.status.size,
                modificationTime: item.status.modificationTime, version: item.status.version,
                isSettled: item.status.isSettled && item.keepsChangeTime,
                content: { [media] () throws(BackupError) in
                    let file = try media.open(mediaPath, expected: item.status)
                    return ExtentTable(plainContent: [.source(file, offset: 0, length: item.status.size)])
                },
                checksums: { [media, checksums] () throws(BackupError) in
                    try checksums.checksums(of: item) { () throws(BackupError) in
                        try media.open(mediaPath, expected: item.status)
                    }
                })
        }
    }
}

extension LiveEntry {
    static func folder(_ name: FileName, permissions: UInt16, modificationTime: Timestamp) -> LiveEntry {
        LiveEntry(
            name: name, kind: .directory, permissions: permissions, size: 0, modificationTime: modificationTime,
            content: { () throws(BackupError) in throw BackupError(.isADirectory, "this is a folder") },
            checksums: { () throws(BackupError) in throw BackupError(.isADirectory, "this is a folder") })
    }
}

extension FileStatus {
    /// Changes when the file is replaced or written to, if the system maintains change times.
    fileprivate var version: UInt64 {
        var hasher = Hasher()
        for number in [device, inode, size] { hasher.combine(number) }
        hasher.combine(modificationTime)
        hasher.combine(changeTime)
        return UInt64(bitPattern: Int64(hasher.finalize()))
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

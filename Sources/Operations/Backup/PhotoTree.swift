import BackupCore
import BackupRepository
import Photos

/// The folders `metadata/` and `thumbnails/` and the list of photos, as they grow while the media folder is walked.
struct PhotoTree {
    private struct Photo {
        let name: FileName
        let modificationTime: Timestamp
        let md5: MD5Digest
        let sidecar: StoredFile?
        let thumbnail: StoredFile?
    }

    /// A folder of the media folder.
    private struct Level {
        let folder: TreeEntry?
        var photos: [Photo] = []
        var metadata: [TreeEntry] = []
        var thumbnails: [TreeEntry] = []
        /// All folders in it, also those without photos.
        var folderNames: Set<FileName> = []
    }

    let writer: BackupWriter
    let list: ContentWriter
    private var levels = [Level(folder: nil)]

    init(writer: BackupWriter, list: ContentWriter) {
        self.writer = writer
        self.list = list
    }

    mutating func enter(_ folder: TreeEntry) {
        levels[levels.count - 1].folderNames.insert(folder.name)
        levels.append(Level(folder: folder))
    }

    /// Adds a photo of the present folder.
    /// - Parameters:
    ///   - entry: its file among the media.
    ///   - sidecar: `nil` for one that was not read.
    mutating func append(
        _ record: PhotoRecord, _ entry: TreeEntry, sidecar: StoredFile?, thumbnail: StoredFile?
    ) throws(BackupError) {
        try list.append(record.line)
        guard let md5 = record.md5, sidecar != nil || thumbnail != nil else { return }
        levels[levels.count - 1].photos.append(
            Photo(
                name: entry.name, modificationTime: entry.modificationTime, md5: md5, sidecar: sidecar, thumbnail: thumbnail))
    }

    /// Stores the folders of the folder that the walk leaves.
    mutating func leave() throws(BackupError) {
        guard let folder = levels.last?.folder else { return }
        let level = levels.removeLast()
        func entry(_ entries: [TreeEntry]) throws(BackupError) -> TreeEntry? {
            guard !entries.isEmpty else { return nil }
            return .directory(
                name: folder.name, mode: 0o700, modificationTime: folder.modificationTime, stored: try writer.store(entries))
        }
        let outer = levels.count - 1
        if let inner = try entry(level.metadata + companions(of: level, \.sidecar, PhotoPlaces.sidecarName)) {
            levels[outer].metadata.append(inner)
        }
        if let inner = try entry(level.thumbnails + companions(of: level, \.thumbnail, PhotoPlaces.thumbnailName)) {
            levels[outer].thumbnails.append(inner)
        }
    }

    /// The files beside the photos of a folder. Two photos with the same bytes may share one whose name is that of the content. A
    /// photo for which no name is left has none.
    private func companions(
        of level: Level, _ part: (Photo) -> StoredFile?, _ nameOf: (FileName, MD5Digest, (FileName) -> Bool) -> FileName
    ) -> [TreeEntry] {
        var names = level.folderNames
        let named = level.photos.compactMap { photo -> (Photo, StoredFile, FileName, isUsual: Bool)? in
            guard let stored = part(photo) else { return nil }
            let usual = nameOf(photo.name, photo.md5) { _ in false }
            let name = nameOf(photo.name, photo.md5) { level.folderNames.contains($0) }
            return (photo, stored, name, name == usual)
        }
        // The name of a content may be the usual one of another photo, which has it then.
        return (named.filter(\.isUsual) + named.filter { !$0.isUsual }).compactMap { photo, stored, name, _ in
            guard names.insert(name).inserted else { return nil }
            return .file(name: name, mode: 0o600, modificationTime: photo.modificationTime, stored: stored)
        }
    }

    /// - Parameter time: of the list and of the two folders.
    /// - Returns: their entries for the snapshot's folder; no folder is empty.
    func finish(at time: Timestamp) throws(BackupError) -> [TreeEntry] {
        let top = levels[0]
        var entries = [
            TreeEntry.file(name: PhotoPlaces.listName, mode: 0o600, modificationTime: time, stored: try list.finish())
        ]
        let folders = [
            (PhotoPlaces.metadataFolderName, top.metadata + companions(of: top, \.sidecar, PhotoPlaces.sidecarName)),
            (PhotoPlaces.thumbnailFolderName, top.thumbnails + companions(of: top, \.thumbnail, PhotoPlaces.thumbnailName)),
        ]
        for (name, inner) in folders where !inner.isEmpty {
            entries.append(.directory(name: name, mode: 0o700, modificationTime: time, stored: try writer.store(inner)))
        }
        return entries
    }
}

import BackupCore

/// A folder or file of a snapshot, by its path.
public struct SnapshotPart: Sendable {
    /// Below the snapshot's folder; empty for all of it.
    public let path: [FileName]
    /// The folder; `nil` for a file or link.
    public let directory: Directory?
    /// The file or link; `nil` for a folder.
    public let file: TreeEntry?

    /// Whether it is, or is in, the media folder.
    public var isInMedia: Bool {
        // A file there is in it as well, but `media` itself is a folder.
        path.first == "media" && (path.count > 1 || directory != nil)
    }

    /// The same as a folder to be written: a file alone in one.
    public var contents: Directory {
        get throws(BackupError) {
            if let directory { return directory }
            return try Directory(entries: [file].compactMap { $0 })
        }
    }
}

extension Repository {
    /// - Throws: `notFound`, `notADirectory`; `repositoryDamaged`.
    public func part(of snapshot: Snapshot, at path: [FileName]) throws(BackupError) -> SnapshotPart {
        let place = String(decoding: BytePath.joined(path), as: UTF8.self)
        var folder = try rootDirectory(of: snapshot)
        for (number, name) in path.enumerated() {
            guard let entry = folder.entry(named: name) else {
                throw BackupError(.notFound, "there is no such file in the backup", path: "\(snapshot.name):\(place)")
            }
            if entry.kind != .directory {
                guard number == path.count - 1 else {
                    throw BackupError(.notADirectory, "this is not a folder of the backup", path: "\(snapshot.name):\(place)")
                }
                return SnapshotPart(path: path, directory: nil, file: entry)
            }
            folder = try directory(of: entry)
        }
        return SnapshotPart(path: path, directory: folder, file: nil)
    }
}

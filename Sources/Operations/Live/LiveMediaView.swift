import BackupCore
import SystemIO

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

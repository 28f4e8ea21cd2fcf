import BackupCore
import Synchronization
import SystemIO

/// The files of `live/` for one rendering. Media files come from the folder itself, as they are when they are asked for.
final class LiveState: LiveView {
    let rendering: AppRendering
    let media: LiveMedia?
    let checksums: LiveChecksums
    /// Checksums of the rendered files, by path.
    private let rendered = Mutex<[[FileName]: Checksums]>([:])

    init(rendering: AppRendering, media: LiveMedia?, checksums: LiveChecksums) {
        self.rendering = rendering
        self.media = media
        self.checksums = checksums
    }

    // MARK: Looking

    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]? {
        switch path.first {
        case nil: return try top()
        case "data" where path.count == 1: return data()
        case "media":
            guard let media, let items = try media.items(in: path.dropFirst()) else { return nil }
            return items.map { entry($0, path + [$0.name], media) }
        default: return nil
        }
    }

    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry? {
        guard let name = path.last else { return nil }
        if path.first == "media", path.count > 1 {
            guard let media, let item = try media.item(at: path.dropFirst()) else { return nil }
            return entry(item, path, media)
        }
        // A probe for a name that is not there must not walk the media folder, which sizes of the archives need.
        if path.count == 1 {
            if let entry = try archives.entry(named: name) { return entry }
            return try stored().first { $0.name == name }
        }
        return try children(of: path.dropLast())?.first { $0.name == name }
    }

    private func top() throws(BackupError) -> [LiveEntry] {
        try (archives.entries() + stored()).sorted { $0.name < $1.name }
    }

    private var archives: LiveArchives { LiveArchives(state: self) }

    // MARK: What is there

    /// What is at the top, but for what is made of all files.
    func stored() throws(BackupError) -> [LiveEntry] {
        var entries = [
            folder("data"), file(["database.sqlite"], [rendering.database.content]),
            file(["export.json"], [rendering.export.content]),
        ]
        if let media, let status = FileSystem.statusIfPresent(media.path) {
            entries.append(folder("media", status))
        }
        return entries
    }

    func data() -> [LiveEntry] {
        rendering.collections.map { file(["data", FileName("\($0.name).json")], [rendering.export.content($0.range)]) }
            .sorted { $0.name < $1.name }
    }

    private func folder(_ name: FileName, _ status: FileStatus? = nil) -> LiveEntry {
        LiveEntry(
            name: name, kind: .directory, permissions: UInt16((status?.mode ?? 0o700) & 0o777), size: 0,
            modificationTime: status?.modificationTime ?? rendering.createdAt,
            content: { () throws(BackupError) in throw BackupError(.isADirectory, "this is a folder") },
            checksums: { () throws(BackupError) in throw BackupError(.isADirectory, "this is a folder") })
    }

    private func file(_ path: [FileName], _ pieces: [ContentPiece]) -> LiveEntry {
        let table = ExtentTable(plainContent: pieces)
        return LiveEntry(
            name: path.last ?? "", kind: .file, permissions: 0o600, size: table.size, modificationTime: rendering.createdAt,
            content: { table },
            checksums: { [self] () throws(BackupError) in
                try checksums(of: path) { () throws(BackupError) in try SourceChecksums.of(TableSource(table)) }
            })
    }

    func entry(_ item: LiveMedia.Item, _ path: [FileName], _ media: LiveMedia) -> LiveEntry {
        let kind: LiveEntry.Kind =
            switch item.status.kind {
            case .directory: .directory
            case .symbolicLink: .symbolicLink
            case .regular, .other: .file
            }
        let mediaPath = path.dropFirst()
        return LiveEntry(
            name: item.name, kind: kind, permissions: UInt16(item.status.mode & 0o777),
            size: kind == .symbolicLink ? UInt64(item.target.count) : item.status.size,
            modificationTime: item.status.modificationTime,
            content: { () throws(BackupError) in
                guard kind == .file else { return ExtentTable(literal: item.target) }
                let file = try media.open(mediaPath, expected: item.status)
                return ExtentTable(plainContent: [.source(file, offset: 0, length: item.status.size)])
            },
            checksums: { [checksums] () throws(BackupError) in
                try checksums.checksums(of: item.status) { () throws(BackupError) in
                    try media.open(mediaPath, expected: item.status)
                }
            })
    }

    private func checksums(
        of path: [FileName], _ make: () throws(BackupError) -> Checksums
    ) throws(BackupError) -> Checksums {
        if let known = rendered.withLock({ $0[path] }) { return known }
        let checksums = try make()
        rendered.withLock { $0[path] = checksums }
        return checksums
    }
}

import BackupCore
import BackupRepository
import Export
import Synchronization
import SystemIO

/// The files of `live/` for one rendering. Media files come from the folder itself, as they are when they are asked for.
final class LiveState: LiveView {
    private let rendering: AppRendering
    private let media: LiveMedia?
    private let checksums: LiveChecksums
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
        // A probe for a name that is not there must not walk the media folder, which sizes of the archive need.
        if path.count == 1 {
            switch name {
            case "SHA256SUMS": return try listing()
            case "archive.zip": return try archive()
            default: return try stored().first { $0.name == name }
            }
        }
        return try children(of: path.dropLast())?.first { $0.name == name }
    }

    private func top() throws(BackupError) -> [LiveEntry] {
        try ([listing(), archive()] + stored()).sorted { $0.name < $1.name }
    }

    // MARK: What is there

    private func stored() throws(BackupError) -> [LiveEntry] {
        var entries = [
            folder("data"), file(["database.sqlite"], [rendering.database.content]),
            file(["export.json"], [rendering.export.content]),
        ]
        if let media, let status = FileSystem.statusIfPresent(media.path) {
            entries.append(folder("media", status))
        }
        return entries
    }

    private func data() -> [LiveEntry] {
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

    private func entry(_ item: LiveMedia.Item, _ path: [FileName], _ media: LiveMedia) -> LiveEntry {
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

    // MARK: What is made of all files

    /// Every file and folder but those that are made of them, in the order of a snapshot's archive.
    private func walk(_ path: [FileName], _ visit: ([FileName], LiveEntry) throws(BackupError) -> Void) throws(BackupError) {
        let entries = path.isEmpty ? try stored() : try children(of: path) ?? []
        for entry in entries.sorted(by: { $0.name < $1.name }) {
            try visit(path + [entry.name], entry)
            if entry.kind == .directory { try walk(path + [entry.name], visit) }
        }
    }

    private func listing() throws(BackupError) -> LiveEntry {
        var size: UInt64 = 0
        try walk([]) { path, entry in
            if entry.kind == .file {
                size += UInt64(ChecksumListing.line(digest: Self.zeroDigest, path: Self.joined(path)).count)
            }
        }
        let text: @Sendable () throws(BackupError) -> [UInt8] = { [self] () throws(BackupError) -> [UInt8] in
            var text: [UInt8] = []
            try walk([]) { (path, entry) throws(BackupError) in
                guard entry.kind == .file else { return }
                text += ChecksumListing.line(digest: try entry.checksums().sha256.hexadecimal, path: Self.joined(path))
            }
            return text
        }
        return LiveEntry(
            name: "SHA256SUMS", kind: .file, permissions: 0o600, size: size, modificationTime: rendering.createdAt,
            content: { () throws(BackupError) in ExtentTable(literal: try text()) },
            checksums: { () throws(BackupError) in ContentHasher.hash(try text()) })
    }

    private static let zeroDigest = String(repeating: "0", count: SHA256Digest.byteCount * 2)

    private func archive() throws(BackupError) -> LiveEntry {
        let size = try ZIPLayout.archivedSize(of: members(withContent: false))
        let table: @Sendable () throws(BackupError) -> ExtentTable = { [self] () throws(BackupError) in
            try ZIPLayout.table(for: members(withContent: true))
        }
        return LiveEntry(
            name: "archive.zip", kind: .file, permissions: 0o600, size: size, modificationTime: rendering.createdAt,
            content: table,
            checksums: { () throws(BackupError) in try SourceChecksums.of(TableSource(table())) })
    }

    /// - Parameter withContent: false leaves out what costs a read of the files: the sizes are the same.
    private func members(withContent: Bool) throws(BackupError) -> [ArchiveMember] {
        var members: [ArchiveMember] = []
        let openFiles = OpenMediaFiles()
        let listing = try listing()
        let listed = withContent ? try listing.content() : nil
        members.append(
            ArchiveMember(
                path: Array("SHA256SUMS".utf8), mode: 0o100600, modificationTime: rendering.createdAt, size: listing.size,
                crc32: try listed.map { (table) throws(BackupError) in try SourceChecksums.of(TableSource(table)).crc32 } ?? 0,
                content: listed.map { pieces($0) } ?? placeholder(listing.size)))
        try walk([]) { (path, entry) throws(BackupError) in
            var name = Self.joined(path)
            let isFolder = entry.kind == .directory
            if isFolder { name.append(UInt8(ascii: "/")) }
            let type: UInt32 =
                switch entry.kind {
                case .directory: 0o040000
                case .symbolicLink: 0o120000
                case .file: 0o100000
                }
            var content: [ContentPiece] = []
            var crc32: UInt32 = 0
            if !isFolder {
                content = withContent ? try archived(entry, path, openFiles) : placeholder(entry.size)
                if withContent {
                    crc32 =
                        entry.kind == .file
                        ? try entry.checksums().crc32 : try SourceChecksums.of(TableSource(entry.content())).crc32
                }
            }
            members.append(
                ArchiveMember(
                    path: name, mode: type | UInt32(entry.permissions), modificationTime: entry.modificationTime,
                    size: isFolder ? 0 : entry.size, crc32: crc32, content: content))
        }
        return members
    }

    /// A file's pieces as a member of an archive, without an open file for each.
    private func archived(
        _ entry: LiveEntry, _ path: [FileName], _ openFiles: OpenMediaFiles
    ) throws(BackupError) -> [ContentPiece] {
        guard let media, path.first == "media", entry.kind == .file else { return pieces(try entry.content()) }
        guard entry.size > 0 else { return [] }
        guard let item = try media.item(at: path.dropFirst()), item.status.size == entry.size else {
            throw BackupError(
                .inputOutput, "the file changed while the archive was laid out",
                path: "live/\(FileName(bytes: Self.joined(path)))",
                remedy: "Try again.")
        }
        let source = MediaFileSource(path.dropFirst(), expected: item.status, in: media, openFiles)
        return [.source(source, offset: 0, length: entry.size)]
    }

    private static func joined(_ path: [FileName]) -> [UInt8] {
        Array(path.map(\.bytes).joined(separator: [UInt8(ascii: "/")]))
    }

    private func pieces(_ table: ExtentTable) -> [ContentPiece] {
        table.size == 0 ? [] : [.source(TableSource(table), offset: 0, length: table.size)]
    }

    private func placeholder(_ size: UInt64) -> [ContentPiece] {
        size == 0 ? [] : [.source(rendering.export, offset: 0, length: size)]
    }
}

import BackupCore
import SystemIO

/// The members of a snapshot's archive, in their fixed order.
///
/// Without a layout the archive is the snapshot's folder as it lies, with `SHA256SUMS` and `MD5SUMS`, so that unpacking it gives
/// the same folder. A layout maps prefixes of paths in the snapshot to prefixes in the archive (the longest that fits counts), and leaves
/// out what none fits: an app's own archive layout.
public enum SnapshotArchive {
    /// - Throws: `repositoryDamaged`.
    public static func members(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> [ArchiveMember] {
        try members(
            of: repository.rootDirectory(of: snapshot), layout: snapshot.record.archiveLayout, time: snapshot.creationTime,
            in: repository)
    }

    /// - Parameter time: when the snapshot was made; the time of the listings.
    public static func members(
        of root: Directory, layout: [String: String], time: Timestamp, in repository: Repository
    ) throws(BackupError) -> [ArchiveMember] {
        var members: [ArchiveMember] = []
        if layout.isEmpty {
            for (name, algorithm) in [("MD5SUMS", ChecksumListing.Algorithm.md5), ("SHA256SUMS", .sha256)] {
                let text = try ChecksumListing.text(of: root, algorithm, in: repository)
                members.append(
                    ArchiveMember(
                        path: Array(name.utf8), mode: 0o100600, modificationTime: time, size: UInt64(text.count),
                        crc32: CRC32.of(text), content: [.literal(text)]))
            }
        }
        try append(root, prefix: [], layout, repository, to: &members)
        return members
    }

    /// - Returns: `nil` for what is left out.
    private static func archivePath(of path: [UInt8], _ layout: [String: String]) -> [UInt8]? {
        if layout.isEmpty { return path }
        let fitting = layout.filter { path.starts(with: $0.key.utf8) }
        guard let rule = fitting.max(by: { $0.key.utf8.count < $1.key.utf8.count }) else { return nil }
        return Array(rule.value.utf8) + path.dropFirst(rule.key.utf8.count)
    }

    private static func append(
        _ directory: Directory, prefix: [UInt8], _ layout: [String: String], _ repository: Repository,
        to members: inout [ArchiveMember]
    ) throws(BackupError) {
        for entry in directory.entries {
            let path = prefix + entry.name.bytes
            let isFolder = entry.kind == .directory
            let archivePath = archivePath(of: isFolder ? path + [UInt8(ascii: "/")] : path, layout)
            switch entry.kind {
            case .directory:
                if let archivePath, !archivePath.isEmpty {
                    members.append(
                        ArchiveMember(
                            path: archivePath, mode: entry.mode, modificationTime: entry.modificationTime, size: 0, crc32: 0,
                            content: []))
                }
                try append(
                    repository.directory(of: entry), prefix: path + [UInt8(ascii: "/")], layout, repository, to: &members)
            case .file, .symbolicLink:
                guard let archivePath else { continue }
                let content = try repository.pieces(of: entry.content)
                let crc32 = entry.checksums?.crc32 ?? CRC32.of(entry.linkTarget ?? [])
                members.append(
                    ArchiveMember(
                        path: archivePath, mode: entry.mode, modificationTime: entry.modificationTime, size: entry.size,
                        crc32: crc32, content: content))
            }
        }
    }
}

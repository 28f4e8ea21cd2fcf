import BackupCore
import SystemIO

/// The members of a snapshot's archive, in their fixed order.
///
/// Without a layout the archive is the snapshot's folder as it lies, with `SHA256SUMS` and `MD5SUMS`, so that unpacking it gives
/// the same folder. A layout maps prefixes of paths in the snapshot to prefixes in the archive (the longest that fits counts), and leaves
/// out what none fits: an app's own archive layout.
public enum SnapshotArchive {
    /// Gives the members one by one: a hundred thousand at once would take more memory than the archive's table.
    /// - Throws: `repositoryDamaged`.
    public static func visit(
        _ snapshot: Snapshot, in repository: Repository, _ body: (ArchiveMember) throws(BackupError) -> Void
    ) throws(BackupError) {
        try visit(
            repository.rootDirectory(of: snapshot), layout: snapshot.record.archiveLayout, time: snapshot.creationTime,
            in: repository, body)
    }

    /// - Parameter time: when the snapshot was made; the time of the listings.
    public static func visit(
        _ root: Directory, layout: [String: String], time: Timestamp, in repository: Repository,
        _ body: (ArchiveMember) throws(BackupError) -> Void
    ) throws(BackupError) {
        if layout.isEmpty {
            for (name, algorithm) in listings {
                let source = ListingSource(root, algorithm, in: repository)
                let size = ChecksumListing.sizeBytes(of: root, algorithm)
                try body(listing(name, time, size, try source.crc32(), .source(source, offset: 0, length: size)))
            }
        }
        try visit(root, prefix: [], layout, repository, readsContents: true, body)
    }

    /// All of them, for few.
    /// - Throws: `repositoryDamaged`.
    public static func members(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> [ArchiveMember] {
        try members(
            of: repository.rootDirectory(of: snapshot), layout: snapshot.record.archiveLayout, time: snapshot.creationTime,
            in: repository)
    }

    public static func members(
        of root: Directory, layout: [String: String], time: Timestamp, in repository: Repository
    ) throws(BackupError) -> [ArchiveMember] {
        var members: [ArchiveMember] = []
        try visit(root, layout: layout, time: time, in: repository) { members.append($0) }
        return members
    }

    /// Gives the members one by one for measuring the archive: the listings are not made, and have no CRC-32.
    /// - Parameter readsContents: false leaves out all contents but the targets of links: then nothing but the folders is read.
    public static func measure(
        _ root: Directory, layout: [String: String], time: Timestamp, in repository: Repository, readsContents: Bool = true,
        _ body: (ArchiveMember) throws(BackupError) -> Void
    ) throws(BackupError) {
        if layout.isEmpty {
            for (name, algorithm) in listings {
                let size = ChecksumListing.sizeBytes(of: root, algorithm)
                try body(listing(name, time, size, 0, .source(UnmadeListing(), offset: 0, length: size)))
            }
        }
        try visit(root, prefix: [], layout, repository, readsContents: readsContents, body)
    }

    private static let listings = [("MD5SUMS", ChecksumListing.Algorithm.md5), ("SHA256SUMS", .sha256)]

    private static func listing(
        _ name: String, _ time: Timestamp, _ size: UInt64, _ crc32: UInt32, _ content: ContentPiece
    ) -> ArchiveMember {
        ArchiveMember(
            path: Array(name.utf8), mode: 0o100600, modificationTime: time, size: size, crc32: crc32,
            content: size == 0 ? [] : [content])
    }

    /// Stands for a listing whose bytes nobody asks for.
    private final class UnmadeListing: ByteSource {
        func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
            throw BackupError(.invalidArgument, "a listing that was only measured is read")
        }
    }

    /// - Returns: `nil` for what is left out.
    private static func archivePath(of path: [UInt8], _ layout: [String: String]) -> [UInt8]? {
        if layout.isEmpty { return path }
        let fitting = layout.filter { path.starts(with: $0.key.utf8) }
        guard let rule = fitting.max(by: { $0.key.utf8.count < $1.key.utf8.count }) else { return nil }
        return Array(rule.value.utf8) + path.dropFirst(rule.key.utf8.count)
    }

    private static func visit(
        _ directory: Directory, prefix: [UInt8], _ layout: [String: String], _ repository: Repository, readsContents: Bool,
        _ body: (ArchiveMember) throws(BackupError) -> Void
    ) throws(BackupError) {
        var contents =
            readsContents
            ? try repository.pieces(of: directory.entries.lazy.filter { $0.kind != .directory }.map(\.content))[...] : [][...]
        for entry in directory.entries {
            let path = prefix + entry.name.bytes
            let isFolder = entry.kind == .directory
            let archivePath = archivePath(of: isFolder ? path + [UInt8(ascii: "/")] : path, layout)
            switch entry.kind {
            case .directory:
                if let archivePath, !archivePath.isEmpty {
                    try body(
                        ArchiveMember(
                            path: archivePath, mode: entry.mode, modificationTime: entry.modificationTime, size: 0, crc32: 0,
                            content: []))
                }
                try visit(
                    repository.directory(of: entry), prefix: path + [UInt8(ascii: "/")], layout, repository,
                    readsContents: readsContents, body)
            case .file, .symbolicLink:
                let content = contents.popFirst() ?? entry.linkTarget.map { [.literal($0)] } ?? []
                guard let archivePath else { continue }
                let crc32 = entry.checksums?.crc32 ?? CRC32.of(entry.linkTarget ?? [])
                try body(
                    ArchiveMember(
                        path: archivePath, mode: entry.mode, modificationTime: entry.modificationTime, size: entry.size,
                        crc32: crc32, content: content))
            }
        }
    }
}

import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// The members of a snapshot's archive, in a fixed order.
///
/// Without a layout, the archive is the snapshot's folder unchanged, with `SHA256SUMS` and `MD5SUMS`, so that unpacking it gives
/// the same folder. A layout maps path prefixes in the snapshot to prefixes in the archive (the longest match wins) and leaves
/// out paths without a match: an app's own archive layout.
public enum SnapshotArchive {
    /// How much of the members to provide.
    public enum Detail: Sendable {
        /// Everything, to lay them out.
        case whole
        /// Sizes and pieces, for `measure`: the listings are not computed, and have no CRC-32.
        case measured
        /// Sizes and the targets of links: only the folders are read.
        case sizes
    }

    /// Passes the members to `body` one by one: a hundred thousand at a time would take more memory than the archive's table.
    /// - Throws: `repositoryDamaged`.
    public static func visit(
        _ snapshot: Snapshot, in repository: Repository, detail: Detail = .whole, names: ArchiveNames = .none,
        _ body: (ArchiveMember) throws(BackupError) -> Void
    ) throws(BackupError) {
        try visit(
            repository.rootDirectory(of: snapshot), layout: snapshot.record.archiveLayout, time: snapshot.creationTime,
            in: repository, detail: detail, names: names, body)
    }

    /// - Parameters:
    ///   - time: when the snapshot was made; used as the time of the listings.
    ///   - names: of files that have other names in the archive than the layout gives.
    public static func visit(
        _ root: Directory, layout: ArchivePathMap, time: Timestamp, in repository: Repository, detail: Detail = .whole,
        names: ArchiveNames = .none, _ body: (ArchiveMember) throws(BackupError) -> Void
    ) throws(BackupError) {
        try visit(root, layout, time, repository, detail, names) { (member, _) throws(BackupError) in try body(member) }
    }

    /// Passes the members with their sizes and pieces. The pieces of a large file, which would take gigabytes of memory, are left
    /// out.
    /// - Parameter body: receives a member, and the content of a large file, whose pieces `Repository.visitPieces` provides one
    ///   by one.
    public static func measure(
        _ root: Directory, layout: ArchivePathMap, time: Timestamp, in repository: Repository, names: ArchiveNames = .none,
        _ body: (ArchiveMember, FileContent?) throws(BackupError) -> Void
    ) throws(BackupError) {
        try visit(root, layout, time, repository, .measured, names, body)
    }

    private static func visit(
        _ root: Directory, _ layout: ArchivePathMap, _ time: Timestamp, _ repository: Repository, _ detail: Detail,
        _ names: ArchiveNames, _ body: (ArchiveMember, FileContent?) throws(BackupError) -> Void
    ) throws(BackupError) {
        if layout.isIdentity {
            for (name, algorithm) in listings {
                let source = ListingSource(root, algorithm, in: repository)
                let size = ChecksumListing.sizeBytes(of: root, algorithm)
                try body(
                    ArchiveMember(
                        path: Array(name.utf8), mode: 0o100600, modificationTime: time, size: size,
                        crc32: detail == .whole ? source.crc32() : 0,
                        content: size == 0 ? [] : [.source(source, offset: 0, length: size)]), nil)
            }
        }
        try visit(root, prefix: [], layout, names, repository, detail, body)
    }

    private static let listings = [("MD5SUMS", ChecksumListing.Algorithm.md5), ("SHA256SUMS", .sha256)]

    /// The numbers of files and of their bytes to look up in one call.
    private static let batchCount = 1_024
    private static let batchBytes: UInt64 = 256 << 20

    /// Whether a file's pieces are left out by `measure`.
    static func isLarge(_ entry: TreeEntry) -> Bool { entry.size > batchBytes }

    /// The contents of the next files to look up in one call: all pieces of a folder would take gigabytes of memory.
    private static func nextContents(_ entries: ArraySlice<TreeEntry>, _ detail: Detail) -> [FileContent] {
        var contents: [FileContent] = []
        var byteCount: UInt64 = 0
        for entry in entries where entry.kind != .directory {
            if !contents.isEmpty, contents.count == batchCount || byteCount > batchBytes { break }
            contents.append(detail == .measured && isLarge(entry) ? .empty : entry.content)
            byteCount = byteCount.addingReportingOverflow(entry.size).partialValue
        }
        return contents
    }

    private static func visit(
        _ directory: Directory, prefix: [UInt8], _ layout: ArchivePathMap, _ names: ArchiveNames, _ repository: Repository,
        _ detail: Detail, _ body: (ArchiveMember, FileContent?) throws(BackupError) -> Void
    ) throws(BackupError) {
        var contents: [[ContentPiece]] = []
        var position = 0
        for (number, entry) in directory.entries.enumerated() {
            let path = prefix + entry.name.bytes
            let isFolder = entry.kind == .directory
            let archivePath = layout.archivePath(of: isFolder ? path + [UInt8(ascii: "/")] : path)
            switch entry.kind {
            case .directory:
                var isListed = names.listsFilledFolders
                if !isListed { isListed = try repository.directory(of: entry).entries.isEmpty }
                if isListed, let archivePath, !archivePath.isEmpty {
                    try body(
                        ArchiveMember(
                            path: archivePath, mode: entry.mode, modificationTime: entry.modificationTime, size: 0, crc32: 0,
                            content: []), nil)
                }
                try visit(
                    repository.directory(of: entry), prefix: path + [UInt8(ascii: "/")], layout, names, repository,
                    detail, body)
            case .file, .symbolicLink:
                if detail != .sizes, position == contents.count {
                    contents = try repository.pieces(of: nextContents(directory.entries[number...], detail))
                    position = 0
                }
                var content = entry.linkTarget.map { [ContentPiece.literal($0)] } ?? []
                if detail != .sizes {
                    content = contents[position]
                    position += 1
                }
                guard let archivePath else { continue }
                let crc32 = entry.checksums?.crc32 ?? CRC32.of(entry.linkTarget ?? [])
                for archivePath in names.paths(of: path, usual: archivePath) {
                    try body(
                        ArchiveMember(
                            path: archivePath, mode: entry.mode, modificationTime: entry.modificationTime, size: entry.size,
                            crc32: crc32, content: content),
                        detail == .measured && isLarge(entry) ? entry.content : nil)
                }
            }
        }
    }
}

/// The names of some files of a snapshot in its archive, where they do not follow from the
/// paths: an app may name photos by the keys of their records. A file may have several.
public struct ArchiveNames: Sendable {
    /// All names follow from the paths.
    public static let none = ArchiveNames([:], listsFilledFolders: true)

    /// Whether non-empty folders have entries of their own. Some apps reject archives that contain any; an empty folder always
    /// needs one.
    public let listsFilledFolders: Bool
    /// Paths in the snapshot, and the corresponding ones in the archive.
    private let named: [[UInt8]: [[UInt8]]]
    private let taken: Set<[UInt8]>

    public init(_ named: [[UInt8]: [[UInt8]]], listsFilledFolders: Bool) {
        self.named = named
        self.listsFilledFolders = listsFilledFolders
        taken = Set(named.values.joined())
    }

    /// - Parameter usual: the path of a file without a name of its own. If another file has that path, it gets a number:
    ///   `beach_2.jpg`.
    public func paths(of path: [UInt8], usual: [UInt8]) -> [[UInt8]] {
        if let names = named[path] { return names }
        guard taken.contains(usual) else { return [usual] }
        let start = usual.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let dot = usual[start...].lastIndex(of: UInt8(ascii: ".")) ?? usual.endIndex
        for number in 2... {
            let candidate = usual[..<dot] + Array("_\(number)".utf8) + usual[dot...]
            if !taken.contains(Array(candidate)) { return [Array(candidate)] }
        }
        return [usual]
    }
}

extension SnapshotArchive {
    /// The layout of a snapshot's archive as a table of extents.
    /// - Parameter layout: `nil` for the snapshot's own.
    /// - Throws: `repositoryDamaged`.
    public static func table(
        of snapshot: Snapshot, _ format: ArchiveFormat, layout: ArchivePathMap? = nil, in repository: Repository
    ) throws(BackupError) -> ExtentTable {
        let names = try names(of: snapshot, in: repository)
        let root = try repository.rootDirectory(of: snapshot)
        let layout = layout ?? snapshot.record.archiveLayout
        return try format.layout.table { (body) throws(BackupError) in
            try visit(root, layout: layout, time: snapshot.creationTime, in: repository, names: names, body)
        }
    }

    /// The archive layout for restoring a snapshot: its own, plus the records and the media, which a layout may leave out.
    public static func layoutForRestore(of snapshot: Snapshot) -> ArchivePathMap {
        let layout = snapshot.record.archiveLayout.including(["export.json", "media/"])
        // Manifests with file names give the places in the app's own archive.
        return snapshot.record.attributes[Snapshot.archiveNamesAttribute] == nil ? layout.withoutNestedTargets : layout
    }

    /// The names of its media files in its archives.
    public static func names(of snapshot: Snapshot, in repository: Repository) throws(BackupError) -> ArchiveNames {
        guard let naming = snapshot.record.attributes[Snapshot.archiveNamesAttribute].flatMap({ ManifestNaming($0) }) else {
            return .none
        }
        return try ManifestNaming.names(naming, root: repository.rootDirectory(of: snapshot), in: repository)
    }
}

/// Exact sizes of a backup's archives in bytes.
public struct ArchiveSizes {
    /// That of archive.zip.
    public let zip: UInt64
    /// That of archive.tar.
    public let tar: UInt64
    /// The number of members, the same in the ZIP and the tar archive.
    public let memberCount: UInt64

    /// Measures both in one walk of the folders.
    /// - Parameter root: the backup's root, whose chunks are all in the catalog.
    public init(
        of root: Directory, layout: ArchivePathMap, names: ArchiveNames, time: Timestamp, in repository: Repository
    ) throws(BackupError) {
        var zip = ZIPLayout.SizeCounter()
        var tar = TARLayout.SizeCounter()
        var memberCount: UInt64 = 0
        try SnapshotArchive.measure(root, layout: layout, time: time, in: repository, names: names) {
            (member, large) throws(BackupError) in
            if let large {
                var content = ZIPContentMeasure()
                try repository.visitPieces(of: large) { content.append($0) }
                try zip.append(member, content)
            } else {
                try zip.append(member)
            }
            try tar.append(member)
            memberCount += 1
        }
        self.memberCount = memberCount
        self.zip = zip.archivedSize
        self.tar = tar.archivedSize
    }

    /// The recorded size of one archive of a snapshot. Snapshots from before archive.tar existed lack its size: it is computed
    /// from their folders, without reading files or the catalog.
    public static func size(
        of snapshot: Snapshot, _ format: ArchiveFormat, in repository: Repository
    ) throws(BackupError) -> UInt64 {
        switch format {
        case .zip: return snapshot.record.archiveSizeBytes
        case .tar:
            if let known = snapshot.tarSizeBytes(layoutVersion: TARLayout.version) { return known }
            var tar = TARLayout.SizeCounter()
            let names = try SnapshotArchive.names(of: snapshot, in: repository)
            try SnapshotArchive.visit(snapshot, in: repository, detail: .sizes, names: names) { (member) throws(BackupError) in
                try tar.append(member)
            }
            return tar.archivedSize
        }
    }
}

import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// A folder as archives and checksum listings see it: one of a snapshot, or one of the app's present data.
public protocol ContentFolder: Sendable {
    associatedtype Entry: ContentEntry

    /// Sorted by the bytes of their names.
    var entries: [Entry] { get }
    /// The folder that the entry names.
    func folder(_ entry: Entry) throws(BackupError) -> Self
    /// Of a file; may have to read it.
    func checksums(of file: Entry) throws(BackupError) -> Checksums?
    /// The same, and `nil` for a stored file that is damaged.
    func checksumsIfReadable(of file: Entry) throws(BackupError) -> Checksums?
    /// Of a file; of a stored one without reading it.
    func crc32(of file: Entry) throws(BackupError) -> UInt32?
    /// Passes the entries in their order, with the pieces of files and links.
    func forEachContent(_ body: (Entry, [ContentPiece]) throws(BackupError) -> Void) throws(BackupError)
    /// Size of the checksum listing in bytes. Reads no files.
    func listingSizeBytes(_ algorithm: ChecksumListing.Algorithm) throws(BackupError) -> UInt64
}

extension ContentFolder {
    public func checksumsIfReadable(of file: Entry) throws(BackupError) -> Checksums? { try checksums(of: file) }
    public func crc32(of file: Entry) throws(BackupError) -> UInt32? { try checksums(of: file)?.crc32 }
}

/// A folder of a snapshot, or of a backup that is being made.
public struct StoredContents: ContentFolder {
    /// How much of the contents to look up.
    public enum Detail: Sendable {
        case whole
        /// The pieces of a large file, which would take gigabytes of memory, are left out.
        case withoutLarge
        /// Only the targets of links: only the folders are read.
        case none
    }

    private let directory: Directory
    private let repository: Repository
    private let detail: Detail
    private let known: KnownPlaces?
    /// What is not stored of the snapshot, if this is its root or the folder with the collections.
    private let rendered: RenderedFiles?

    /// The numbers of files and of their bytes to look up in one call.
    private static let batchCount = 1_024
    private static let batchBytes: UInt64 = 256 << 20

    /// - Parameter known: places of chunks that need not be looked up.
    public init(
        _ directory: Directory, in repository: Repository, _ detail: Detail = .whole, known: KnownPlaces? = nil
    ) {
        self.init(directory, repository, detail, known, nil)
    }

    /// A snapshot's root.
    /// - Parameter rendered: its export, if it is not stored.
    public init(
        root: Directory, with rendered: RenderedFiles?, in repository: Repository, _ detail: Detail = .whole
    ) throws(BackupError) {
        self.init(try rendered?.completing(root) ?? root, repository, detail, nil, rendered)
    }

    private init(
        _ directory: Directory, _ repository: Repository, _ detail: Detail, _ known: KnownPlaces?, _ rendered: RenderedFiles?
    ) {
        self.directory = directory
        self.repository = repository
        self.detail = detail
        self.known = known
        self.rendered = rendered
    }

    public var entries: [TreeEntry] { directory.entries }

    public func folder(_ entry: TreeEntry) throws(BackupError) -> StoredContents {
        if let folder = rendered?.folder(entry) { return StoredContents(folder, repository, detail, known, rendered) }
        return StoredContents(try repository.directory(of: entry), repository, detail, known, nil)
    }

    public func checksums(of file: TreeEntry) throws(BackupError) -> Checksums? {
        if let file = rendered?.file(file) { return try file.checksums(in: repository) }
        return try repository.checksums(of: file)
    }
    public func checksumsIfReadable(of file: TreeEntry) throws(BackupError) -> Checksums? {
        guard let file = rendered?.file(file) else { return try repository.checksumsIfReadable(of: file) }
        do throws(BackupError) {
            return try file.checksums(in: repository)
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return nil
        }
    }
    public func crc32(of file: TreeEntry) -> UInt32? { file.crc32 }

    public func listingSizeBytes(_ algorithm: ChecksumListing.Algorithm) throws(BackupError) -> UInt64 {
        directory.totals.listingSizeBytes(digestHexLength: algorithm.digestHexLength)
    }

    public func forEachContent(
        _ body: (TreeEntry, [ContentPiece]) throws(BackupError) -> Void
    ) throws(BackupError) {
        var contents: [[ContentPiece]] = []
        var position = 0
        for (number, entry) in entries.enumerated() {
            guard entry.kind != .directory, detail != .none else {
                try body(entry, entry.linkTarget.map { [.literal($0)] } ?? [])
                continue
            }
            if position == contents.count {
                contents = try repository.pieces(of: nextContents(entries[number...]), known: known)
                position = 0
            }
            position += 1
            try body(entry, rendered?.file(entry)?.pieces ?? contents[position - 1])
        }
    }

    /// The contents of the next files to look up in one call: all pieces of a folder would take gigabytes of memory.
    private func nextContents(_ entries: ArraySlice<TreeEntry>) -> [FileContent] {
        var contents: [FileContent] = []
        var byteCount: UInt64 = 0
        for entry in entries where entry.kind != .directory {
            if !contents.isEmpty, contents.count == Self.batchCount || byteCount > Self.batchBytes { break }
            contents.append(leftOut(entry) == nil && rendered?.file(entry) == nil ? entry.content : .empty)
            byteCount = byteCount.addingReportingOverflow(entry.size).partialValue
        }
        return contents
    }

    /// The content of a file whose pieces are left out: `Repository.visitPieces` provides them one by one.
    func leftOut(_ entry: TreeEntry) -> FileContent? {
        detail == .withoutLarge && entry.kind != .directory && entry.content.isLarge && rendered?.file(entry) == nil
            ? entry.content : nil
    }
}

/// How a folder becomes an archive.
public struct ArchivePlan: Sendable {
    let layout: ArchivePathMap
    let names: ArchiveNames
    let time: Timestamp
    /// The checksum listings of an archive without a layout. An app's own layout has no place for them.
    public var listings = ChecksumListing.Algorithm.allCases
    /// Whether the listings follow the files.
    public var listingsAreLast = false
    /// Whether the listings stay in memory once they are read, since they take long to make.
    public var keepsListings = false
    /// Whether the members have their CRC-32: only a ZIP needs it, and a live file is read for it.
    public var hasCRC32 = false

    /// - Parameters:
    ///   - names: of files that have other names in the archive than the layout gives.
    ///   - time: the time of the listings.
    public init(_ layout: ArchivePathMap, names: ArchiveNames = .none, time: Timestamp) {
        self.layout = layout
        self.names = names
        self.time = time
    }
}

/// The members of the archive of a snapshot or of the app's present data, in a fixed order.
///
/// Without a layout, the archive is the snapshot's folder unchanged, with `SHA256SUMS` and `MD5SUMS`, so that unpacking it gives
/// the same folder. A layout maps path prefixes in the snapshot to prefixes in the archive (the longest match wins) and leaves
/// out paths without a match: an app's own archive layout.
public enum SnapshotArchive {
    /// Passes the members to `body` one by one: a hundred thousand at a time would take more memory than the archive's table.
    /// - Parameter body: receives a member, and its entry; `nil` for a listing.
    /// - Throws: `repositoryDamaged`; errors of live files.
    public static func visit<Folder: ContentFolder>(
        _ root: Folder, _ plan: ArchivePlan, _ body: (ArchiveMember, Folder.Entry?) throws(BackupError) -> Void
    ) throws(BackupError) {
        if !plan.listingsAreLast { try visitListings(root, plan, body) }
        try visit(root, prefix: [], plan, body)
        if plan.listingsAreLast { try visitListings(root, plan, body) }
    }

    private static func visitListings<Folder: ContentFolder>(
        _ root: Folder, _ plan: ArchivePlan, _ body: (ArchiveMember, Folder.Entry?) throws(BackupError) -> Void
    ) throws(BackupError) {
        for algorithm in plan.layout.isIdentity ? plan.listings : [] {
            // For 100,000 files it takes nine megabytes.
            let source = MadeBytes(isKept: plan.keepsListings) { () throws(BackupError) in
                try ChecksumListing.text(of: root, algorithm)
            }
            let size = try root.listingSizeBytes(algorithm)
            try body(
                ArchiveMember(
                    path: algorithm.fileName.bytes, mode: 0o100600, modificationTime: plan.time, size: size,
                    crc32: plan.hasCRC32 ? CRC32.of(source.bytes()) : 0,
                    content: size == 0 ? [] : [.source(source, offset: 0, length: size)]), nil)
        }
    }

    private static func visit<Folder: ContentFolder>(
        _ folder: Folder, prefix: [UInt8], _ plan: ArchivePlan,
        _ body: (ArchiveMember, Folder.Entry?) throws(BackupError) -> Void
    ) throws(BackupError) {
        try folder.forEachContent { (entry, content) throws(BackupError) in
            var path = prefix + entry.name.bytes
            var places: [[UInt8]] = []
            var crc32: UInt32 = 0
            var inner: Folder?
            if entry.kind == .directory {
                path.append(UInt8(ascii: "/"))
                let filling = try folder.folder(entry)
                if plan.names.listsFilledFolders || filling.entries.isEmpty, let place = plan.layout.archivePath(of: path),
                    !place.isEmpty
                {
                    places = [place]
                }
                inner = filling
            } else if let usual = plan.layout.archivePath(of: path) {
                places = plan.names.paths(of: path, usual: usual)
                if plan.hasCRC32 { crc32 = try folder.crc32(of: entry) ?? CRC32.of(entry.linkTarget ?? []) }
            }
            for place in places {
                try body(
                    ArchiveMember(
                        path: place, mode: entry.mode, modificationTime: entry.modificationTime, size: entry.size, crc32: crc32,
                        content: content), entry)
            }
            if let inner { try visit(inner, prefix: path, plan, body) }
        }
    }
}

extension SnapshotArchive {
    /// The layout of a snapshot's archive as a table of extents.
    /// - Parameters:
    ///   - layout: `nil` for the snapshot's own.
    ///   - rendered: the export of a snapshot that does not store it; without it, the archive has none. With it, the snapshot's
    ///     own layout is that of the app.
    /// - Throws: `repositoryDamaged`.
    public static func table(
        of snapshot: Snapshot, _ format: ArchiveFormat, layout: ArchivePathMap? = nil, with rendered: RenderedFiles? = nil,
        in repository: Repository
    ) throws(BackupError) -> ExtentTable {
        let root = try StoredContents(root: repository.rootDirectory(of: snapshot), with: rendered, in: repository)
        var plan = try archivePlan(of: snapshot, layout: layout, with: rendered, in: repository)
        plan.hasCRC32 = format == .zip
        return try format.layout.table { (body) throws(BackupError) in
            try visit(root, plan) { (member, _) throws(BackupError) in try body(member) }
        }
    }

    static func archivePlan(
        of snapshot: Snapshot, layout: ArchivePathMap?, with rendered: RenderedFiles?, in repository: Repository
    ) throws(BackupError) -> ArchivePlan {
        ArchivePlan(
            layout ?? rendered?.layout ?? snapshot.record.archiveLayout,
            names: try names(of: snapshot, with: rendered, in: repository), time: snapshot.creationTime)
    }

    /// The archive layout for restoring a snapshot: its own, plus the records and the media, which a layout may leave out.
    /// - Parameter rendered: the export of a snapshot that does not store it.
    public static func layoutForRestore(of snapshot: Snapshot, with rendered: RenderedFiles? = nil) -> ArchivePathMap {
        let layout = (rendered?.layout ?? snapshot.record.archiveLayout).including(["export.json", "media/"])
        // Manifests with file names give the places in the app's own archive.
        let hasNames = rendered.map { $0.naming != nil } ?? (snapshot.record.attributes[Snapshot.archiveNamesAttribute] != nil)
        return hasNames ? layout : layout.withoutNestedTargets
    }

    /// The names of its media files in its archives.
    public static func names(
        of snapshot: Snapshot, with rendered: RenderedFiles? = nil, in repository: Repository
    ) throws(BackupError) -> ArchiveNames {
        if let rendered { return try rendered.archiveNames(root: repository.rootDirectory(of: snapshot), in: repository) }
        guard let naming = snapshot.record.attributes[Snapshot.archiveNamesAttribute].flatMap({ ManifestNaming($0) }) else {
            return .none
        }
        return try ManifestNaming.names(naming, root: repository.rootDirectory(of: snapshot), in: repository)
    }
}

/// Exact sizes of a backup's archives in bytes.
public struct ArchiveSizes: Sendable, Equatable {
    /// That of archive.zip.
    public let zip: UInt64
    /// That of archive.tar.
    public let tar: UInt64
    /// The number of members, the same in the ZIP and the tar archive.
    public let memberCount: UInt64

    /// Sizes that were measured before.
    public init(zip: UInt64, tar: UInt64, memberCount: UInt64) {
        self.zip = zip
        self.tar = tar
        self.memberCount = memberCount
    }

    /// Those of a snapshot with a rendered export.
    public init(of snapshot: Snapshot, with rendered: RenderedFiles, in repository: Repository) throws(BackupError) {
        let root = try repository.rootDirectory(of: snapshot)
        try self.init(
            StoredContents(root: root, with: rendered, in: repository, .withoutLarge),
            SnapshotArchive.archivePlan(of: snapshot, layout: nil, with: rendered, in: repository), in: repository)
    }

    /// Measures both in one walk of the folders.
    /// - Parameters:
    ///   - root: the backup's root, whose chunks are all in the catalog.
    ///   - known: places of chunks that need not be looked up.
    public init(
        of root: Directory, layout: ArchivePathMap, names: ArchiveNames, time: Timestamp, in repository: Repository,
        known: KnownPlaces? = nil
    ) throws(BackupError) {
        try self.init(
            StoredContents(root, in: repository, .withoutLarge, known: known), ArchivePlan(layout, names: names, time: time),
            in: repository, known: known)
    }

    private init(
        _ contents: StoredContents, _ plan: ArchivePlan, in repository: Repository, known: KnownPlaces? = nil
    ) throws(BackupError) {
        var zip = ZIPLayout.SizeCounter()
        var tar = TARLayout.SizeCounter()
        var memberCount: UInt64 = 0
        try SnapshotArchive.visit(contents, plan) { (member, entry) throws(BackupError) in
            if let large = entry.flatMap(contents.leftOut) {
                try zip.append(member, Self.measure(large.elements, in: repository, known))
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

    /// No writer nests content lists deeper. Deeper ones are not looked at in parts.
    private static let partDepthLimit = 8

    /// Large parts of a content, which have thousands of chunks, are measured once.
    private static func measure(
        _ elements: [FileContent.Element], in repository: Repository, _ known: KnownPlaces?, depth: Int = 0
    ) throws(BackupError) -> ZIPContentMeasure {
        var measure = ZIPContentMeasure()
        for element in elements {
            guard let part = element.part else {
                try repository.visitPieces(of: FileContent(elements: [element]), known: known) { measure.append($0) }
                continue
            }
            if let kept = repository.archivedBytes(of: part).flatMap({ ZIPContentMeasure($0) }) {
                measure.append(kept)
                continue
            }
            let inner = try repository.elements(of: part)
            if depth < partDepthLimit, inner.contains(where: { $0.part != nil }) {
                try measure.append(Self.measure(inner, in: repository, known, depth: depth + 1))
            } else {
                var own = ZIPContentMeasure()
                try repository.visitPieces(ofPart: part, known: known) { own.append($0) }
                repository.keep(archivedBytes: own.encoded, of: part)
                measure.append(own)
            }
        }
        return measure
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
            let plan = ArchivePlan(
                snapshot.record.archiveLayout, names: try SnapshotArchive.names(of: snapshot, in: repository),
                time: snapshot.creationTime)
            let contents = StoredContents(try repository.rootDirectory(of: snapshot), in: repository, .none)
            try SnapshotArchive.visit(contents, plan) { (member, _) throws(BackupError) in try tar.append(member) }
            return tar.archivedSize
        }
    }
}
